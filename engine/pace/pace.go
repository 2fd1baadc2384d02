// Package pace computes when a channel may be polled: from its numbered slots, the
// floor, the exponential back-off of its failures (pace.go), the part of a period that
// had passed when its rate changed (drift.go), its host's exponential back-off after
// refusals (refusals.go), and its origin's wishes (skip.go). It is pure: values and the
// time in, times out. Package schedule keeps the values and acts on the times.
package pace

import (
	"math"
	"math/bits"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// Pace computes when a channel is polled next.
type Pace struct {
	Interval time.Duration // τ, that rates refer to
	Floor    time.Duration // shortest time between two polls of a channel
}

// Channel is what a pace must keep of a channel. Times are nanoseconds since 1970.
type Channel struct {
	Rate       overlay.Rate // no polls: never due
	LastPoll   int64        // when the last poll's request left; 0: never
	FreshUntil int64        // the origin said that what it showed is fresh until then; 0: it did not say

	Width, Rank uint16 // it is one poller of so many, and its number
	Drift       uint16 // behind its slots, in parts of driftWhole of its period
	Failures    uint16 // of the origin, in a row
}

// Wait is what else a channel's next poll depends on.
type Wait struct {
	Phase     uint64    // [overlay.PhaseOf] its ID
	First     bool      // its first poll is still to come, and rates do not plan that
	NotBefore int64     // the origin asked not to be asked for it before; 0: it did not
	Others    int64     // until when other nodes may have asked for it; 0: none has
	Skip      Skip      // hours that the origin leaves out
	Host      *Refusals // of its host; only read
}

// Never is later than any due time.
const Never = math.MaxInt64

const (
	// LongestWait caps each of an origin's wishes: a channel is asked once a day at
	// least.
	LongestWait = 24 * time.Hour

	// A channel that keeps failing is asked as often as at the slowest rate, every
	// [overlay.MostIntervals], but once a day at least.
	longestBackoff = 24 * time.Hour

	// lateSlot is the part of a period that a slot may be taken late for the sake of
	// freshness: a thirty-second.
	lateSlot = 32
)

// Cause is what makes a channel leave slots out. Its text is part of the API.
type Cause string

const (
	ByNothing    Cause = ""
	ByFailures   Cause = "failures"
	ByRetryAfter Cause = "retry-after"
	ByHost       Cause = "host"
	ByFreshness  Cause = "freshness"
	BySkip       Cause = "skip"
)

// Next returns when a channel is due, in nanoseconds since 1970: at its next slot after now,
// when neither failures nor its host nor the origin's wishes make it wait longer; at
// once, floor permitting, when its first poll is still to come, and its host has not
// refused any channel lately.
func (p Pace) Next(c *Channel, w Wait, now int64) int64 {
	due, _, _ := p.Explain(c, w, now)
	return due
}

// Explain is Next, and tells until when slots are left out, which may be over, and why.
func (p Pace) Explain(c *Channel, w Wait, now int64) (due, until int64, why Cause) {
	if c.Rate.Polls == 0 {
		return Never, 0, ByNothing
	}
	if w.First && w.Host.Count == 0 {
		if c.LastPoll == 0 {
			return max(now, p.othersEnd(c, w)), 0, ByNothing
		}
		return max(now, c.LastPoll+int64(p.Floor), w.NotBefore, p.othersEnd(c, w)), w.NotBefore, ByRetryAfter
	}
	slots := p.slots(c, w.Phase)
	var free int64
	if until, why = p.waitsUntil(c, w, slots); why == ByHost && until > now {
		due, free = p.afterWishes(c, w, slots, max(p.turnAfterRest(w, slots), c.LastPoll+int64(p.Floor), p.othersEnd(c, w)))
	} else {
		due, free = p.nextFree(c, w, slots, now, until)
		if c.FreshUntil > max(now, until) {
			until, why = c.FreshUntil, ByFreshness
		}
	}
	if free > 0 {
		return due, free, BySkip
	}
	return due, until, why
}

// waitsUntil returns until when no slot is taken, which may be over, and why.
func (p Pace) waitsUntil(c *Channel, w Wait, slots overlay.Slots) (until int64, why Cause) {
	latest := func(at int64, by Cause) {
		if at > until {
			until, why = at, by
		}
	}
	latest(w.Host.Until, ByHost)
	latest(w.NotBefore, ByRetryAfter)
	if c.Failures > 1 {
		latest(c.LastPoll+int64(p.backoff(c.Failures, slots.Period())), ByFailures)
	}
	return until, why
}

// nextFree returns when a target is asked that from until on waits only for its slots
// and its origin's wishes, and the first time that is not skipped; 0: nothing is
// skipped.
//
// It is the first slot since the last poll, even if that slot is past and was skipped: its
// turn in the first free hour may be still to come. Otherwise it is the first slot from
// now on.
func (p Pace) nextFree(c *Channel, w Wait, slots overlay.Slots, now, until int64) (due, free int64) {
	period := int64(slots.Period())
	// A slot that comes shortly before freshness ends is taken late, as under the floor:
	// else content that is fresh for just an interval would be asked for every other one.
	from, missed := max(until, c.LastPoll, c.FreshUntil-period/lateSlot), now-driftError(period)
	if first := p.firstAfterOthers(c, w, slots); first > max(from, missed) {
		due, free = p.afterWishes(c, w, slots, first)
		return max(due, now), free
	}
	due, free = p.afterWishes(c, w, slots, p.slotAfter(c, slots, from))
	if due <= missed {
		due, free = p.afterWishes(c, w, slots, p.slotAfter(c, slots, missed))
	}
	return max(due, now), free
}

// firstAfterOthers returns the first slot of a channel that other nodes may have polled,
// 0 where none can have since its last poll. One that comes within a floor of what they may
// have done is taken a floor late, which is no later than the next one: so channels stay as
// far apart as they were, and none waits for another period.
func (p Pace) firstAfterOthers(c *Channel, w Wait, slots overlay.Slots) int64 {
	end := p.othersEnd(c, w)
	if end == 0 {
		return 0
	}
	slot := p.slotAfter(c, slots, w.Others)
	if slot < end {
		slot += int64(p.Floor)
	}
	return slot
}

// othersEnd returns the first time that the floor allows after the polls of other nodes;
// 0: any.
func (p Pace) othersEnd(c *Channel, w Wait) int64 {
	if w.Others <= c.LastPoll {
		return 0
	}
	return w.Others + int64(p.Floor)
}

// afterWishes returns when a target that is due at a time is asked under its origin's
// wishes, and the first time that is not skipped; 0: nothing is skipped.
func (p Pace) afterWishes(c *Channel, w Wait, slots overlay.Slots, at int64) (due, free int64) {
	if at == Never {
		return Never, 0
	}
	due = max(at, c.FreshUntil)
	skip := w.Skip
	if skip == (Skip{}) || !skip.Excludes(due) {
		return due, 0
	}
	// What comes due in an excluded hour is spread over the first one that is not.
	// A target that would wait for more than a day is asked after a day all the same.
	free = skip.next(due)
	if skip.Longest() > LongestWait && c.LastPoll != 0 {
		free = max(due, min(free, c.LastPoll+int64(LongestWait)))
	}
	if free == due {
		return due, 0
	}
	spread, _ := bits.Mul64(slots.Phase, uint64(time.Hour))
	return min(free+int64(spread), p.slotAfter(c, slots, free-1)), free
}

// turnAfterRest returns when a target that its host's rest has delayed is asked. All of
// these come within an interval after the rest, in the order of their phases, beginning
// behind the channel that was refused. On their slots the same ones would come first
// after each rest, and use up what such a host allows.
func (p Pace) turnAfterRest(w Wait, slots overlay.Slots) int64 {
	after, _ := bits.Mul64(slots.Phase-w.Host.Turn-1, uint64(p.Interval))
	return w.Host.Until + int64(after)
}

// backoff returns for how long after the last poll's slot no slot is taken: none is left
// out after one failure, then 1, 3, 7, …, up to the ceiling.
// Polls stay on their slots, so that channels that failed together do not come
// back together.
func (p Pace) backoff(failures uint16, period time.Duration) time.Duration {
	ceiling := longestBackoff
	if p.Interval < longestBackoff/overlay.MostIntervals {
		ceiling = overlay.MostIntervals * p.Interval
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

func (p Pace) slots(c *Channel, phase uint64) overlay.Slots {
	return overlay.Slots{
		Interval: p.Interval,
		Rate:     c.Rate,
		Phase:    phase,
		Width:    int(c.Width),
		Rank:     int(c.Rank),
	}
}

// floorEnd returns the first time that the floor allows; 0: any.
func (p Pace) floorEnd(c *Channel) int64 {
	if c.LastPoll == 0 {
		return 0
	}
	return c.LastPoll + int64(p.Floor)
}

// timeOf returns nanoseconds since 1970 as a time; 0 is the zero time.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
