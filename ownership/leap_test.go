package ownership

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// leap is a way in which a node's clock is an hour wrong: it is set by some time at
// once, and perhaps the node restarts.
type leap struct {
	name     string
	by, back time.Duration // back: what it is set by after that
	restart  bool
}

var leaps = []leap{
	{name: "forward", by: time.Hour},
	{name: "forward with a restart", by: time.Hour, restart: true},
	{name: "back", by: -time.Hour},
	{name: "back with a restart", by: -time.Hour, restart: true},
	{name: "forward and back", by: time.Hour, back: -time.Hour},
	{name: "forward and back with restarts", by: time.Hour, back: -time.Hour, restart: true},
	{name: "back and forward", by: -time.Hour, back: time.Hour},
}

// leaping is a store whose clock leaps.
type leaping struct {
	*Store
	t     *testing.T
	cfg   Config
	clock *fakeClock
}

func newLeaping(t *testing.T) *leaping {
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now = clock.now
	return &leaping{Store: open(t, cfg), t: t, cfg: cfg, clock: clock}
}

// leap does what l says. During says what happens while the clock is wrong.
func (s *leaping) leap(l leap, during func()) {
	for _, by := range []time.Duration{l.by, l.back} {
		s.clock.advance(by)
		if l.restart {
			shut(s.t, s.Store)
			s.Store = open(s.t, s.cfg)
		}
		s.Closed() // as readers of streams ask all the time
		pass(newSweeper(s.Store))
		during()
	}
}

// TestRow65Keys: bad-input.md, row 65. Whenever the clock leaps by an hour in the
// life of a key, what is within 47 hours of it gets the same answer: the promise is
// 24. And it is forgotten in the end.
func TestRow65Keys(t *testing.T) {
	w := wish("http://example.com/", "key", webhook)
	for _, l := range leaps {
		t.Run(l.name, func(t *testing.T) {
			for _, at := range []time.Duration{0, 11*time.Hour + 59*time.Minute, 12 * time.Hour} { // of noon: the last two are midnight
				s := newLeaping(t)
				s.clock.advance(at)
				began := s.clock.now()
				first := subscribe(t, s.Store, w)
				existing := func() {
					t.Helper()
					if r := s.Subscribe(context.Background(), []NewSubscription{w})[0]; !r.Existing || r.Subscription != first {
						t.Errorf("%s after the first: %+v, want %+v", s.clock.now().Sub(began), r, first)
					}
				}
				s.clock.advance(47*time.Hour - time.Second)
				s.leap(l, existing)
				s.clock.advance(28 * time.Hour)
				pass(newSweeper(s.Store))
				if again := subscribe(t, s.Store, w); again.ID == first.ID {
					t.Error("a key counts for ever")
				}
			}
		})
	}
}

// TestRow65Updates: bad-input.md, row 65. A clock that leaps by an hour takes no
// more than that hour of what updates are kept for, nor the latest 16 of any age.
func TestRow65Updates(t *testing.T) {
	const versions, trimmed = state.KeepVersions + 10, 11
	w := wish("http://example.com/", "", webhook)
	for _, l := range leaps {
		for keep, reached := range map[time.Duration]uint64{state.KeepForCursors: versions, state.KeepAtMost: 1} {
			t.Run(fmt.Sprintf("%s, reached %d", l.name, reached), func(t *testing.T) {
				s := newLeaping(t)
				subscribe(t, s.Store, w)
				grow(t, s.Store, w.Channel, versions)
				if err := s.Advance(context.Background(), []channel.Progress{{Channel: w.Channel, Incarnation: 1, Version: reached, Seq: 9}}); err != nil {
					t.Fatal(err)
				}
				oldest := func(want uint64) {
					t.Helper()
					c := channelAt(t, s.Store, w.Channel)
					checkKept(t, s.Store, c)
					if c.Oldest != want {
						t.Errorf("versions from %d kept at %v, want %d", c.Oldest, s.clock.now().Sub(day0), want)
					}
				}
				s.clock.advance(keep - time.Hour - time.Second)
				s.leap(l, func() { oldest(2) })
				s.clock.advance(3 * time.Hour)
				pass(newSweeper(s.Store))
				oldest(trimmed)
			})
		}
	}
}

// TestRow65IDs: bad-input.md, row 65. However the clock leaps, no subscription,
// incarnation or place in the order of updates is given twice, and an update can be
// read as soon as it is applied.
func TestRow65IDs(t *testing.T) {
	ctx := context.Background()
	for _, l := range leaps {
		t.Run(l.name, func(t *testing.T) {
			s := newLeaping(t)
			ids, incarnations, last := map[string]bool{}, map[string]bool{}, uint64(0)
			step := func() {
				for i := range 5 { // in several ranges; the others stay idle
					w := wish(fmt.Sprintf("http://example.com/%d", i), "", stream)
					sub := subscribe(t, s.Store, w)
					grow(t, s.Store, w.Channel, 3)
					c := channelAt(t, s.Store, w.Channel)
					at := fmt.Sprint(w.Channel.Bucket(), c.Incarnation)
					if ids[sub.ID] || incarnations[at] {
						t.Errorf("subscription %s, incarnation %s a second time", sub.ID, at)
					}
					ids[sub.ID], incarnations[at] = true, true
					last = readable(t, s.Store, w, last)
					if err := s.Unsubscribe(ctx, sub.ID); err != nil {
						t.Fatal(err)
					}
					if err := s.EndChannel(ctx, w.Channel, c.Incarnation); err != nil {
						t.Fatal(err)
					}
				}
			}
			step()
			s.leap(l, step)
		})
	}
}

// readable checks that a channel's updates are closed, and behind what was closed
// last, and returns what is closed now.
func readable(t *testing.T, s *Store, w NewSubscription, last uint64) (closed uint64) {
	t.Helper()
	closed = s.Closed()
	updates, _, err := s.Updates(w.Channel, 0, 10)
	if err != nil || len(updates) != 2 {
		t.Fatalf("%d updates, %v", len(updates), err)
	}
	for _, u := range updates {
		if u.Stamp <= last || u.Stamp > closed {
			t.Errorf("%s: stamp %d, want behind %d and up to %d, which is closed", w.URL, u.Stamp, last, closed)
		}
	}
	return closed
}
