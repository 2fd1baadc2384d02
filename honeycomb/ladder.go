package honeycomb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Ladder says which rates there are. The zero value is [Any].
type Ladder struct {
	kind   ladderKind
	factor float64
}

type ladderKind uint8

const (
	anyLadder ladderKind = iota
	prefixLadder
	geometricLadder
)

// Any is every whole number of polls per interval that the nodes can make.
func Any() Ladder { return Ladder{} }

// Prefix is the paper's ladder on an overlay of a base: nodes/baseˡ polls, one
// per node of the wedge of level l, down to the owner alone.
func Prefix(base int) Ladder { return Ladder{prefixLadder, float64(base)} }

// Geometric has rungs by a factor, rounded to whole numbers.
func Geometric(factor float64) Ladder { return Ladder{geometricLadder, factor} }

func (l Ladder) String() string {
	factor := strconv.FormatFloat(l.factor, 'g', -1, 64)
	switch l.kind {
	case prefixLadder:
		return "prefix:" + factor
	case geometricLadder:
		return "geometric:" + factor
	}
	return "any"
}

// ParseLadder reads any, prefix:BASE or geometric:FACTOR.
func ParseLadder(s string) (Ladder, error) {
	name, arg, _ := strings.Cut(s, ":")
	factor, err := strconv.ParseFloat(arg, 64)
	switch {
	case s == "any":
		return Any(), nil
	case name == "prefix" && err == nil && factor >= 2 && factor <= 1<<20 && factor == math.Trunc(factor):
		return Prefix(int(factor)), nil
	case name == "geometric" && err == nil && factor >= 1.01 && factor <= 1<<20:
		return Geometric(factor), nil
	}
	return Ladder{}, fmt.Errorf("%w: ladder %q is none of any, prefix:BASE (a whole number from 2), geometric:FACTOR (from 1.01)", ErrConfig, s)
}

// slowest is k of the lowest rate, 1/k: once a day at an interval of 30 minutes.
// fastest bounds the highest, so that products of two rates are exact.
const (
	slowest = 48
	fastest = 1 << 24
)

// rungs numbers the rates of a ladder: 0 is rate 1, positive numbers are higher
// rates, negative ones lower. Whole rates and their inverses, ladder any, need
// no table.
type rungs struct {
	bottom, top int32
	rate        []float64 // by number−bottom; nil: any
	product     []float64 // by number−bottom: of a rung's rate and the next one's
}

func (c Config) rungs() (*rungs, error) {
	top := c.fastestRate()
	if c.Ladder.kind == anyLadder {
		return &rungs{bottom: 1 - slowest, top: int32(top) - 1}, nil
	}
	if !(c.Ladder.factor >= 1.01) {
		return nil, fmt.Errorf("%w: ladder %v has no rungs", ErrConfig, c.Ladder)
	}
	above := c.Ladder.above(float64(c.Nodes), top)
	below := c.Ladder.below()
	r := &rungs{bottom: int32(-len(below)), top: int32(len(above))}
	r.rate = slices.Concat(below, []float64{1}, above)
	r.product = make([]float64, len(r.rate))
	for i := range len(r.rate) - 1 {
		r.product[i] = r.rate[i] * r.rate[i+1]
	}
	return r, nil
}

// fastestRate returns the most polls of a channel per interval, ⌊N·τ/floor⌋.
func (c Config) fastestRate() float64 {
	perNode := float64(c.Interval) / float64(c.floor())
	most := math.Floor(float64(c.Nodes) * perNode * (1 + 1e-12))
	return min(max(most, 1), fastest)
}

// above returns the rates over 1, ascending.
func (l Ladder) above(nodes, top float64) []float64 {
	var rates []float64
	if l.kind == prefixLadder {
		for width := nodes; width > 1; width /= l.factor {
			rates = append(rates, min(width, fastest))
		}
		slices.Reverse(rates)
		return slices.Compact(rates)
	}
	for rate := l.factor; math.Round(rate) <= top; rate *= l.factor {
		if whole := math.Round(rate); whole > 1 {
			rates = append(rates, whole)
		}
	}
	return slices.Compact(rates)
}

