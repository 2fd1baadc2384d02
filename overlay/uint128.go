package overlay

import (
	"math"
	"math/bits"
	"time"
)

// uint128 is an unsigned integer wide enough for nanoseconds times polls.
// Additions and products that appear in this package cannot overflow it: times
// stay under 2^93 ns and polls under 2^32.
type uint128 struct{ hi, lo uint64 }

func mul64(a, b uint64) uint128 {
	hi, lo := bits.Mul64(a, b)
	return uint128{hi, lo}
}

func (x uint128) add(y uint64) uint128 {
	lo, carry := bits.Add64(x.lo, y, 0)
	return uint128{x.hi + carry, lo}
}

// subFloor returns x − y, at least 0.
func (x uint128) subFloor(y uint64) uint128 {
	if x.hi == 0 && x.lo < y {
		return uint128{}
	}
	lo, borrow := bits.Sub64(x.lo, y, 0)
	return uint128{x.hi - borrow, lo}
}

func (x uint128) mul(y uint64) uint128 {
	hi, lo := bits.Mul64(x.lo, y)
	return uint128{hi + x.hi*y, lo}
}

func (x uint128) divMod(y uint64) (quotient uint128, rest uint64) {
	quotient.lo, rest = bits.Div64(x.hi%y, x.lo, y)
	quotient.hi = x.hi / y
	return quotient, rest
}

// div returns ⌊x/y⌋.
func (x uint128) div(y uint64) uint128 {
	quotient, _ := x.divMod(y)
	return quotient
}

// divCeil returns ⌈x/y⌉.
func (x uint128) divCeil(y uint64) uint128 {
	quotient, rest := x.divMod(y)
	if rest > 0 {
		return quotient.add(1)
	}
	return quotient
}

// uint63 returns x when an int64 holds it.
func (x uint128) uint63() (int64, bool) {
	if x.hi != 0 || x.lo > math.MaxInt64 {
		return 0, false
	}
	return int64(x.lo), true
}

const nanosPerSecond = 1_000_000_000

// nanos returns the nanoseconds since the epoch of a time not before it:
// time.Time's own count ends in 2262.
func nanos(t time.Time) uint128 {
	return mul64(uint64(t.Unix()), nanosPerSecond).add(uint64(t.Nanosecond()))
}

// lastSecond is as late as a time.Time goes while it can still be added to.
const lastSecond = 1 << 62

// timeAt is the inverse of nanos, ending at lastSecond.
func timeAt(sinceEpoch uint128) time.Time {
	quotient, rest := sinceEpoch.divMod(nanosPerSecond)
	seconds, ok := quotient.uint63()
	if !ok || seconds > lastSecond {
		return time.Unix(lastSecond, 0).UTC()
	}
	return time.Unix(seconds, int64(rest)).UTC()
}
