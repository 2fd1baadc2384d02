package ownership

import (
	"context"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// moves notes what an observer is told of where a channel moved, in order.
type moves struct{ told []channel.Moved }

func (m *moves) ChannelChanged(c channel.Channel, _ bool) { m.told = append(m.told, c.Moved) }
func (*moves) Committed(channel.Update)                   {}
func (*moves) Subscribed(channel.Subscription)            {}
func (*moves) Unsubscribed(channel.Subscription)          {}

// TestMoved: bad-input.md, row 21. Where a channel moved is told and kept, through
// a snapshot and a restart, until a commit says otherwise or the channel ends; no
// step of it makes a version or an update.
func TestMoved(t *testing.T) {
	ctx := context.Background()
	observer := &moves{}
	cfg := testConfig(t)
	cfg.Observer = observer
	s := open(t, cfg)
	w := wish("http://example.com/", "", stream)
	sub := subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	observer.told = nil
	noticed := channel.Moved{To: "http://new.example/feed", Since: time.UnixMicro(7).UTC()}
	learned, doubted := noticed, channel.Moved{To: noticed.To}
	learned.Learned = true
	for _, step := range []struct {
		moved *channel.Moved
		want  channel.Moved
	}{{&doubted, doubted}, {&noticed, noticed}, {nil, noticed}, {&learned, learned}, {nil, learned}, {&channel.Moved{}, channel.Moved{}}, {nil, channel.Moved{}}, {&learned, learned}} {
		if err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: 2, Version: 2, Moved: step.moved}); err != nil {
			t.Fatal(err)
		}
		c := channelAt(t, s, w.Channel)
		if c.Moved != step.want || c.Version != 2 || observer.told[len(observer.told)-1] != step.want {
			t.Errorf("committed %+v: version %d, moved %+v, told %+v", step.moved, c.Version, c.Moved, observer.told)
		}
	}
	if updates, err := s.UpdatesSince(channel.Cursor{}, 10); err != nil || len(updates) != 1 {
		t.Errorf("updates %v, %v", updates, err)
	}
	grow(t, s, w.Channel, 3)
	s.snapshotAll()
	shut(t, s)
	s = open(t, cfg)
	if c := channelAt(t, s, w.Channel); c.Moved != learned || c.Version != 3 {
		t.Errorf("version %d, moved %+v after a restart", c.Version, c.Moved)
	}
	if err := errors.Join(s.Unsubscribe(ctx, sub.ID), s.EndChannel(ctx, w.Channel, 1)); err != nil {
		t.Fatal(err)
	}
	subscribe(t, s, w)
	if c := channelAt(t, s, w.Channel); c.Incarnation != 2 || c.Moved != (channel.Moved{}) {
		t.Errorf("incarnation %d begins as moved to %+v", c.Incarnation, c.Moved)
	}
	if count := len(slices.DeleteFunc(observer.told, func(m channel.Moved) bool { return m == channel.Moved{} })); count != 9 {
		t.Errorf("told %d times of a channel that moved, want 6 holds, a version, the last unsubscription and the end: %+v", count, observer.told)
	}
}

// TestBeforeMoved: a log entry and a record of a version that knew of no moves
// read as they did then.
func TestBeforeMoved(t *testing.T) {
	entry := "0a2208072a1e0a149c17e047f58f9220a7008d4f18152fee4d111d141001300458096001"
	record := "0a13687474703a2f2f6578616d706c652e636f6d2f100118032804300240096001900108"
	id := channel.IDOf("http://example.com/")
	old := &wire.Channel{}
	if err := proto.Unmarshal(unhex(t, record), old); err != nil {
		t.Fatal(err)
	}
	want := channel.Channel{
		ID: id, URL: "http://example.com/", Incarnation: 1, Version: 3, Kind: 4, Subscribers: 2,
		Created: time.UnixMicro(9).UTC(), Gone: true, GoneStamp: 8,
	}
	if got := channelOf(id, old); !reflect.DeepEqual(got, want) {
		t.Errorf("record reads as %+v, want %+v", got, want)
	}
	m := newMachine(t, nil)
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	if a := m.entry(unhex(t, entry)); a.err != nil || a.results[0].err != nil {
		t.Fatal(a)
	}
	after, err := getChannel(m.db, id)
	if err != nil || !after.Gone || after.Kind != 4 || after.Moved != nil {
		t.Errorf("entry leaves %v, %v", after, err)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (*moves) RangeGained(channel.Range, uint64) {}
func (*moves) RangeLost(channel.Range, uint64)   {}