// below returns the rates under 1, ascending.
func (l Ladder) below() []float64 {
	step := l.factor
	if l.kind == prefixLadder {
		step = 0
	}
	var rates []float64
	for k, exact := 2.0, step; k <= slowest; {
		if k = max(k, math.Round(exact)); k > slowest {
			break
		}
		rates = append(rates, 1/k)
		k, exact = k+1, exact*step
	}
	slices.Reverse(rates)
	return rates
}

// at returns a rung's rate in polls per interval.
func (r *rungs) at(n int32) float64 {
	switch {
	case r.rate != nil:
		return r.rate[n-r.bottom]
	case n >= 0:
		return float64(n + 1)
	}
	return 1 / float64(1-n)
}

// polls returns the sum of rungs' rates.
func (r *rungs) polls(rung []int32) sum {
	var total sum
	var whole int64
	for _, n := range rung {
		if r.rate == nil && n >= 0 {
			whole += int64(n) + 1
		} else {
			total = total.plus(r.at(n))
		}
	}
	return total.plus(float64(whole)).settled()
}

// between returns the product of the rates of rung n and the next one. The step
// between them saves w/product in value for each unit of rate.
func (r *rungs) between(n int32) float64 {
	switch {
	case r.rate != nil:
		return r.product[n-r.bottom]
	case n >= 0:
		return float64(n+1) * float64(n+2)
	}
	return 1 / (float64(-n) * float64(1-n))
}

// choice returns the highest rung whose step up from the one below is worth its
// price, where x is the weight over the price of a unit of rate: the largest n
// with between(n−1) ≤ x. Rounding may be off by one where x lies on the edge.
func (r *rungs) choice(x float64) int32 {
	switch {
	case r.rate != nil:
		return r.bottom + r.count(x)
	case x >= 0.5:
		return int32(min(0.5+math.Sqrt(0.25+x), float64(r.top+1))) - 1
	case x > 0:
		return 1 - int32(min(math.Ceil(math.Sqrt(0.25+1/x)-0.5), slowest))
	}
	return r.bottom
}

// count returns how many steps of a table have a product of at most x. Most
// channels are at rate 1 or above, on one of a few rungs.
func (r *rungs) count(x float64) int32 {
	low, high := 0, len(r.product)-1
	if one := int(-r.bottom); one == 0 || x >= r.product[one-1] {
		low = one
	} else {
		high = one
	}
	for high-low > 8 {
		if mid := (low + high) / 2; r.product[mid] <= x {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for low < high && r.product[low] <= x {
		low++
	}
	return int32(low)
}

// atMost returns the highest rung whose rate is not above a rate, or the lowest.
func (r *rungs) atMost(rate float64) int32 {
	n := r.atLeast(rate)
	if n > r.bottom && r.at(n) > rate {
		n--
	}
	return n
}

// atLeast returns the lowest rung whose rate is not under a rate, or the highest.
func (r *rungs) atLeast(rate float64) int32 {
	switch {
	case r.rate != nil:
		i, _ := slices.BinarySearch(r.rate, rate)
		return r.bottom + int32(min(i, len(r.rate)-1))
	case rate >= 1:
		return int32(min(math.Ceil(rate), float64(r.top+1))) - 1
	}
	// The inverse of 1/k is k, to the last bit, for all k up to slowest.
	return 1 - int32(min(math.Floor(1/rate), slowest))
}

// Fraction writes a rate of a ladder with whole rungs as polls per intervals:
// r/1, or 1/k for rates below 1; 0/1 for rate 0. Other rates are rounded to
// whole polls, up.
func Fraction(rate float64) (polls, intervals uint32) {
	switch {
	case rate <= 0:
		return 0, 1
	case rate < 1:
		return 1, uint32(math.Round(1 / rate))
	}
	return uint32(math.Ceil(rate)), 1
}

// mean returns how long a change waits on average at a rate, evenly spaced.
func mean(interval time.Duration, rate float64) float64 { return interval.Seconds() / (2 * rate) }
