package pace

import (
	"math"
	"math/bits"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// A channel whose rate changes keeps the elapsed fraction of its period: what is left
// of its wait is stretched or shortened as the period is. As many polls come in each
// second as the new rate says, and none waits longer than the longer period. Going to
// the next slot of the new rate instead would have some wait for the rest of one period
// and the whole of the next, and the slots of a rate that changes each second would run
// away before it.
//
// The channel is behind its slots from then on, by its drift, in parts of driftWhole of
// its period. A channel that several pollers share stays on its slots, so that its polls
// come evenly.
const driftWhole = 1 << 16

// SetRate gives a channel the slots of another rate, of which it is one of width
// pollers.
func (p Pace) SetRate(c *Channel, phase uint64, rate overlay.Rate, width, rank uint16, now int64) {
	before, next := p.slots(c, phase), p.slotFrom(c, p.slots(c, phase), now)
	c.Rate, c.Width, c.Rank = rate, width, rank
	after := p.slots(c, phase)
	if after == before {
		return
	}
	c.Drift = 0
	if period := int64(after.Period()); next != Never && period > 0 && width <= 1 {
		left := scale(next-now, period, int64(before.Period()))
		left = min(left, period-driftError(period)) // else there were a slot just now
		p.setDrift(c, after, now, max(left, p.floorEnd(c)+driftError(period)-now))
	}
}

// setDrift has a slot of a channel come so much after a time, a period more or less.
// The drift is 1 at least, even where that is a slot of the channel's own: then a slot that
// has just passed does not count as missed.
func (p Pace) setDrift(c *Channel, slots overlay.Slots, after, wait int64) {
	c.Drift = 0
	period, slot := int64(slots.Period()), nextSlot(c, slots, after)
	if slot == Never {
		return
	}
	behind := (after + wait - slot) % period
	if behind < 0 {
		behind += period
	}
	c.Drift = uint16(max(1, scale(behind, driftWhole, period)))
}

// KeepFloor moves the slots of a channel that has drifted, and was just polled late, so
// that the next one is not left out.
func (p Pace) KeepFloor(c *Channel, phase uint64) {
	if c.Drift == 0 {
		return
	}
	if slots := p.slots(c, phase); nextSlot(c, slots, c.LastPoll) < p.floorEnd(c) {
		p.setDrift(c, slots, c.LastPoll, int64(p.Floor)+driftError(int64(slots.Period())))
	}
}

// slotAfter returns the first slot after a time that the floor allows. A channel that
// has drifted takes no slot late: the one before may never have been due.
func (p Pace) slotAfter(c *Channel, slots overlay.Slots, after int64) int64 {
	if c.Drift != 0 {
		return p.slotFrom(c, slots, after)
	}
	return nanosOf(slots.NextEven(time.Unix(0, after), timeOf(c.LastPoll), p.Floor), 0)
}

// slotFrom returns the first slot after a time, of a channel that has drifted the first
// that the floor allows.
func (p Pace) slotFrom(c *Channel, slots overlay.Slots, after int64) int64 {
	if c.Drift != 0 {
		after = max(after, p.floorEnd(c)-1)
	}
	return nextSlot(c, slots, after)
}

// nextSlot returns the first slot after a time, whatever the floor says.
func nextSlot(c *Channel, slots overlay.Slots, after int64) int64 {
	behind := scale(int64(slots.Period()), int64(c.Drift), driftWhole)
	_, due := slots.Next(time.Unix(0, after-behind))
	return nanosOf(due, behind)
}

// driftError returns how long ago a slot may have been without counting as missed: the
// resolution of drift.
func driftError(period int64) int64 { return 2 * (period/driftWhole + 1) }

// nanosOf returns what is so much behind a slot in nanoseconds since 1970, [Never] where
// there is none.
func nanosOf(slot time.Time, behind int64) int64 {
	if slot.IsZero() || slot.Unix() >= (math.MaxInt64-behind)/int64(time.Second) {
		return Never
	}
	return slot.UnixNano() + behind
}

// scale returns ⌊n·by/of⌋, which is to be no more than an int64 holds; none is negative.
func scale(n, by, of int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(by))
	quotient, _ := bits.Div64(high, low, uint64(of))
	return int64(quotient)
}
