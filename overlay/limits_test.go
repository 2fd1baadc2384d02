package overlay

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateOf(t *testing.T) {
	const halfHour, floor = 30 * time.Minute, 5 * time.Minute
	for distance, want := range map[time.Duration]Rate{
		0: {0, 1}, time.Minute: {0, 1}, floor: {0, 1}, // the floor sees to it
		floor + 1:        {5, 1},
		6 * time.Minute:  {5, 1},
		15 * time.Minute: {2, 1}, 15*time.Minute + 1: {1, 1},
		halfHour: {1, 1}, halfHour + 1: {1, 2},
		time.Hour: {1, 2}, 24 * time.Hour: {1, 48}, 1000 * time.Hour: {1, 48},
	} {
		if got := RateOf(distance, halfHour, floor); got != want {
			t.Errorf("RateOf(%v) = %v, want %v", distance, got, want)
		}
	}
	if got, want := RateOf(1, math.MaxInt64, 0), (Rate{math.MaxUint32, 1}); got != want {
		t.Errorf("a poll each nanosecond is %v, want %v", got, want)
	}
}

// Where numbers run out, functions return their highest value and not a wrapped one.
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		rate            Rate
		interval, floor time.Duration
		want            int
	}{
		{Rate{math.MaxInt32 - 1, 1}, time.Second, time.Second, math.MaxInt32 - 1},
		{Rate{math.MaxInt32, 1}, time.Second, time.Second, math.MaxInt32},
		{Rate{math.MaxInt32 + 1, 1}, time.Second, time.Second, math.MaxInt32},
		{Rate{math.MaxUint32, 1}, time.Second, time.Second, math.MaxInt32},
		{Rate{math.MaxUint32, 1}, 1, math.MaxInt64, math.MaxInt32},
		{Rate{1, 1}, time.Second, -time.Hour, 1},
		{Rate{3, 1}, -1, time.Second, 0},
		{Rate{3, 1}, 1, 1, 3},
	} {
		if got := WidthOf(tc.rate, tc.interval, tc.floor); got != tc.want {
			t.Errorf("WidthOf(%v, %v, %v) = %d, want %d", tc.rate, tc.interval, tc.floor, got, tc.want)
		}
	}
	long := Slots{Interval: math.MaxInt64, Rate: Rate{1, math.MaxUint32}}
	if got := long.Period(); got != math.MaxInt64 {
		t.Errorf("the longest period is %v", got)
	}
	if got := long.Due(1); !got.Equal(time.Unix(0, math.MaxInt64)) {
		t.Errorf("the slot after the longest span is due at %v", got)
	}
	if got := (Slots{Interval: time.Second, Rate: Rate{1, 1}, Width: math.MaxInt64}).Period(); got != math.MaxInt64 {
		t.Errorf("the widest wedge's period is %v", got)
	}
}

// A nanosecond is the shortest interval; none has no slots, and no due times.
func TestShortestInterval(t *testing.T) {
	each := Slots{Interval: 1, Rate: Rate{1, 1}}
	if k, due := each.Next(at(0, 6)); k != 7 || !due.Equal(at(0, 7)) {
		t.Errorf("Next = %d, %v", k, due)
	}
	if got := each.Due(9); !got.Equal(at(0, 9)) {
		t.Errorf("Due = %v", got)
	}
	if got := each.Period(); got != 1 {
		t.Errorf("Period = %v", got)
	}
	for _, none := range []Slots{{Rate: Rate{1, 1}}, {Rate: Rate{1, 1}, Interval: -1}, {Interval: time.Second}} {
		if got := none.Due(3); !got.IsZero() {
			t.Errorf("%v: Due = %v", none, got)
		}
		if k, due := none.Next(at(5, 0)); k != -1 || !due.IsZero() {
			t.Errorf("%v: Next = %d, %v", none, k, due)
		}
		if got := none.Period(); got != 0 {
			t.Errorf("%v: Period = %v", none, got)
		}
	}
}

// The first slots: slot 0 is owed at a floor that ends behind it, and there is no slot
// before it.
func TestFirstSlots(t *testing.T) {
	alone := Slots{Interval: 10 * time.Second, Rate: Rate{1, 1}}
	if got := alone.NextPoll(at(0, 1), at(-4, 0), 6*time.Second); !got.Equal(at(2, 0)) {
		t.Errorf("slot 0 is taken late: %v, want 2 s", got)
	}
	shifted := Slots{Interval: 10 * time.Second, Rate: Rate{1, 1}, Phase: 1 << 63} // 5, 15, …
	if got := shifted.NextPoll(at(0, 0), at(-4, 0), 6*time.Second); !got.Equal(at(5, 0)) {
		t.Errorf("no slot is before slot 0: %v, want 5 s", got)
	}
	if got := alone.NextPoll(at(3, 0), time.Time{}, math.MaxInt64); !got.Equal(at(10, 0)) {
		t.Errorf("never polled, and the longest floor: %v, want 10 s", got)
	}
}

