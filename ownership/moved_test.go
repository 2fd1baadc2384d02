package ownership

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// moves notes what an observer is told of where a channel moved, in order.
type moves struct{ told []channel.Moved }

func (m *moves) ChannelChanged(c channel.Channel, _ bool) { m.told = append(m.told, c.Moved) }
func (*moves) Committed(channel.Update, uint64)           {}
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

func (*moves) RangeGained(channel.Range, uint64) {}
func (*moves) RangeLost(channel.Range, uint64)   {}
