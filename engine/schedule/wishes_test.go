package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// A set leaves something, and what it leaves is found: the first such hour.
func TestSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewSkip(rapid.Uint32().Draw(t, "hours"), rapid.Uint8().Draw(t, "days"))
		at := rapid.Int64Range(0, 4e18).Draw(t, "at")
		next := m.next(at)
		if next < at || m.Excludes(next) || next > at && !m.Excludes(at) {
			t.Fatalf("%v after %d is %d", m, at, next)
		}
		for hour := at; hour < next; hour += int64(time.Hour) {
			if !m.Excludes(hour) {
				t.Fatalf("%v leaves %d, before %d", m, hour, next)
			}
		}
		if run := time.Duration(next - at); run > m.Longest() {
			t.Fatalf("%v excludes %v without a break, at most %v", m, run, m.Longest())
		}
	})
}

// Whatever an origin says, it is not asked before, nor when it does not want to be,
// nor later than a day and a slot; and slots of a rate that fits are not left out.
func TestPaceObeysWishes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(10e9, 3600e9).Draw(t, "interval"))
		p := pace[site]{interval, interval / 10}
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		until := rapid.SampledFrom([]int64{0, now + rapid.Int64Range(0, int64(LongestWait)).Draw(t, "fresh")}).Draw(t, "says")
		skip := Skip{}
		if rapid.Bool().Draw(t, "skips") {
			skip = NewSkip(rapid.Uint32().Draw(t, "hours"), rapid.Uint8().Draw(t, "days"))
		}
		target := &Target[site]{
			host: &Host[site]{}, width: 1, lastPoll: now - rapid.Int64Range(0, 1e9).Draw(t, "took"),
			rate: overlay.Rate{Polls: 1, Intervals: rapid.Uint32Range(1, 48).Draw(t, "k")},
		}
		copy(target.ID[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "id"))
		target.SetWishes(until, skip)
		due := p.next(target, now)
		if due < now || due < target.freshUntil || due < target.lastPoll+int64(p.floor) {
			t.Fatalf("due %d: now %d, fresh until %d, last %d", due, now, target.freshUntil, target.lastPoll)
		}
		clamped := skip.Longest() > LongestWait
		if skip.Excludes(due) && (!clamped || due < target.lastPoll+int64(LongestWait)) {
			t.Fatalf("due at %v, which %v excludes", time.Unix(0, due).UTC(), skip)
		}
		period := int64(p.slots(target).Period())
		if latest := max(now, target.freshUntil) + period + 2*int64(LongestWait); due > latest {
			t.Fatalf("due %v later than the latest", time.Duration(due-latest))
		}
		// Planned again before then it is the same, whenever that is.
		later := now + rapid.Int64Range(0, due-now).Draw(t, "later")
		if again := p.next(target, later); again != due {
			t.Fatalf("due %d, and planned %v later %d", due, time.Duration(later-now), again)
		}
	})
}

// Content that is fresh for as long as the period of its slots is asked at each,
// however late each poll begins, until that adds up.
func TestFreshForOnePeriod(t *testing.T) {
	p := pace[site]{halfHour, 5 * time.Minute}
	target := &Target[site]{host: &Host[site]{}, width: 1, rate: overlay.Rate{Polls: 1, Intervals: 2}}
	now := int64(1e18)
	for range 100 {
		due := p.next(target, now)
		if target.lastPoll != 0 && due-target.lastPoll > int64(61*time.Minute) {
			t.Fatalf("%v after the last poll", time.Duration(due-target.lastPoll))
		}
		target.lastPoll = due + 1e9
		now = target.lastPoll + 1e8
		target.SetWishes(now+int64(time.Hour), Skip{})
		if got := p.next(target, now); got < now+int64(time.Hour) {
			t.Fatalf("asked after %v", time.Duration(got-now))
		}
	}
}
