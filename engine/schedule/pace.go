package schedule

import (
	"math/bits"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// pace computes when a channel is polled next: from its slots, the floor, the
// exponential back-off of its failures, its host's rest and its origin's wishes.
type pace[C any] struct {
	interval, floor time.Duration
}

const (
	// LongestWait caps each of an origin's wishes: a channel is asked once a day.
	LongestWait = 24 * time.Hour

	// A channel that keeps failing is asked as often as one of the slowest rate, every
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

// next returns when t is due, in nanoseconds since 1970: at its next slot after now,
// when neither failures nor its host nor the origin's wishes make it wait longer; at
// once, floor permitting, when its first poll is still to come, and its host has not
// refused any channel lately.
func (p pace[C]) next(t *Target[C], now int64) int64 {
	due, _, _ := p.explain(t, now)
	return due
}

// explain is next, and tells until when slots are left out, which may be over, and why.
func (p pace[C]) explain(t *Target[C], now int64) (due, until int64, why Cause) {
	if t.rate.Polls == 0 {
		return never, 0, ByNothing
	}
	if t.first && t.host.rest.Count == 0 {
		if t.lastPoll == 0 {
			return now, 0, ByNothing
		}
		notBefore := t.rareOf().notBefore
		return max(now, t.lastPoll+int64(p.floor), notBefore), notBefore, ByRetryAfter
	}
	slots := p.slots(t)
	var free int64
	if until, why = p.waitsUntil(t, slots); why == ByHost && until > now {
		due, free = p.afterWishes(t, slots, max(p.turnAfterRest(t, slots), t.lastPoll+int64(p.floor)))
	} else {
		due, free = p.nextFree(t, slots, now, until)
		if t.freshUntil > max(now, until) {
			until, why = t.freshUntil, ByFreshness
		}
	}
	if free > 0 {
		return due, free, BySkip
	}
	return due, until, why
}

// waitsUntil returns until when no slot is taken, which may be over, and why.
func (p pace[C]) waitsUntil(t *Target[C], slots overlay.Slots) (until int64, why Cause) {
	latest := func(at int64, by Cause) {
		if at > until {
			until, why = at, by
		}
	}
	latest(t.host.rest.Until, ByHost)
	latest(t.rareOf().notBefore, ByRetryAfter)
	if t.failures > 1 {
		latest(t.lastPoll+int64(p.backoff(t.failures, slots.Period())), ByFailures)
	}
	return until, why
}

// nextFree returns when a target is asked that waits for nothing but its slots and its
// origin's wishes from a time on, and the first time that is not skipped; 0: that does
// not matter.
//
// It is the first slot since the last poll, though that be skipped and over by now: its
// turn in the first free hour may be still to come. If it is not, it is the first slot
// from now on.
func (p pace[C]) nextFree(t *Target[C], slots overlay.Slots, now, until int64) (due, free int64) {
	period := int64(slots.Period())
	// A slot that comes shortly before freshness ends is taken late, as under the floor:
	// else content that is fresh for just an interval would be asked for every other one.
	from := max(until, t.lastPoll, t.freshUntil-period/lateSlot)
	due, free = p.afterWishes(t, slots, p.slotAfter(t, slots, from))
	if missed := now - driftError(period); due <= missed {
		due, free = p.afterWishes(t, slots, p.slotAfter(t, slots, missed))
	}
	return max(due, now), free
}

// afterWishes returns when a target is asked that would be at a time, were it not for
// its origin's wishes, and the first time that is not skipped; 0: none is.
func (p pace[C]) afterWishes(t *Target[C], slots overlay.Slots, at int64) (due, free int64) {
	if at == never {
		return never, 0
	}
	due = max(at, t.freshUntil)
	skip := t.rareOf().skip
	if skip == (Skip{}) || !skip.Excludes(due) {
		return due, 0
	}
	// What comes due in an excluded hour is spread over the first one that is not.
	// A target that would wait for more than a day is asked after a day all the same.
	free = skip.next(due)
	if skip.Longest() > LongestWait && t.lastPoll != 0 {
		free = max(due, min(free, t.lastPoll+int64(LongestWait)))
	}
	if free == due {
		return due, 0
	}
	spread, _ := bits.Mul64(slots.Phase, uint64(time.Hour))
	return min(free+int64(spread), p.slotAfter(t, slots, free-1)), free
}

// turnAfterRest returns when a target that its host's rest has delayed is asked: all
// that are come within an interval after it, by their phases, first those that follow
// the one that was refused. Were it their slots, the same ones would come first
// after each rest, and use up what such a host allows.
func (p pace[C]) turnAfterRest(t *Target[C], slots overlay.Slots) int64 {
	after, _ := bits.Mul64(slots.Phase-t.host.rest.Turn-1, uint64(p.interval))
	return t.host.rest.Until + int64(after)
}

// backoff returns how long after the last poll's own slot the next slot is not
// taken: after one failure it is, then 1, 3, 7, … are left out, up to the ceiling.
// Polls stay on their slots, so that channels that failed together do not come
// back together.
func (p pace[C]) backoff(failures uint16, period time.Duration) time.Duration {
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

func (p pace[C]) slots(t *Target[C]) overlay.Slots {
	return overlay.Slots{
		Interval: p.interval,
		Rate:     t.rate,
		Phase:    overlay.PhaseOf(t.ID),
		Width:    int(t.width),
		Rank:     int(t.rank),
	}
}

// floorEnd returns the first time that the floor allows; 0: any.
func (p pace[C]) floorEnd(t *Target[C]) int64 {
	if t.lastPoll == 0 {
		return 0
	}
	return t.lastPoll + int64(p.floor)
}

// timeOf returns nanoseconds since 1970 as a time; 0 is the zero time.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
