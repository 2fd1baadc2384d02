package state

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

var (
	day0    = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	stream  = channel.Sink{Type: "sse"}
	webhook = channel.Sink{Type: channel.SinkWebhook, URL: "https://sink.example/hook", Secret: "whsec_x"}
)

// machine is a state machine whose entries are applied as a test says.
type machine struct {
	*Machine
	states *DB
	index  uint64
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	db, err := pebble.Open("state", &pebble.Options{
		FS: vfs.NewMem(), FormatMajorVersion: disk.Format, DisableWAL: true, Logger: quiet{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m := &machine{states: New(db)}
	m.open(t, channel.Range{To: channel.Buckets - 1})
	return m
}

func (m *machine) open(t testing.TB, r channel.Range) {
	t.Helper()
	var err error
	if m.Machine, err = m.states.Machine(r); err != nil {
		t.Fatal(err)
	}
}

// reset empties the machine, and gives it the range of one bucket: what a fuzz
// target can afford for each input.
func (m *machine) reset(t testing.TB, b channel.Bucket) {
	t.Helper()
	if err := m.db.DeleteRange([]byte{0}, []byte{0xFF, 0xFF, 0xFF}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	m.index = 0
	m.open(t, channel.Range{From: b, To: b})
}

// apply applies one command at a time and returns its result.
func (m *machine) apply(t testing.TB, at time.Time, command *wire.Command) Result {
	t.Helper()
	command.TimeUs = wire.Micros(at)
	results, err := m.entry(marshal(t, &wire.Entry{Commands: []*wire.Command{command}}))
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// entry applies an entry and writes what comes of it.
func (m *machine) entry(data []byte) ([]Result, error) {
	tx := m.Begin(false)
	m.index++
	tx.Reach(m.index)
	results, err := tx.Apply(data)
	if err != nil {
		tx.Drop()
		return nil, err
	}
	return results, m.Write(tx)
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

func marshal(t testing.TB, message proto.Message) []byte {
	t.Helper()
	content, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entryOf is a log entry of encoded commands, all of one time.
func entryOf(timeUS uint64, commands ...[]byte) (entry []byte) {
	for _, command := range commands {
		entry = AppendCommand(entry, command, timeUS)
	}
	return entry
}

// quiet is pebble's logger.
type quiet struct{ t testing.TB }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

func subscribeCommand(items ...*wire.Subscribe_Item) *wire.Command {
	return &wire.Command{Change: &wire.Command_Subscribe{Subscribe: &wire.Subscribe{Items: items}}}
}

func item(url string, sink channel.Sink) *wire.Subscribe_Item {
	id := channel.IDOf(url)
	return &wire.Subscribe_Item{Channel: id[:], Url: url, SinkType: sink.Type, SinkUrl: sink.URL, SinkSecret: sink.Secret}
}

func commitCommand(id channel.ID, incarnation, base, version uint64, update string) *wire.Command {
	return &wire.Command{Change: &wire.Command_Commit{Commit: &wire.Commit{
		Channel: id[:], Incarnation: incarnation, Base: base, Version: version, Update: []byte(update),
	}}}
}
