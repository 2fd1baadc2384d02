package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

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
		p := pace[site]{interval: test.interval, floor: time.Second}
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
		p := pace[site]{interval, time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "floor"))}
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		target := &Target[site]{
			host:     &Host[site]{},
			rate:     overlay.Rate{Polls: rapid.Uint32Range(1, 20).Draw(t, "polls"), Intervals: 1},
			width:    1,
			first:    rapid.Bool().Draw(t, "first"),
			failures: rapid.Uint16Range(0, 40).Draw(t, "failures"),
		}
		if rapid.Bool().Draw(t, "polled before") {
			target.lastPoll = now - rapid.Int64Range(0, int64(interval)).Draw(t, "ago")
		}
		if rapid.Bool().Draw(t, "asked to wait") {
			target.setRare(rare[site]{notBefore: now + rapid.Int64Range(0, int64(LongestRest)).Draw(t, "wait")})
		}
		due := p.next(target, now)
		if target.first && target.lastPoll == 0 && due != now {
			t.Fatalf("first poll after %v", time.Duration(due-now))
		}
		if due < now || target.lastPoll != 0 && due < target.lastPoll+int64(p.floor) || !target.first && due < target.NotBefore() {
			t.Fatalf("due %d: now %d, last %d, floor %v, not before %d", due, now, target.lastPoll, p.floor, target.NotBefore())
		}
		period := p.slots(target).Period()
		latest := max(now, target.NotBefore(), target.lastPoll+int64(48*interval)) + int64(period) + int64(p.floor)
		if due > latest {
			t.Fatalf("due %v after the latest", time.Duration(due-latest))
		}
	})
}

func TestNeverDue(t *testing.T) {
	p := pace[site]{time.Second, time.Second}
	if due := p.next(&Target[site]{}, 1e18); due != never {
		t.Errorf("rate 0 is due %d", due)
	}
	far := &Target[site]{host: &Host[site]{}, rate: overlay.Rate{Polls: 1, Intervals: 1 << 31}, width: 1 << 15}
	if due := p.next(far, 1e18); due != never {
		t.Errorf("a slot beyond 2262 is due %d", due)
	}
}

// A clock that was set makes neither everything due at once nor nothing for long.
func TestRealign(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		s := newRig(Config{Interval: 10 * time.Second, Floor: 2 * time.Second})
		now := int64(1e18)
		for i := range 100 {
			s.order(i, 1, now)
		}
		for range 100 {
			due, item, _ := s.due.min()
			item.lastPoll = due - int64(10*time.Second)
			s.due.remove(item)
			s.Plan(item, now)
		}
		now += int64(step)
		s.Realign(int64(step), now, s.all())
		if s.due.len() != 100 {
			t.Fatalf("%d channels are due", s.due.len())
		}
		s.Promote(true, now+int64(time.Second))
		if s.queued == 0 || s.queued > 30 {
			t.Errorf("step %v: %d of 100 channels are due within a tenth of an interval", step, s.queued)
		}
		s.Promote(true, now+int64(12*time.Second))
		if s.queued != 100 {
			t.Errorf("step %v: %d of 100 channels are due within an interval and a floor", step, s.queued)
		}
	}
}
