package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestSpareIsTold: what an origin asks of one of several pollers of a channel is told to the
// others; a channel's only poller tells nothing.
func TestSpareIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Spare
		w := newWorld(t, Config{Spared: func(s Spare) { told = append(told, s) }})
		defer w.close()
		alone, shared := testURL(1), testURL(2)
		for _, url := range []string{alone, shared} {
			w.origins[url] = &origin{status: 200, body: "text", etag: `"1"`}
		}
		both := w.orderOf(shared)
		both.Width = 2
		w.engine.Order(w.orderOf(alone), both)
		w.pass(3 * halfHour)
		if len(told) > 0 {
			t.Fatalf("told %+v of origins that ask for nothing", told)
		}
		w.mu.Lock()
		for _, url := range []string{alone, shared} {
			w.origins[url] = &origin{status: 500, retryAfter: "36000"}
		}
		w.mu.Unlock()
		w.pass(3 * halfHour)
		w.mu.Lock()
		last := w.asked[shared][len(w.asked[shared])-1]
		w.mu.Unlock()
		if want := (Spare{Channel: both.Channel, Incarnation: both.Incarnation, Until: last.Add(10 * time.Hour)}); len(told) != 1 || told[0].Channel != want.Channel ||
			told[0].Incarnation != want.Incarnation || !told[0].Until.Equal(want.Until) {
			t.Errorf("told %+v, want %+v once", told, want)
		}
	})
}

// TestSpare: a channel is not asked for before the end that another poller was told, then it
// is; of another incarnation, or of a channel without an order, nothing changes.
func TestSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{})
		defer w.close()
		spared, other := testURL(1), testURL(2)
		for _, url := range []string{spared, other} {
			w.origins[url] = &origin{status: 200, body: "text", etag: `"1"`}
		}
		w.engine.Order(w.orderOf(spared), w.orderOf(other))
		w.pass(2 * halfHour)
		began := time.Now()
		until := began.Add(5 * time.Hour)
		w.engine.Spare(Spare{Channel: channel.IDOf(spared), Incarnation: w.orderOf(spared).Incarnation, Until: until})
		w.engine.Spare(Spare{Channel: channel.IDOf(other), Incarnation: w.orderOf(other).Incarnation + 1, Until: until})
		w.engine.Spare(Spare{Channel: channel.IDOf(testURL(3)), Incarnation: 1, Until: until})
		w.pass(time.Until(until) - time.Second)
		if n := w.askedSince(spared, began); n > 0 {
			t.Errorf("asked %d times for a channel whose origin wants to be spared", n)
		}
		if n := w.askedSince(other, began); n < 8 {
			t.Errorf("asked %d times for the other channel", n)
		}
		w.pass(2 * halfHour)
		if n := w.askedSince(spared, began); n == 0 {
			t.Error("not asked for any more")
		}
	})
}
