package engine

import (
	"math"
	"math/bits"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// Slots of two rates have nothing to do with each other. Were everybody to go to the
// next slot of another rate, some would wait for the rest of one period and the whole of
// the next, and a rate that changes each second would have its slots run away before it.
// So a channel whose rate changes keeps how much of its period is over: what is left is
// stretched or shortened as the period is. As many come in each second as the new rate
// says, and nobody waits for longer than the longer period.
//
// It is behind its slots from then on, by its drift, in parts of driftWhole of its
// period. That is nobody's business where it has one poller. Those who take turns are on
// slots, or they would not come evenly.
const driftWhole = 1 << 16

// repace gives a target the slots of another pace.
func (p pace) repace(t *target, rate overlay.Rate, width, rank uint16, now int64) {
	before, next := p.slots(t), p.slotFrom(t, now)
	t.rate, t.width, t.rank = rate, width, rank
	after := p.slots(t)
	if after == before {
		return
	}
	t.drift = 0
	if period := int64(after.Period()); next != never && period > 0 && width <= 1 {
		left := scale(next-now, period, int64(before.Period()))
		left = min(left, period-just(period)) // else there were a slot just now
		p.setDrift(t, now, max(left, p.spared(t)+just(period)-now))
	}
}

// spared returns the first time that the floor allows; 0: any.
func (p pace) spared(t *target) int64 {
	if t.lastPoll == 0 {
		return 0
	}
	return t.lastPoll + int64(p.floor)
}

// slotFrom returns the first slot after a time that a target would take of itself.
func (p pace) slotFrom(t *target, after int64) int64 {
	if t.drift != 0 {
		after = max(after, p.spared(t)-1)
	}
	return p.nextSlot(t, after)
}

// just returns how long ago a slot may have been that is not missed yet: drift is no
// more exact.
func just(period int64) int64 { return 2 * (period/driftWhole + 1) }

// setDrift has a slot of a target come so much after a time, a period more or less.
// Even where that is a slot of its own the target has drifted: one that has just
// passed is none that it missed.
func (p pace) setDrift(t *target, after, wait int64) {
	t.drift = 0
	period, slot := int64(p.slots(t).Period()), p.nextSlot(t, after)
	if slot == never {
		return
	}
	behind := (after + wait - slot) % period
	if behind < 0 {
		behind += period
	}
	t.drift = uint16(max(1, scale(behind, driftWhole, period)))
}

// keepFloor moves the slots of a target that has drifted, and was just polled late, so
// that the next one is not left out.
func (p pace) keepFloor(t *target) {
	if t.drift != 0 && p.nextSlot(t, t.lastPoll) < p.spared(t) {
		p.setDrift(t, t.lastPoll, int64(p.floor)+just(int64(p.slots(t).Period())))
	}
}

// nextSlot returns the first slot after a time, whatever the floor says.
func (p pace) nextSlot(t *target, after int64) int64 {
	slots := p.slots(t)
	behind := scale(int64(slots.Period()), int64(t.drift), driftWhole)
	_, due := slots.Next(time.Unix(0, after-behind))
	return nanosOf(due, behind)
}

// slotAfter returns the first slot after a time that the floor allows. Of who has
// drifted none is taken late: the one before may be none that ever was.
func (p pace) slotAfter(t *target, slots overlay.Slots, after int64) int64 {
	if t.drift != 0 {
		return p.slotFrom(t, after)
	}
	return nanosOf(slots.NextPoll(time.Unix(0, after), lastTime(t.lastPoll), p.floor), 0)
}

// nanosOf returns what is so much behind a slot in nanoseconds since the epoch, never
// where there is none.
func nanosOf(slot time.Time, behind int64) int64 {
	if slot.IsZero() || slot.Unix() >= (math.MaxInt64-behind)/int64(time.Second) {
		return never
	}
	return slot.UnixNano() + behind
}

// scale returns ⌊n·by/of⌋, which is to be no more than an int64 holds; none is negative.
func scale(n, by, of int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(by))
	quotient, _ := bits.Div64(high, low, uint64(of))
	return int64(quotient)
}
