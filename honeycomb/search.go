package honeycomb

import "math"

// A goal is the limit that a solve stops at. All solves take the same steps in
// the same order, the worthiest first: one stops before the load passes a
// limit, or as soon as the wait has come down to one.
type goal struct {
	wait  bool
	limit float64
}

// past says whether a measured load or wait lies beyond the goal: too much load,
// or a wait short enough.
func (g goal) past(measure float64) bool {
	if g.wait {
		return measure <= g.limit
	}
	return measure > g.limit
}

// pastSum is past for an exact sum.
func (g goal) pastSum(s sum) bool { return s.over(g.limit) != g.wait }

// A bracket closes in on the multiplier at which a goal is passed.
type bracket struct {
	goal
	low, high float64 // multipliers: past the goal, and not
	last      float64 // multiplier of the last observation, 0: none
	measured  float64 // there

	lowRungs, highRungs int64 // sums at low and high, once both were looked at
	seenLow, seenHigh   bool
}

// look observes columns at a multiplier.
func (b *bracket) look(c *columns, lambda float64) (next float64) {
	measure, rungs := c.at(b.goal, lambda)
	if b.past(measure) {
		b.lowRungs, b.seenLow = rungs, true
	} else {
		b.highRungs, b.seenHigh = rungs, true
	}
	return b.observe(lambda, measure)
}

// few says whether the bracket is known to have at most so many steps inside.
func (b *bracket) few(steps int) bool {
	return b.seenLow && b.seenHigh && b.lowRungs-b.highRungs <= int64(steps)
}

// observe narrows the bracket and returns where the goal is to be expected: on a
// straight line in logarithms through the last two observations, or with the
// slope of rates that no bound holds, ∓½.
func (b *bracket) observe(lambda, measure float64) float64 {
	if b.past(measure) {
		b.low = max(b.low, lambda)
	} else {
		b.high = min(b.high, lambda)
	}
	slope := -0.5
	if b.wait {
		slope = 0.5
	}
	// Of one observation, or two at one place, the secant is no number, or infinite.
	secant := math.Log(measure/b.measured) / math.Log(lambda/b.last)
	if ratio := secant / slope; ratio > 0.01 && ratio < 100 {
		slope = secant
	}
	b.last, b.measured = lambda, measure
	return lambda * math.Exp(math.Log(b.limit/measure)/slope)
}

func (b *bracket) inside(lambda float64) bool { return lambda > b.low && lambda < b.high }

func (b *bracket) middle() float64 { return math.Sqrt(b.low) * math.Sqrt(b.high) }

// width is how far apart the bracket's ends are, as a ratio less one.
func (b *bracket) width() float64 { return b.high/b.low - 1 }

// How a search goes on: it opens a window where a sample has the goal, once the
// sample's multiplier was evaluated; a bracket with few steps inside, or narrower
// than nearEnough, is opened whole: then it has a step of each channel at most, unless
// rates are above 1/nearEnough, and those of equal worth make it no narrower.
const (
	sampled    = 1 << 14
	nearEnough = 1e-4
	halfWindow = 6e-4
	closed     = 1e-12

	leastRatio = smallest / largest / (fastest * fastest) / 2 // no step is worth less
	mostRatio  = largest / smallest * (slowest * slowest) * 2 // nor more
)

// search finds the multiplier at which the goal lies and leaves the path there.
// It returns false when the goal turns out to lie before the first step or
// behind the last.
func (p *path) search() bool {
	lowest, highest := p.span()
	b := &bracket{goal: p.goal, low: lowest, high: highest}
	windows, lambda := 0, b.middle() // of few channels none is sampled
	few := p.sample()
	if few != nil {
		windows, lambda = 2, few.find(goal{p.goal.wait, p.goal.limit * float64(len(few.key)) / float64(len(p.key))})
	}
	for pass := 0; ; pass++ {
		next := b.look(p.columns, lambda)
		switch {
		case pass < windows:
			next = few.find(few.alike(b))
			half := halfWindow * float64(1+3*pass)
			low, high := next*(1-half), next*(1+half)
			if p.open(b, low, high) {
				return true
			}
			if next = low * (1 - 4*half); b.low >= high {
				next = high * (1 + 4*half)
			}
		case b.width() < nearEnough || b.few(max(len(p.key)/8, fewSteps/16)):
			return p.openAround(b)
		}
		if !b.inside(next) || pass >= 6 {
			next = b.middle()
		}
		lambda = next
	}
}

// find returns the multiplier of a goal in a sample, to nearEnough: a search of all
// channels corrects more than that anyway.
func (c *columns) find(g goal) float64 {
	lowest, highest := c.span()
	b := bracket{goal: g, low: lowest, high: highest}
	lambda := b.middle()
	for pass := 0; b.width() > nearEnough; pass++ {
		next := b.look(c, lambda)
		if math.Abs(next/lambda-1) < nearEnough {
			return next
		}
		if !b.inside(next) || pass%4 == 3 {
			next = b.middle()
		}
		lambda = next
	}
	return lambda
}

// alike returns the sample's goal that corresponds to the bracket's: its limit is scaled
// by how sample and all channels differed at the last observation.
func (c *columns) alike(b *bracket) goal {
	measure, _ := c.at(b.goal, b.last)
	return goal{b.wait, b.limit * measure / b.measured}
}

// openAround opens a window about a bracket that cannot be divided further, widened
// until the goal is inside: rounding may have closed the bracket a step away from it.
func (p *path) openAround(b *bracket) bool {
	lowest, highest := p.span()
	low, high := min(b.low, b.high), max(b.low, b.high)
	for margin := closed; ; margin *= 16 {
		from, to := low/(1+margin), high*(1+margin)
		if p.open(b, from, to) {
			return true
		}
		if from <= lowest && to >= highest {
			return false
		}
	}
}
