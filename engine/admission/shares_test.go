package admission

import (
	"testing"
	"time"
)

// How many polls of each class may be under way, by the number of workers. First polls
// begin with a sixteenth of these, four at least, and a half of few.
func TestShares(t *testing.T) {
	for _, tc := range []struct{ limit, strange, slow, large, steady int }{
		{1024, 64, 256, 128, 1024}, {64, 4, 16, 8, 64}, {80, 5, 20, 10, 80}, {16, 4, 4, 2, 16}, {8, 4, 2, 1, 8}, {6, 3, 1, 1, 6}, {2, 1, 0, 1, 2},
	} {
		w := New(tc.limit)
		for class, want := range map[Class]int{Strange: tc.strange, Slow: tc.slow, Large: tc.large, Steady: tc.steady} {
			for n := range want {
				if w.Full(class) {
					t.Fatalf("%d workers, class %d: full with %d polls, want %d", tc.limit, class, n, want)
				}
				w.Begin(class)
			}
			if !w.Full(class) || w.Polls[class] != want || w.InFlight != want {
				t.Errorf("%d workers, class %d: %d polls of %d and not full", tc.limit, class, w.Polls[class], w.InFlight)
			}
			w.End(class)
			if full := w.Full(class); full && want > 0 || w.InFlight != want-1 {
				t.Errorf("%d workers, class %d: full %v with %d under way", tc.limit, class, full, w.InFlight)
			}
			for range want - 1 {
				w.End(class)
			}
			w.InFlight, w.Polls[class] = 0, 0
		}
	}
}

// The window of first polls grows to half of the workers, and shrinks to four, or to two
// of four workers.
func TestWindowBounds(t *testing.T) {
	for _, tc := range []struct{ limit, most, least int }{{1024, 512, 4}, {64, 32, 4}, {6, 3, 3}, {4, 2, 2}} {
		w := New(tc.limit)
		now := int64(1e18)
		for range 2 * tc.limit {
			w.Polls[Strange] = w.window.size
			w.Feedback(Strange, now, now, Load{}, now)
		}
		if w.window.size != tc.most {
			t.Errorf("%d workers: at most %d first polls, want %d", tc.limit, w.window.size, tc.most)
		}
		for range 20 {
			now += 2
			w.Feedback(Strange, now, now, Load{Busy: true, Canceled: true}, now+1)
		}
		if w.window.size != tc.least {
			t.Errorf("%d workers: %d first polls at the least, want %d", tc.limit, w.window.size, tc.least)
		}
	}
}

// Which ends of polls change the window: polls that began with its last halving or
// before do not, nor do due polls that are not late, or that could begin before it.
func TestFeedbackThatCounts(t *testing.T) {
	const now = int64(1e18)
	late := int64(50 * time.Millisecond)
	for _, tc := range []struct {
		name            string
		class           Class
		begun, eligible int64
		load            Load
		strange         int
		want            int
	}{
		{"busy", Strange, now + 1, now + 1, Load{Busy: true}, 64, 32},
		{"busy, begun with the last halving", Strange, now, now, Load{Busy: true}, 64, 64},
		{"late", Steady, now + 1 + late + 1, now + 1, Load{}, 1, 64},
		{"late by as much as a stall takes", Steady, now + 1 + late, now + 1, Load{}, 1, 100},
		{"late, might have begun with the last halving", Steady, now + late + 1, now, Load{}, 1, 100},
		{"unheard", Strange, now + 1, now + 1, Load{Unheard: true}, 64, 64},
		{"unheard, of a larger window", Strange, now + 1, now + 1, Load{Unheard: true}, 100, 64},
		{"unheard, begun with the last halving", Strange, now, now, Load{Unheard: true}, 100, 100},
		{"a due one unheard", Steady, now + 1, now + 1, Load{Unheard: true}, 1, 64},
		{"a due one unheard, without first polls", Steady, now + 1, now + 1, Load{Unheard: true}, 0, 100},
		{"late, without first polls", Steady, now + 1 + late + 1, now + 1, Load{}, 0, 100},
	} {
		w := New(1024)
		w.window.size, w.window.halved, w.Polls[Strange] = 64, now, tc.strange
		if tc.class == Steady || tc.strange > 64 {
			w.window.size = 100
		}
		if w.Feedback(tc.class, tc.begun, tc.eligible, tc.load, now+2*late); w.window.size != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, w.window.size, tc.want)
		}
	}
}

// A wall clock that was set moves when the window was halved, never past now.
func TestShift(t *testing.T) {
	const now, hour = int64(1e18), int64(time.Hour)
	for _, tc := range []struct{ halved, step, want int64 }{
		{0, hour, 0}, {now - 2*hour, hour, now - hour}, {now, -hour, now - hour}, {now - hour, 2 * hour, now},
	} {
		w := New(64)
		w.window.halved = tc.halved
		if w.Shift(tc.step, now); w.window.halved != tc.want {
			t.Errorf("halved %v, set by %v: %v, want %v", tc.halved-now, time.Duration(tc.step), w.window.halved-now, tc.want-now)
		}
	}
}
