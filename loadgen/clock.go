package loadgen

import (
	"math"
	"time"
)

// clock turns the world's time into a schedule's, which runs speedup times as
// fast, by hours of the day where there are some, and is 0 at start.
type clock struct {
	start   time.Time
	speedup float64
	daily   *daily // nil: evenly
}

// at returns the schedule's time at an instant; 0 for those before the start.
func (c clock) at(now time.Time) time.Duration {
	return c.scaled(max(now.Sub(c.start), 0))
}

// scheduleEnd is where a schedule's time stops: 146 years on, half of what fits,
// so that a phase can be added.
const scheduleEnd = 1 << 62

func (c clock) scaled(elapsed time.Duration) time.Duration {
	return c.daily.bend(time.Duration(min(float64(elapsed)*c.speedup, scheduleEnd)))
}

// when returns the first instant at which the schedule's time is at or after t,
// which is after the start: the inverse of at, to the nanosecond.
func (c clock) when(t time.Duration) time.Time {
	elapsed := time.Duration(math.Ceil(float64(c.daily.straight(t)) / c.speedup))
	for c.scaled(elapsed) < t {
		elapsed++
	}
	for elapsed > 0 && c.scaled(elapsed-1) >= t {
		elapsed--
	}
	return c.start.Add(elapsed)
}
