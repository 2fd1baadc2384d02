package ownership

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
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

var day0 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

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

func subscribeCommand(items ...*wire.Subscribe_Item) *wire.Command {
	return &wire.Command{Change: &wire.Command_Subscribe{Subscribe: &wire.Subscribe{Items: items}}}
}

func item(url string, sink channel.Sink) *wire.Subscribe_Item {
	id := channel.IDOf(url)
	return &wire.Subscribe_Item{Channel: id[:], Url: url, SinkType: sink.Type, SinkUrl: sink.URL, SinkSecret: sink.Secret}
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
	db    *pebble.DB
	index uint64
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	cfg := Config{Dir: "machine", files: vfs.NewMem(), Fatal: func(err error) { t.Errorf("fatal: %v", err) }}.withDefaults()
	tools := newTools(cfg, newMetrics(prometheus.NewRegistry()))
	db, err := openState("state", cfg, tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m := &machine{fsm: &fsm{flush: &flusher{db: db}, tools: tools, clock: &clock{now: time.Now}}, db: db}
	if m.state, err = state.New(db).Machine(channel.Range{To: channel.Buckets - 1}); err != nil {
		t.Fatal(err)
	}
	return m
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
	closed := s.ClosedIn(s.of(0).Range)
	for _, g := range s.groups() {
		closed = min(closed, g.clock.closedTime(newest))
	}
	return closed
}

// UpdatesSince is Since of all ranges together, from the disk and up to Closed.
func (s *Store) UpdatesSince(after channel.Cursor, limit int) (all []channel.Update, err error) {
	closed := s.Closed()
	for _, g := range s.groups() {
		updates, _, err := g.state.Since(after, closed, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, updates...)
	}
	slices.SortFunc(all, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
	return all[:min(len(all), limit)], nil
}
