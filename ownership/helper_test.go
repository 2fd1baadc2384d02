package ownership

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig is of a node in a directory of the test's, with few ranges.
func testConfig(t testing.TB) Config {
	return Config{Dir: filepath.Join(t.TempDir(), "ownership"), Node: "one", Ranges: 4, SweepInterval: time.Hour}
}

func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := openSoon(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

// openSoon opens a store, within a time that a loaded machine has.
func openSoon(cfg Config) (*Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return Open(ctx, cfg)
}

func shut(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func wish(url, key string, sink channel.Sink) NewSubscription {
	canonical, id, err := channel.Parse(url)
	if err != nil {
		panic(err)
	}
	return NewSubscription{URL: canonical, Channel: id, Sink: sink, Key: key}
}

var (
	stream  = channel.Sink{Type: "sse"}
	webhook = channel.Sink{Type: channel.SinkWebhook, URL: "https://sink.example/hook", Secret: "whsec_x"}
)

func subscribe(t testing.TB, s *Store, w NewSubscription) channel.Subscription {
	t.Helper()
	r := s.Subscribe(context.Background(), []NewSubscription{w})[0]
	if r.Err != nil {
		t.Fatalf("Subscribe(%s): %v", w.URL, r.Err)
	}
	return r.Subscription
}

// grow commits versions of a channel up to one.
func grow(t testing.TB, s *Store, id channel.ID, to uint64) {
	t.Helper()
	for {
		c, err := s.Channel(id)
		if err != nil {
			t.Fatal(err)
		}
		if c.Version >= to {
			return
		}
		if err := s.Commit(context.Background(), nextCommit(c)); err != nil {
			t.Fatalf("Commit version %d: %v", c.Version+1, err)
		}
	}
}

// nextCommit is a commit of a channel's next version.
func nextCommit(c channel.Channel) Commit {
	next := Commit{
		Channel: c.ID, Incarnation: c.Incarnation, Base: c.Version, Version: c.Version + 1,
		Hash: [16]byte{byte(c.Version + 1)}, Kind: 4, Judge: fmt.Appendf(nil, "judge %d", c.Version+1),
		Seen: []uint64{c.Version*10 + 1, c.Version*10 + 2}, Forgotten: c.Forgotten, At: time.UnixMicro(int64(c.Version+1) * 1e6),
	}
	if c.Version > 0 {
		next.Update = updateData(c.ID, c.Version+1)
		next.Patch = fmt.Appendf(nil, "patch %d", c.Version+1)
	}
	return next
}

func updateData(id channel.ID, version uint64) []byte {
	return fmt.Appendf(nil, "%s version %d", id, version)
}

// machine is a state machine without raft: entries are applied as a test says.
type machine struct {
	*fsm
	index uint64
}

func newMachine(t testing.TB, observer Observer) *machine {
	t.Helper()
	cfg := Config{Dir: "machine", files: vfs.NewMem(), Fatal: func(err error) { t.Errorf("fatal: %v", err) }}.withDefaults()
	tools := newTools(cfg, newMetrics(prometheus.NewRegistry()))
	db, err := openState("state", cfg, tools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m := &machine{fsm: &fsm{
		from: 0, to: channel.Buckets - 1, db: db, flush: &flusher{db: db}, tools: tools,
		clock: &clock{now: time.Now}, observer: observer,
	}}
	if err := m.load(); err != nil {
		t.Fatal(err)
	}
	m.leading.Store(true)
	return m
}

// reset empties the machine, and gives it the range of one bucket: what a fuzz
// target can afford for each input.
func (m *machine) reset(t testing.TB, b channel.Bucket) {
	t.Helper()
	if err := m.db.DeleteRange([]byte{0}, []byte{0xFF, 0xFF, 0xFF}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	m.index = 0
	m.fsm = &fsm{from: b, to: b, db: m.db, flush: m.flush, tools: m.tools, clock: m.clock}
	if err := m.load(); err != nil {
		t.Fatal(err)
	}
}

// apply applies one command at a time and returns its result.
func (m *machine) apply(t testing.TB, at time.Time, command *wire.Command) result {
	t.Helper()
	command.TimeUs = wire.Micros(at)
	entry, err := proto.Marshal(&wire.Entry{Commands: []*wire.Command{command}})
	if err != nil {
		t.Fatal(err)
	}
	a := m.entry(entry)
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.results[0]
}

func (m *machine) entry(data []byte) applied {
	m.index++
	return m.Apply(&raft.Log{Index: m.index, Type: raft.LogCommand, Data: data}).(applied)
}

// dump is all the state, for comparing.
func dump(t testing.TB, db *pebble.DB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	iter, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		all[string(iter.Key())] = string(iter.Value())
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// copyDir copies what a running store has on disk. The caller sees to it that
// nothing writes meanwhile.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// newest returns the last file of a directory with the suffix.
func newest(t testing.TB, dir, suffix string) string {
	t.Helper()
	var last string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == suffix && path > last {
			last = path
		}
		return err
	})
	if err != nil || last == "" {
		t.Fatalf("no %s in %s: %v", suffix, dir, err)
	}
	return last
}

// refused opens a store that must not open, and returns why.
func refused(t testing.TB, cfg Config) error {
	t.Helper()
	s, err := openSoon(cfg)
	if err == nil {
		shut(t, s)
		t.Fatal("opened")
	}
	if s != nil {
		t.Error("an error and a store")
	}
	return err
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func marshal(t testing.TB, message proto.Message) []byte {
	t.Helper()
	content, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// failer is what [testing.T] and [rapid.T] share.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// Closed returns a stamp up to which all ranges are closed.
func (s *Store) Closed() uint64 {
	newest := s.newest()
	closed := s.ClosedIn(0)
	for _, g := range s.groups {
		closed = min(closed, g.clock.closedTime(newest))
	}
	return closed
}

// UpdatesSince is Since of all ranges together, up to Closed.
func (s *Store) UpdatesSince(after channel.Cursor, limit int) ([]channel.Update, error) {
	updates, _, err := s.updatesSince(channel.Range{To: channel.Buckets - 1}, after, s.Closed(), limit)
	return updates, err
}
