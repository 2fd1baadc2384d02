package pace

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
		p := Pace{interval, interval / 10}
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		until := rapid.SampledFrom([]int64{0, now + rapid.Int64Range(0, int64(LongestWait)).Draw(t, "fresh")}).Draw(t, "says")
		skip := Skip{}
		if rapid.Bool().Draw(t, "skips") {
			skip = NewSkip(rapid.Uint32().Draw(t, "hours"), rapid.Uint8().Draw(t, "days"))
		}
		c := &Channel{
			Width: 1, LastPoll: now - rapid.Int64Range(0, 1e9).Draw(t, "took"), FreshUntil: until,
			Rate: overlay.Rate{Polls: 1, Intervals: rapid.Uint32Range(1, 48).Draw(t, "k")},
		}
		w := Wait{Host: &Refusals{}, Phase: rapid.Uint64().Draw(t, "phase"), Skip: skip}
		due := p.Next(c, w, now)
		if due < now || due < c.FreshUntil || due < c.LastPoll+int64(p.Floor) {
			t.Fatalf("due %d: now %d, fresh until %d, last %d", due, now, c.FreshUntil, c.LastPoll)
		}
		clamped := skip.Longest() > LongestWait
		if skip.Excludes(due) && (!clamped || due < c.LastPoll+int64(LongestWait)) {
			t.Fatalf("due at %v, which %v excludes", time.Unix(0, due).UTC(), skip)
		}
		period := int64(p.slots(c, w.Phase).Period())
		if latest := max(now, c.FreshUntil) + period + 2*int64(LongestWait); due > latest {
			t.Fatalf("due %v later than the latest", time.Duration(due-latest))
		}
		// Planned again before then it is the same, whenever that is.
		later := now + rapid.Int64Range(0, due-now).Draw(t, "later")
		if again := p.Next(c, w, later); again != due {
			t.Fatalf("due %d, and planned %v later %d", due, time.Duration(later-now), again)
		}
	})
}

// Content that is fresh for as long as the period of its slots is asked at each,
// however late each poll begins, until that adds up.
func TestFreshForOnePeriod(t *testing.T) {
	p := Pace{halfHour, 5 * time.Minute}
	c, w := &Channel{Width: 1, Rate: overlay.Rate{Polls: 1, Intervals: 2}}, Wait{Host: &Refusals{}}
	now := int64(1e18)
	for range 100 {
		due := p.Next(c, w, now)
		if c.LastPoll != 0 && due-c.LastPoll > int64(61*time.Minute) {
			t.Fatalf("%v after the last poll", time.Duration(due-c.LastPoll))
		}
		c.LastPoll = due + 1e9
		now = c.LastPoll + 1e8
		c.FreshUntil = now + int64(time.Hour)
		if got := p.Next(c, w, now); got < now+int64(time.Hour) {
			t.Fatalf("asked after %v", time.Duration(got-now))
		}
	}
}
