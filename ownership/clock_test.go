package ownership

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestClock: times rise, are closed only when nothing at or before them is under
// way, and closed times never fall, whatever the wall clock does.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := time.UnixMicro(1e15)
		c := &clock{now: func() time.Time { return wall }}
		c.lead(rapid.Uint64Range(0, 2e15).Draw(t, "seen"))
		var pending []uint64
		last, closed, leading := uint64(0), uint64(0), true
		t.Repeat(map[string]func(*rapid.T){
			"wall": func(t *rapid.T) {
				wall = wall.Add(time.Duration(rapid.Int64Range(-3600e6, 3600e6).Draw(t, "µs")) * time.Microsecond)
			},
			"next": func(t *rapid.T) {
				at := c.next()
				if at <= last || at <= closed {
					t.Fatalf("time %d after %d, closed %d", at, last, closed)
				}
				last, pending = at, append(pending, at)
			},
			"settle": func(t *rapid.T) {
				n := rapid.IntRange(0, len(pending)).Draw(t, "n")
				if n > 0 {
					c.settle(pending[n-1])
					pending = pending[n:]
				}
			},
			"lose": func(t *rapid.T) { c.follow(); leading = false },
			"lead": func(t *rapid.T) { c.lead(last + 5); leading = true; last += 5 },
			"closed": func(t *rapid.T) {
				now := c.closedTime(0)
				if now < closed {
					t.Fatalf("closed fell from %d to %d", closed, now)
				}
				if len(pending) > 0 && now >= pending[0] {
					t.Fatalf("closed %d with %d under way", now, pending[0])
				}
				if !leading && now != closed {
					t.Fatalf("closed moved from %d to %d without leading", closed, now)
				}
				if leading && len(pending) == 0 && now < last {
					t.Fatalf("closed %d, nothing under way since %d", now, last)
				}
				closed = now
			},
		})
	})
}
