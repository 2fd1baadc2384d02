package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

const halfHour = 30 * time.Minute

func TestBackoff(t *testing.T) {
	const minute = time.Minute
	tests := []struct {
		interval time.Duration
		failures uint16
		period   time.Duration
		want     time.Duration // beyond the period
	}{
		{30 * minute, 1, 30 * minute, 0},
		{30 * minute, 2, 30 * minute, 30 * minute},
		{30 * minute, 3, 30 * minute, 90 * minute},
		{30 * minute, 6, 30 * minute, 31 * 30 * minute},
		{30 * minute, 7, 30 * minute, 24*time.Hour - 30*minute},
		{30 * minute, 60000, 30 * minute, 24*time.Hour - 30*minute},
		{30 * minute, 60000, 5 * minute, 24*time.Hour - 5*minute},
		{30 * minute, 60000, 24 * time.Hour, 0}, // slow already
		{30 * minute, 60000, 48 * time.Hour, 0}, // slower than the ceiling
		{2 * time.Hour, 60000, 2 * time.Hour, 22 * time.Hour},
		{time.Second, 60000, time.Second, 47 * time.Second},
	}
	for _, test := range tests {
		p := Pace{Interval: test.interval, Floor: time.Second}
		if got := p.backoff(test.failures, test.period); got != test.want {
			t.Errorf("interval %v, %d failures, period %v: backoff %v, want %v", test.interval, test.failures, test.period, got, test.want)
		}
	}
}

// Whatever has happened to a channel, its next poll is not in the past, not under
// the floor, not before its origin's word, and not later than the ceiling.
func TestPaceBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(1e9, 3600e9).Draw(t, "interval"))
		p := Pace{interval, time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "floor"))}
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		c := &Channel{
			Rate:     overlay.Rate{Polls: rapid.Uint32Range(1, 20).Draw(t, "polls"), Intervals: 1},
			Width:    1,
			Failures: rapid.Uint16Range(0, 40).Draw(t, "failures"),
		}
		w := Wait{Host: &Refusals{}, First: rapid.Bool().Draw(t, "first")}
		if rapid.Bool().Draw(t, "polled before") {
			c.LastPoll = now - rapid.Int64Range(0, int64(interval)).Draw(t, "ago")
		}
		if rapid.Bool().Draw(t, "asked to wait") {
			w.NotBefore = now + rapid.Int64Range(0, int64(LongestRest)).Draw(t, "wait")
		}
		due := p.Next(c, w, now)
		if w.First && c.LastPoll == 0 && due != now {
			t.Fatalf("first poll after %v", time.Duration(due-now))
		}
		if due < now || c.LastPoll != 0 && due < c.LastPoll+int64(p.Floor) || !w.First && due < w.NotBefore {
			t.Fatalf("due %d: now %d, last %d, floor %v, not before %d", due, now, c.LastPoll, p.Floor, w.NotBefore)
		}
		period := p.slots(c, w.Phase).Period()
		latest := max(now, w.NotBefore, c.LastPoll+int64(48*interval)) + int64(period) + int64(p.Floor)
		if due > latest {
			t.Fatalf("due %v after the latest", time.Duration(due-latest))
		}
	})
}

func TestNeverDue(t *testing.T) {
	p := Pace{time.Second, time.Second}
	if due := p.Next(&Channel{}, Wait{}, 1e18); due != Never {
		t.Errorf("rate 0 is due %d", due)
	}
	far := &Channel{Rate: overlay.Rate{Polls: 1, Intervals: 1 << 31}, Width: 1 << 15}
	if due := p.Next(far, Wait{Host: &Refusals{}}, 1e18); due != Never {
		t.Errorf("a slot beyond 2262 is due %d", due)
	}
}
