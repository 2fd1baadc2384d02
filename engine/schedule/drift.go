package schedule

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
// its period. A channel that several pollers share stays on slots: its polls would not
// come evenly else.
const driftWhole = 1 << 16

// setRate gives a target the slots of another rate.
func (p pace[C]) setRate(t *Target[C], rate overlay.Rate, width, rank uint16, now int64) {
	before, next := p.slots(t), p.slotFrom(t, now)
	t.rate, t.width, t.rank = rate, width, rank
	after := p.slots(t)
	if after == before {
		return
	}
	t.drift = 0
	if period := int64(after.Period()); next != never && period > 0 && width <= 1 {
		left := scale(next-now, period, int64(before.Period()))
		left = min(left, period-driftError(period)) // else there were a slot just now
		p.setDrift(t, now, max(left, p.floorEnd(t)+driftError(period)-now))
	}
}

// setDrift has a slot of a target come so much after a time, a period more or less.
// Even where that is a slot of its own the target has drifted: a slot that has just
// passed is none that it missed.
func (p pace[C]) setDrift(t *Target[C], after, wait int64) {
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
func (p pace[C]) keepFloor(t *Target[C]) {
	if t.drift != 0 && p.nextSlot(t, t.lastPoll) < p.floorEnd(t) {
		p.setDrift(t, t.lastPoll, int64(p.floor)+driftError(int64(p.slots(t).Period())))
	}
}

// slotAfter returns the first slot after a time that the floor allows. A target that
// has drifted takes none late: the one before may be none that ever was.
func (p pace[C]) slotAfter(t *Target[C], slots overlay.Slots, after int64) int64 {
	if t.drift != 0 {
		return p.slotFrom(t, after)
	}
	return nanosOf(slots.NextPoll(time.Unix(0, after), timeOf(t.lastPoll), p.floor), 0)
}

// slotFrom returns the first slot after a time that a target would take of itself.
func (p pace[C]) slotFrom(t *Target[C], after int64) int64 {
	if t.drift != 0 {
		after = max(after, p.floorEnd(t)-1)
	}
	return p.nextSlot(t, after)
}

// nextSlot returns the first slot after a time, whatever the floor says.
func (p pace[C]) nextSlot(t *Target[C], after int64) int64 {
	slots := p.slots(t)
	behind := scale(int64(slots.Period()), int64(t.drift), driftWhole)
	_, due := slots.Next(time.Unix(0, after-behind))
	return nanosOf(due, behind)
}

// driftError returns how long ago a slot may have been that is not missed yet: drift
// is no more exact.
func driftError(period int64) int64 { return 2 * (period/driftWhole + 1) }

// nanosOf returns what is so much behind a slot in nanoseconds since 1970, never where
// there is none.
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
