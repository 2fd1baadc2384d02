package ownership

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// fakeClock is a clock that tests move.
type fakeClock struct{ us atomic.Int64 }

func newFakeClock() *fakeClock {
	c := &fakeClock{}
	c.us.Store(day0.UnixMicro())
	return c
}

func (c *fakeClock) now() time.Time          { return time.UnixMicro(c.us.Load()) }
func (c *fakeClock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }

// pass lets the sweeper look at every channel once.
func pass(w *sweeper) {
	w.passed = time.Time{}
	w.step(context.Background())
	for w.next != nil {
		w.step(context.Background())
	}
}

// TestRetention is the life of three channels that change every hour for a
// hundred: what is kept of each, every ten hours. Delivered updates go after a
// day, undelivered and streamed ones after 76 hours, the latest 16 never.
func TestRetention(t *testing.T) {
	ctx := context.Background()
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	w := newSweeper(s)
	delivered, stuck, streamed := wish("http://example.com/delivered", "", webhook), wish("http://example.com/stuck", "", webhook), wish("http://example.com/streamed", "", stream)
	all := []NewSubscription{delivered, stuck, streamed}
	for _, w := range all {
		subscribe(t, s, w)
		grow(t, s, w.Channel, 1)
	}
	var script strings.Builder
	for hour := 1; hour <= 100; hour++ {
		clock.advance(time.Hour)
		version := uint64(hour + 1)
		for _, w := range all {
			grow(t, s, w.Channel, version)
		}
		position := channel.Progress{Channel: delivered.Channel, Incarnation: 1, Version: version, Seq: 9}
		behind := channel.Progress{Channel: stuck.Channel, Incarnation: 1, Version: version, Seq: 9, Stragglers: []channel.Straggler{{Seq: 1, Next: 2}}}
		if err := s.Advance(ctx, []channel.Progress{position, behind}); err != nil {
			t.Fatal(err)
		}
		pass(w)
		if hour%10 == 0 {
			fmt.Fprintf(&script, "%3d h:%s\n", hour, kept(t, s, all))
		}
	}
	want := `
 10 h:  delivered 2–11  stuck 2–11  streamed 2–11
 20 h:  delivered 2–21  stuck 2–21  streamed 2–21
 30 h:  delivered 8–31  stuck 2–31  streamed 2–31
 40 h:  delivered 18–41  stuck 2–41  streamed 2–41
 50 h:  delivered 28–51  stuck 2–51  streamed 2–51
 60 h:  delivered 38–61  stuck 2–61  streamed 2–61
 70 h:  delivered 48–71  stuck 2–71  streamed 2–71
 80 h:  delivered 58–81  stuck 6–81  streamed 6–81
 90 h:  delivered 68–91  stuck 16–91  streamed 16–91
100 h:  delivered 78–101  stuck 26–101  streamed 26–101
`
	if got := script.String(); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("kept:\n%s\nwant:%s", got, want)
	}
	clock.advance(1000 * time.Hour)
	pass(w)
	for _, w := range all {
		if c := channelAt(t, s, w.Channel); c.Oldest != 101-state.KeepVersions+1 {
			t.Errorf("versions %d to %d kept of %s, want the latest %d", c.Oldest, c.Version, c.URL, state.KeepVersions)
		}
	}
	_, err := s.UpdatesSince(channel.Cursor{Stamp: wire.Micros(day0)}, 1)
	wantError(t, err, channel.ErrTooOld)
	if _, err := s.UpdatesSince(channel.Cursor{Stamp: wire.Micros(day0.Add(99 * time.Hour))}, 1); err != nil {
		t.Error(err)
	}
}

// kept spells out the versions kept, and checks that they read.
func kept(t *testing.T, s *Store, all []NewSubscription) (text string) {
	for _, w := range all {
		c := channelAt(t, s, w.Channel)
		checkKept(t, s, c)
		text += fmt.Sprintf("  %s %d–%d", w.URL[len("http://example.com/"):], c.Oldest, c.Version)
	}
	return text
}

