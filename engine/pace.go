package engine

import (
	"math/bits"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// pace decides when a channel is polled next: from its slots, the floor, its
// failures, its host's rest and its origin's own words. It is pure.
type pace struct {
	interval, floor time.Duration
}

// A channel that keeps failing is asked as often as one of the slowest rate, every
// [overlay.MostIntervals], but once a day at least.
const longestBackoff = 24 * time.Hour

// next returns when t is due, in nanoseconds since the epoch: at its next slot
// after now, when neither failures nor its host nor the origin's words hold it back
// longer; at once, floor permitting, when it has no content and was not asked yet,
// and its host has not refused anybody lately.
func (p pace) next(t *target, now int64) int64 {
	due, _, _ := p.plan(t, now)
	return due
}

// cause is what makes a channel leave slots out. Its text is part of the API.
type cause string

const (
	byNothing    cause = ""
	byFailures   cause = "failures"
	byRetryAfter cause = "retry-after"
	byHost       cause = "host"
	byFreshness  cause = "freshness"
	bySkip       cause = "skip"
)

// plan is next, and tells until when slots are left out, which may be over, and why.
func (p pace) plan(t *target, now int64) (due, until int64, why cause) {
	if t.rate.Polls == 0 {
		return never, 0, byNothing
	}
	if t.isFirst() && t.host.rest.count == 0 {
		if t.lastPoll == 0 {
			return now, 0, byNothing
		}
		notBefore := t.oddities().notBefore
		return max(now, t.lastPoll+int64(p.floor), notBefore), notBefore, byRetryAfter
	}
	slots := p.slots(t)
	var free int64
	if until, why = p.held(t, slots); why == byHost && until > now {
		due, free = p.heed(t, slots, max(p.turn(t, slots), t.lastPoll+int64(p.floor)))
	} else {
		due, free = p.slotted(t, slots, now, until)
		if t.hold > max(now, until) {
			until, why = t.hold, byFreshness
		}
	}
	if free > 0 {
		return due, free, bySkip
	}
	return due, until, why
}

// slotted returns when a target is asked that nothing but its slots and its origin's
// words keep waiting from a time on, and the first time that is not skipped; 0: that
// does not matter.
//
// It is the first slot since the last poll, though that be skipped and gone by now: its
// turn in the first free hour may be still to come. If it is not, it is the first slot
// from now on.
func (p pace) slotted(t *target, slots overlay.Slots, now, until int64) (due, free int64) {
	period := int64(slots.Period())
	// A slot that comes shortly before freshness ends is taken late, as under the floor:
	// else content that is fresh for just an interval would be asked for every other one.
	from := max(until, t.lastPoll, t.hold-period/slotLateness)
	due, free = p.heed(t, slots, p.slotAfter(t, slots, from))
	if missed := now - just(period); due <= missed {
		due, free = p.heed(t, slots, p.slotAfter(t, slots, missed))
	}
	return max(due, now), free
}

// heed returns when a target is asked that would be at a time, were it not for its
// origin's words, and the first time that is not skipped; 0: none is.
func (p pace) heed(t *target, slots overlay.Slots, at int64) (due, free int64) {
	if at == never {
		return never, 0
	}
	if due = max(at, t.hold); t.words == nil {
		return due, 0
	}
	if free = p.skip(t, due); free == due {
		return due, 0
	}
	spread, _ := bits.Mul64(slots.Phase, uint64(time.Hour))
	return min(free+int64(spread), p.slotAfter(t, slots, free-1)), free
}

// turn returns when a target that its host's rest has held up is asked: all that
// are come within an interval after it, by their phases, first those that follow
// the one that was refused. Were it their slots, the same ones would come first
// after each rest, and use up what such a host allows.
func (p pace) turn(t *target, slots overlay.Slots) int64 {
	after, _ := bits.Mul64(slots.Phase-t.host.rest.turn-1, uint64(p.interval))
	return t.host.rest.until + int64(after)
}

// slotLateness is the part of a period that a slot may be taken late for the sake
// of freshness: a thirty-second.
const slotLateness = 32

// held returns until when no slot is taken, which may be over, and why.
func (p pace) held(t *target, slots overlay.Slots) (until int64, why cause) {
	hold := func(at int64, by cause) {
		if at > until {
			until, why = at, by
		}
	}
	hold(t.host.rest.until, byHost)
	hold(t.oddities().notBefore, byRetryAfter)
	if t.failures > 1 {
		hold(t.lastPoll+int64(p.backoff(t.failures, slots.Period())), byFailures)
	}
	return until, why
}

// skip returns the first time, from due on, that the document does not exclude.
// Those who would wait for more than a day are asked after a day all the same. What
// comes due in an excluded hour is spread over the first one that is not.
func (p pace) skip(t *target, due int64) int64 {
	excluded := t.words.mask()
	if excluded.isZero() || !excluded.excludes(due) {
		return due
	}
	free := excluded.next(due)
	if excluded.longest() > longestWait && t.lastPoll != 0 {
		free = max(due, min(free, t.lastPoll+int64(longestWait)))
	}
	return free
}

// backoff returns how long after the last poll's own slot the next slot is not
// taken: after one failure it is, then 1, 3, 7, … are left out, up to the ceiling.
// Polls stay on their slots, so that channels that failed together do not come
// back together.
func (p pace) backoff(failures uint16, period time.Duration) time.Duration {
	ceiling := longestBackoff
	if p.interval < longestBackoff/overlay.MostIntervals {
		ceiling = overlay.MostIntervals * p.interval
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
