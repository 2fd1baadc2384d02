package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// What other nodes may have done until a time counts as polls of this one: a slot within a
// floor of it comes a floor late, those after it in time, and where this node has polled
// since nothing is delayed.
func TestAfterOthers(t *testing.T) {
	const minute = int64(time.Minute)
	start := int64(1_800_000_000) * int64(time.Second) / (30 * minute) * (30 * minute) // a slot
	p := Pace{Interval: halfHour, Floor: 5 * time.Minute}
	for _, test := range []struct {
		what                        string
		rate                        uint32
		first                       bool
		others, lastPoll, now, want int64 // after start
	}{
		{"a slot after the floor", 1, false, 20 * minute, 0, 20 * minute, 30 * minute},
		{"a slot within it", 1, false, 28 * minute, 0, 28 * minute, 35 * minute},
		{"planned again while that is to come", 1, false, 28 * minute, 0, 33 * minute, 35 * minute},
		{"planned again when that is over", 1, false, 28 * minute, 0, 36 * minute, 60 * minute},
		{"the highest rate: the next slot", 6, false, 28 * minute, 0, 28 * minute, 35 * minute},
		{"polled since", 1, false, 28 * minute, 29 * minute, 29 * minute, 34 * minute},
		{"polled before", 1, false, 28 * minute, 2 * minute, 28 * minute, 35 * minute},
		{"a first poll", 1, true, 7 * minute, 0, 7 * minute, 12 * minute},
		{"a first poll that failed before", 1, true, 7 * minute, 6 * minute, 7 * minute, 12 * minute},
		{"a first poll, polled since", 1, true, 7 * minute, 8 * minute, 8 * minute, 13 * minute},
	} {
		c := &Channel{Rate: overlay.Rate{Polls: test.rate, Intervals: 1}, Width: 1}
		if test.lastPoll != 0 {
			c.LastPoll = start + test.lastPoll
		}
		due := p.Next(c, Wait{First: test.first, Others: start + test.others, Host: &Refusals{}}, start+test.now)
		if due != start+test.want {
			t.Errorf("%s: due after %v, want %v", test.what, time.Duration(due-start), time.Duration(test.want))
		}
	}
}

// Whatever the rate and the phase: no poll within a floor of what others may have done, and
// none more than a floor later than it would have come without them.
func TestAfterOthersBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pace{Interval: halfHour, Floor: time.Duration(rapid.Int64Range(int64(time.Second), int64(halfHour)).Draw(t, "floor"))}
		most := uint32(p.Interval / p.Floor)
		others := rapid.Int64Range(1e18, 2e18).Draw(t, "others")
		now := others - int64(time.Second) + rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "after")
		c := &Channel{Rate: overlay.Rate{Polls: rapid.Uint32Range(1, most).Draw(t, "polls"), Intervals: 1}, Width: 1}
		w := Wait{Phase: rapid.Uint64().Draw(t, "phase"), Others: others, Host: &Refusals{}}
		due := p.Next(c, w, now)
		if due < max(now, others+int64(p.Floor)) {
			t.Fatalf("due %v after what others may have done, floor %v", time.Duration(due-others), p.Floor)
		}
		w.Others = 0
		justAfter := others + 1 + driftError(int64(p.slots(c, w.Phase).Period())) // a slot that has just passed counts as one of now
		if late := due - p.Next(c, w, max(now, justAfter)); late > int64(p.Floor) {
			t.Fatalf("%v later than without others, floor %v", time.Duration(late), p.Floor)
		}
	})
}