// The slot's number and a round of the wedge fit into an int64, or there is none.
func TestNumbersOfSlotsRunOut(t *testing.T) {
	each := Slots{Interval: 1, Rate: Rate{1, 1}, Width: 8}
	last := int64(math.MaxInt64 - 8)
	before := time.Unix(last/nanosPerSecond, last%nanosPerSecond).Add(-1)
	if k, _ := each.Next(before); k < last {
		t.Errorf("slot %d is numbered %d", last, k)
	}
	if k, _ := each.Next(before.Add(1)); k != -1 {
		t.Errorf("slot %d is numbered %d, want none", last+1, k)
	}
	if got := each.Due(math.MaxInt64); !got.Equal(time.Unix(math.MaxInt64/nanosPerSecond, math.MaxInt64%nanosPerSecond)) {
		t.Errorf("the last slot is due at %v", got)
	}
	slow := Slots{Interval: math.MaxInt64, Rate: Rate{1, 1}}
	if got := slow.Due(math.MaxInt64); got.Unix() != lastSecond {
		t.Errorf("a slot later than times go is due at second %d, want %d", got.Unix(), lastSecond)
	}
}

// uint128 computes as integers without bounds do, modulo 2^128.
func TestUint128(t *testing.T) {
	wide := func(x uint128) *big.Int {
		n := new(big.Int).Lsh(new(big.Int).SetUint64(x.hi), 64)
		return n.Or(n, new(big.Int).SetUint64(x.lo))
	}
	wrap := new(big.Int).Lsh(big.NewInt(1), 128)
	check := func(t fataler, x uint128, y uint64) {
		a, b := wide(x), new(big.Int).SetUint64(y)
		equal := func(op string, got uint128, want *big.Int) {
			if want.Mod(want, wrap); wide(got).Cmp(want) != 0 {
				t.Fatalf("%v %s %v = %v, want %v", a, op, b, wide(got), want)
			}
		}
		equal("+", x.add(y), new(big.Int).Add(a, b))
		equal("*", x.mul(y), new(big.Int).Mul(a, b))
		if less := new(big.Int).Sub(a, b); less.Sign() < 0 {
			equal("-", x.subFloor(y), new(big.Int))
		} else {
			equal("-", x.subFloor(y), less)
		}
		if y > 0 {
			quotient, rest := new(big.Int).DivMod(a, b, new(big.Int))
			if _, got := x.divMod(y); got != rest.Uint64() {
				t.Fatalf("%v mod %v = %d, want %v", a, b, got, rest)
			}
			equal("/", x.div(y), new(big.Int).Set(quotient))
			if rest.Sign() > 0 {
				quotient.Add(quotient, big.NewInt(1))
			}
			equal("/ up", x.divCeil(y), quotient)
		}
		if n, ok := x.uint63(); ok != a.IsInt64() || ok && n != a.Int64() {
			t.Fatalf("%v is the int64 %d: %v", a, n, ok)
		}
	}
	edges := []uint64{0, 1, 2, 9, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for _, hi := range edges {
		for _, lo := range edges {
			for _, y := range edges {
				check(t, uint128{hi, lo}, y)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, uint128{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}, rapid.Uint64().Draw(t, "y"))
	})
}

// fataler is a test, or rapid's.
type fataler interface {
	Fatalf(format string, args ...any)
}

func TestTimeAt(t *testing.T) {
	for _, seconds := range []int64{0, 1, math.MaxInt32, lastSecond - 1, lastSecond} {
		when := time.Unix(seconds, 123_456_789)
		if got := timeAt(nanos(when)); !got.Equal(when) && seconds < lastSecond {
			t.Errorf("%v comes back as %v", when, got)
		}
	}
	for _, late := range []uint128{mul64(lastSecond+1, nanosPerSecond), {math.MaxUint64 >> 30, 0}} {
		if got := timeAt(late); got.Unix() != lastSecond || got.Nanosecond() != 0 {
			t.Errorf("%v is %d s %d ns, want the last second", late, got.Unix(), got.Nanosecond())
		}
	}
}
