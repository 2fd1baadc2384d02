package honeycomb

import "math"

// columns is what a solve reads of each channel. Channels without subscribers
// have key, weight and cost 0, and so count nowhere, whatever their rung.
type columns struct {
	rungs  *rungs
	key    []float64 // weight/cost: what the first units of cost are worth
	weight []float64 // value is weight/rate
	cost   []float64 // of a unit of rate; nil: 1 each, and none without subscribers
	lo, hi []int32   // rungs; nil: floor and ceiling for all

	floor, ceiling int32
}

func (c *columns) bounds(i int) (lo, hi int32) {
	if c.lo == nil {
		return c.floor, c.ceiling
	}
	return c.lo[i], c.hi[i]
}

func (c *columns) costOf(i int) float64 {
	if c.cost == nil {
		return 1
	}
	return c.cost[i]
}

// loadOf and waitOf are the terms that all sums are made of: each is one rounded
// float64, so that sums that are made in different ways agree. (Without its
// conversion a product may be fused with the sum, unrounded.)
func (c *columns) loadOf(i int, rung int32) float64 { return float64(c.costOf(i) * c.rungs.at(rung)) }
func (c *columns) waitOf(i int, rung int32) float64 { return c.weight[i] / c.rungs.at(rung) }

// ratio is the worth of a channel's step from a rung to the next one: value
// saved for each unit of cost.
func (c *columns) ratio(i int, rung int32) float64 { return c.key[i] / c.rungs.between(rung) }

// at returns Σ cost·rate, or Σ weight/rate, at a multiplier, and the sum of the
// rungs: all but for rounding.
func (c *columns) at(g goal, lambda float64) (measure float64, rungs int64) {
	inverse := 1 / lambda
	if c.simple() && !g.wait {
		rungs = c.polls(inverse)
		return float64(rungs), rungs
	}
	for i, key := range c.key {
		lo, hi := c.bounds(i)
		n := min(max(c.rungs.choice(key*inverse), lo), hi)
		rungs += int64(n)
		if g.wait {
			measure += c.waitOf(i, n)
		} else {
			measure += c.loadOf(i, n)
		}
	}
	return measure, rungs
}

// simple says whether rates are whole, costs 1 and bounds the same for all.
func (c *columns) simple() bool {
	return c.cost == nil && c.lo == nil && c.rungs.rate == nil && c.floor >= 0
}

// polls is the sum of all rates where that is [columns.simple]: the loop that a
// solve of millions spends its time in.
func (c *columns) polls(inverse float64) int64 {
	top := float64(c.ceiling + 1)
	low := int64(c.floor + 1)
	var total int64
	for _, key := range c.key {
		rate := 0.5 + math.Sqrt(0.25+key*inverse)
		if rate > top {
			rate = top
		}
		total += max(int64(rate), low)
	}
	return total
}

// end returns what a goal measures with every channel at its lowest or its
// highest rung.
func (c *columns) end(g goal, highest bool) sum {
	var total sum
	if c.simple() && !g.wait {
		rate := c.rungs.at(c.floor)
		if highest {
			rate = c.rungs.at(c.ceiling)
		}
		return sum{high: rate * float64(len(c.key))}
	}
	for i := range c.key {
		rung, hi := c.bounds(i)
		if highest {
			rung = hi
		}
		if g.wait {
			total.add(c.waitOf(i, rung))
		} else {
			total.add(c.loadOf(i, rung))
		}
	}
	total.settle()
	return total
}

// sample returns about n of the channels, evenly spaced, to guess from.
func (c *columns) sample(n int) *columns {
	stride := max(len(c.key)/n, 1)
	s := &columns{rungs: c.rungs, floor: c.floor, ceiling: c.ceiling}
	for i := stride / 2; i < len(c.key); i += stride {
		s.key = append(s.key, c.key[i])
		s.weight = append(s.weight, c.weight[i])
		if c.cost != nil {
			s.cost = append(s.cost, c.cost[i])
		}
		if c.lo != nil {
			s.lo = append(s.lo, c.lo[i])
			s.hi = append(s.hi, c.hi[i])
		}
	}
	return s
}

// span returns multipliers between which all steps of all channels lie, or
// zeroes when there are no steps.
func (c *columns) span() (lowest, highest float64) {
	if c.rungs.top == c.rungs.bottom {
		return 0, 0
	}
	least, most := math.Inf(1), 0.0
	for _, key := range c.key {
		if key > 0 {
			least, most = min(least, key), max(most, key)
		}
	}
	if most == 0 {
		return 0, 0
	}
	return least / c.rungs.between(c.rungs.top-1) / 2, most / c.rungs.between(c.rungs.bottom) * 2
}