func channelAt(t failer, s *Store, id channel.ID) channel.Channel {
	t.Helper()
	c, err := s.Channel(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkKept compares what a channel says it keeps with what reads, and the gap.
func checkKept(t failer, s *Store, c channel.Channel) {
	t.Helper()
	updates, gap, err := s.Updates(c.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	next := c.Oldest
	for _, u := range updates {
		if u.Version != next || string(u.Data) != string(updateData(c.ID, next)) {
			t.Fatalf("update %d %q, want version %d", u.Version, u.Data, next)
		}
		next++
	}
	if c.Oldest > 0 && next != c.Version+1 {
		t.Errorf("updates end at %d, channel at %d", next-1, c.Version)
	}
	switch {
	case c.Oldest <= 2 && gap != nil, c.Oldest > 2 && (gap == nil || *gap != channel.Gap{From: 2, To: c.Oldest - 1}):
		t.Errorf("gap %v with versions from %d", gap, c.Oldest)
	}
	if _, gap, err := s.Updates(c.ID, c.Oldest, 1); err != nil || gap != nil {
		t.Errorf("gap %v behind a version that is kept, %v", gap, err)
	}
}

// TestRetainBytes: beyond the bytes the oldest go first, delivered or not, down
// to the latest 16; and retention recovers when there is room.
func TestRetainBytes(t *testing.T) {
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now, cfg.RetainBytes = clock.now, 20_000
	s := open(t, cfg)
	w := newSweeper(s)
	subscription := wish("http://example.com/", "", webhook)
	subscribe(t, s, subscription)
	most := uint64(0)
	for range 300 {
		clock.advance(5 * time.Minute)
		c := channelAt(t, s, subscription.Channel)
		commit := nextCommit(c)
		if c.Version > 0 {
			commit.Update = make([]byte, 500)
		}
		if err := s.Commit(context.Background(), commit); err != nil {
			t.Fatal(err)
		}
		pass(w)
		most = max(most, s.UpdateBytes())
	}
	c := channelAt(t, s, subscription.Channel)
	// A pass that finds too much shortens retention for the next one.
	if most > 25_000 || c.Version-c.Oldest < 20 {
		t.Errorf("up to %d bytes kept, versions %d to %d at the end", most, c.Oldest, c.Version)
	}
	w.s.cfg.RetainBytes = 1
	for range 20 {
		clock.advance(time.Hour)
		pass(w)
	}
	if c := channelAt(t, s, subscription.Channel); c.Version-c.Oldest != state.KeepVersions-1 {
		t.Errorf("versions %d to %d kept without any room, want the latest 16", c.Oldest, c.Version)
	}
	w.s.cfg.RetainBytes = 1 << 30
	for range 20 {
		pass(w)
	}
	if w.retain != state.KeepAtMost {
		t.Errorf("retention is %v with room, want %v", w.retain, state.KeepAtMost)
	}
}

// TestSweepKeys: the sweeper forgets the keys of old days, and only those.
func TestSweepKeys(t *testing.T) {
	ctx := context.Background()
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	w := newSweeper(s)
	for day := range 6 {
		for i := range 10 {
			subscribe(t, s, wish("http://example.com/", fmt.Sprintf("%d %d", day, i), stream))
		}
		pass(w)
		clock.advance(24 * time.Hour)
	}
	days := map[uint32]int{}
	for key := range dump(t, s.db) {
		if kind := key[2]; kind == 'k' || kind == 'd' {
			days[uint32(key[3])<<24|uint32(key[4])<<16|uint32(key[5])<<8|uint32(key[6])]++
		}
	}
	if len(days) != 3 {
		t.Errorf("keys of %d days kept, want 3: %v", len(days), days)
	}
	for day, n := range days {
		if n != 20 {
			t.Errorf("%d records of day %d, want a claim and an answer for 10 keys", n, day)
		}
	}
	if r := s.Subscribe(ctx, []NewSubscription{wish("http://example.com/", "5 0", stream)})[0]; !r.Existing {
		t.Error("a key of today was forgotten")
	}
}
