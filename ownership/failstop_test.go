package ownership

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

const (
	failStopDir    = "OWNERSHIP_TEST_FAIL_STOP_DIR"
	failStopRanges = 2
)

// TestFailedFsync: bad-input.md, row 61. A failed fsync ends the process without
// another try and without an acknowledgement; what was acknowledged before is
// there afterwards.
func TestFailedFsync(t *testing.T) {
	if dir := os.Getenv(failStopDir); dir != "" {
		failFsync(dir)
		return
	}
	cfg := testConfig(t)
	cfg.Ranges = failStopRanges
	child := exec.Command(os.Args[0], "-test.run", "^TestFailedFsync$")
	child.Env = append(os.Environ(), failStopDir+"="+cfg.Dir)
	out, err := child.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("child ended with %v: %s", err, out)
	}
	id, syncs, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if syncs != "1" {
		t.Errorf("%s tries to sync after the first failure, want only that one", syncs)
	}
	s := open(t, cfg)
	if _, err := s.Subscription(id); err != nil {
		t.Errorf("acknowledged subscription %s: %v", id, err)
	}
}

// failFsync is the child: it prints the subscription that it made, and how often
// the log was synced after syncing began to fail.
func failFsync(dir string) {
	var failing atomic.Bool
	var syncs atomic.Int32
	cfg := Config{Dir: dir, Node: "one", Ranges: failStopRanges}
	cfg.files = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if failing.Load() && strings.Contains(op.Path, "/log/") {
				syncs.Add(1)
				return errors.New("injected: input/output error")
			}
		}
		return nil
	}))
	var id string
	cfg.Fatal = func(error) {
		fmt.Println(id, syncs.Load())
		os.Exit(7)
	}
	s, err := openSoon(cfg)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r := s.Subscribe(context.Background(), []NewSubscription{wish("http://example.com/", "", stream)})[0]
	id = r.ID
	failing.Store(true)
	r = s.Subscribe(context.Background(), []NewSubscription{wish("http://example.com/", "", stream)})[0]
	fmt.Println("acknowledged in spite of the failure:", r.ID, r.Err)
	os.Exit(2)
}

// TestFailedWrite: a state machine that cannot write stops for good, and says so
// once.
func TestFailedWrite(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	files := vfs.NewMem()
	cfg := Config{files: files}.withDefaults()
	db, err := openState("state", cfg, m.tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	readOnly, err := pebble.Open("state", &pebble.Options{FS: files, ReadOnly: true, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	var fatal []error
	m.tools = newTools(Config{Fatal: func(err error) { fatal = append(fatal, err) }}.withDefaults(), m.tools.metrics)
	if m.state, err = state.New(readOnly).Machine(channel.Range{To: channel.Buckets - 1}); err != nil {
		t.Fatal(err)
	}
	before := m.state.String()
	entry := encodeEntry([]*proposal{{command: marshal(t, subscribeCommand(item(url, stream))), time: wire.Micros(day0)}})
	logs := []*raft.Log{{Index: 2, Type: raft.LogCommand, Data: entry}, {Index: 3, Type: raft.LogCommand, Data: entry}}
	for range 2 {
		for _, response := range m.ApplyBatch(logs) {
			wantError(t, response.(applied).err, pebble.ErrReadOnly)
		}
	}
	if len(fatal) != 1 || !errors.Is(fatal[0], pebble.ErrReadOnly) {
		t.Errorf("told of %v, want one failure", fatal)
	}
	if _, err := m.Snapshot(); !errors.Is(err, pebble.ErrReadOnly) {
		t.Errorf("snapshot of a stopped machine: %v", err)
	}
	if after := m.state.String(); after != before {
		t.Errorf("state %s, was %s", after, before)
	}
}

// TestUnreadableEntry: what a newer version wrote, or damage, stops the replica
// before anything of the entry is applied.
func TestUnreadableEntry(t *testing.T) {
	for name, data := range map[string][]byte{
		"damage":       []byte("\x0a\x05ab"),
		"newer change": encodeEntry([]*proposal{{command: []byte("\xfa\x01\x00"), time: 1}}),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			stopped := 0
			m.tools.fail = func(error) { stopped++ }
			before := fmt.Sprint(dump(t, m.db))
			if a := m.entry(data); a.err == nil || stopped != 1 {
				t.Errorf("entry applied: %v, stopped %d times", a.err, stopped)
			}
			if fmt.Sprint(dump(t, m.db)) != before {
				t.Error("state changed")
			}
		})
	}
}
