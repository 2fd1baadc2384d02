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

	dithered bool // keys are moved apart
	whole    bool // channels that have a choice have none of a rate below 1

	placed int // channels that passes have looked at so far: the work of a search
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

// block is how many channels a pass takes at a time: their rungs stay in the
// nearest cache between the simple loops that they go through.
const block = 1 << 10

// at returns what a goal measures at a multiplier, and the sum of the rungs, up to
// rounding.
func (c *columns) at(g goal, lambda float64) (measure float64, rungs int64) {
	var total sum
	var room [block]int32
	for from := 0; from < len(c.key); from += block {
		rung := room[:min(block, len(c.key)-from)]
		c.choose(from, rung, 1/lambda)
		total.join(c.measure(g, from, rung))
		rungs += sumOf(rung)
	}
	return total.value(), rungs
}

func sumOf(rung []int32) (total int64) {
	for _, n := range rung {
		total += int64(n)
	}
	return total
}

// exactly writes the rungs of all channels at a multiplier: all steps worth it.
// Where rounding could matter ratios are compared.
func (c *columns) exactly(rung []int32, lambda float64) {
	sure, worthless := lambda*(1-closed), lambda*(1+closed)
	for from := 0; from < len(rung); from += block {
		part := rung[from:min(from+block, len(rung))]
		c.choose(from, part, 1/lambda)
		for k, key := range c.key[from:][:len(part)] {
			n := part[k]
			lo, hi := c.bounds(from + k)
			if n < hi && key >= sure*c.rungs.between(n) || n > lo && key <= worthless*c.rungs.between(n-1) {
				part[k] = c.exact(from+k, lambda)
			}
		}
	}
}

// exact returns a channel's rung at a multiplier: all steps worth it.
func (c *columns) exact(i int, lambda float64) int32 {
	lo, hi := c.bounds(i)
	n := min(max(c.rungs.choice(c.key[i]/lambda), lo), hi)
	for n < hi && c.ratio(i, n) >= lambda {
		n++
	}
	for n > lo && c.ratio(i, n-1) < lambda {
		n--
	}
	return n
}

// choose writes the rungs that the channels of a block have at a multiplier, of which
// it takes the inverse, up to rounding.
func (c *columns) choose(from int, rung []int32, inverse float64) {
	c.place(from, rung, c.key[from:][:len(rung)], inverse)
}

// wants writes the rungs that the channels of a block have at a multiplier of the
// budget and one of a cap, up to rounding.
func (c *columns) wants(from int, rung []int32, lambda, mu float64) {
	var worth [block]float64
	costs, weights := c.cost[from:][:len(rung)], c.weight[from:][:len(rung)]
	for k, cost := range costs {
		worth[k] = weights[k] / (lambda*cost + mu)
	}
	c.place(from, rung, worth[:len(rung)], 1)
}

// place writes the rungs of a block: for each the choice for its worth, weight
// over price, times a factor, within its bounds.
func (c *columns) place(from int, rung []int32, worth []float64, factor float64) {
	c.placed += len(rung)
	if c.whole && c.rungs.rate == nil {
		chooseWhole(rung, worth, factor, float64(c.rungs.top+1))
	} else {
		for k, x := range worth {
			rung[k] = c.rungs.choice(x * factor)
		}
	}
	if c.lo == nil {
		for k, n := range rung {
			rung[k] = min(max(n, c.floor), c.ceiling)
		}
		return
	}
	lo, hi := c.lo[from:][:len(rung)], c.hi[from:][:len(rung)]
	for k, n := range rung {
		rung[k] = min(max(n, lo[k]), hi[k])
	}
}

// chooseWhole is [rungs.choice] for whole rates: the loop that a solve of
// millions spends its time in.
func chooseWhole(rung []int32, worth []float64, factor, top float64) {
	for k, x := range worth {
		rate := 0.5 + math.Sqrt(0.25+x*factor)
		if rate > top {
			rate = top
		}
		rung[k] = int32(int64(rate) - 1)
	}
}

// term returns what a goal measures of a channel.
func (c *columns) term(g goal, i int, rung int32) float64 {
	if g.wait {
		return c.waitOf(i, rung)
	}
	return c.loadOf(i, rung)
}

// measure returns what a goal measures of a block.
func (c *columns) measure(g goal, from int, rung []int32) sum {
	if g.wait {
		return c.waits(from, rung)
	}
	return c.loads(from, rung)
}

// loads returns Σ cost·rate of a block.
func (c *columns) loads(from int, rung []int32) sum {
	if c.cost == nil {
		return c.rungs.polls(rung)
	}
	var total sum
	for k, cost := range c.cost[from:][:len(rung)] {
		total = total.plus(float64(cost * c.rungs.at(rung[k])))
	}
	return total.settled()
}

// waits returns Σ weight/rate of a block.
func (c *columns) waits(from int, rung []int32) sum {
	var total sum
	for k, weight := range c.weight[from:][:len(rung)] {
		total = total.plus(weight / c.rungs.at(rung[k]))
	}
	return total.settled()
}

// ends writes the lowest or the highest rungs of a block.
func (c *columns) ends(from int, rung []int32, highest bool) {
	bound, all := c.lo, c.floor
	if highest {
		bound, all = c.hi, c.ceiling
	}
	if bound != nil {
		copy(rung, bound[from:])
		return
	}
	for k := range rung {
		rung[k] = all
	}
}

// end returns what a goal measures with every channel at its lowest or its
// highest rung.
func (c *columns) end(g goal, highest bool) (total sum) {
	var room [block]int32
	for from := 0; from < len(c.key); from += block {
		rung := room[:min(block, len(c.key)-from)]
		c.ends(from, rung, highest)
		total.join(c.measure(g, from, rung))
	}
	return total
}

// sample returns some of many channels, evenly spaced, to guess from; nil for few.
func (c *columns) sample() *columns {
	if len(c.key) < sampled/4 {
		return nil
	}
	stride := max(len(c.key)/sampled, 8)
	s := &columns{rungs: c.rungs, floor: c.floor, ceiling: c.ceiling, whole: c.whole}
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

// span returns multipliers between which all steps of all channels lie.
func (c *columns) span() (lowest, highest float64) {
	least, most := math.Inf(1), 0.0
	for _, key := range c.key {
		if key > most {
			most = key
		}
		if key < least && key > 0 {
			least = key
		}
	}
	if most == 0 || c.rungs.top == c.rungs.bottom {
		return leastRatio, mostRatio // there are no steps
	}
	return least / c.rungs.between(c.rungs.top-1) / 2, most / c.rungs.between(c.rungs.bottom) * 2
}
