package engine

import (
	"math"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// pace decides when a channel is polled next: from its slots, the floor, its
// failures and its origin's own words. It is pure.
type pace struct {
	interval, floor time.Duration
}

const (
	// A channel that keeps failing is asked every 48 intervals, as often as one of
	// the slowest rate, but once a day at least.
	ceilingIntervals = 48
	longestBackoff   = 24 * time.Hour

	// longestRetryAfter caps what an origin can make us wait.
	longestRetryAfter = 24 * time.Hour
)

// next returns when t is due, in nanoseconds since the epoch: at its next slot
// after now, when neither failures nor the origin's words hold it back longer; at
// once, floor permitting, when it has no content and was not asked yet.
func (p pace) next(t *target, now int64) int64 {
	if t.rate.Polls == 0 {
		return never
	}
	if t.isFirst() {
		if t.lastPoll == 0 {
			return now
		}
		return max(now, t.lastPoll+int64(p.floor))
	}
	slots := p.slots(t)
	earliest := max(now, t.notBefore)
	if t.failures > 1 {
		earliest = max(earliest, t.lastPoll+int64(p.backoff(t.failures, slots.Period())))
	}
	due := slots.NextPoll(time.Unix(0, earliest), lastTime(t.lastPoll), p.floor)
	if due.IsZero() || due.Unix() >= math.MaxInt64/int64(time.Second) {
		return never
	}
	return due.UnixNano()
}

// backoff returns how long after the last poll's own slot the next slot is not
// taken: after one failure it is, then 1, 3, 7, … are left out, up to the ceiling.
// Polls stay on their slots, so that channels that failed together do not come
// back together.
func (p pace) backoff(failures uint16, period time.Duration) time.Duration {
	ceiling := longestBackoff
	if p.interval < longestBackoff/ceilingIntervals {
		ceiling = ceilingIntervals * p.interval
	}
	ceiling = max(ceiling, period)
	wait := period
	for range failures - 1 {
		if wait >= ceiling/2 {
			wait = ceiling
			break
		}
		wait *= 2
	}
	return wait - period
}

func (p pace) slots(t *target) overlay.Slots {
	return overlay.Slots{
		Interval: p.interval,
		Rate:     t.rate,
		Phase:    overlay.PhaseOf(t.id),
		Width:    int(t.width),
		Rank:     int(t.rank),
	}
}

func lastTime(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// retryAfter returns how long an origin asks to be left alone in the form of
// seconds (RFC 9110, section 10.2.3), from 0 to a day. Other forms are 0.
func retryAfter(field string) time.Duration {
	seconds, err := strconv.ParseUint(field, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
}

// stepClock notices when the wall clock is set, as opposed to passing: it is then
// no longer as far ahead of the time that the process has been running.
type stepClock struct {
	ahead int64 // nanoseconds
}

// smallestStep is what is not taken for a step: slewing and measuring.
const smallestStep = time.Second

// step returns by how much the wall clock was set since the last call, forwards
// or back; 0 when it only passed. running is from a clock that cannot be set.
func (c *stepClock) step(wall int64, running time.Duration) time.Duration {
	ahead := wall - int64(running)
	step := time.Duration(ahead - c.ahead)
	c.ahead = ahead
	if step.Abs() < smallestStep {
		return 0
	}
	return step
}
