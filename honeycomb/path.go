package honeycomb

import "slices"

// A path is a prefix of all steps of all channels, the worthiest first: the
// state that a solve arrives at. Between two multipliers it knows the steps one
// by one (the window); steps worth more are all taken, those worth less are not.
type path struct {
	*columns
	goal   goal
	rung   []int32 // of each channel, with the taken steps of the window
	totals         // with the taken steps

	low, high float64 // the window has the steps with low ≤ ratio < high
	steps     []step  // in order
	taken     int
}

// A step takes a channel from a rung to the next one.
type step struct {
	ratio   float64
	channel int32
	rung    int32 // that it leaves
}

// open makes a window and walks to the goal in it. It returns false, and narrows
// the bracket, when the goal is not inside.
func (p *path) open(b *bracket, low, high float64) bool {
	p.low, p.high = low, high
	p.gather()
	if p.past(p.goal) {
		b.low = max(b.low, high)
		return false
	}
	p.narrow()
	if !slices.IsSortedFunc(p.steps, p.before) {
		slices.SortFunc(p.steps, p.before)
	}
	if !p.advance() {
		b.high = min(b.high, low)
		return false
	}
	return true
}

// gather sets all channels to their state at the window's upper end and lists
// the steps inside.
func (p *path) gather() {
	p.steps, p.taken = p.steps[:0], 0
	p.totals = totals{}
	inverse := (1 - closed) / p.high
	for i, key := range p.key {
		n := p.enter(i, key*inverse)
		p.rung[i] = n
		p.load.add(p.loadOf(i, n))
		p.wait.add(p.waitOf(i, n))
	}
	p.load.settle()
	p.wait.settle()
}

// enter returns the rung of a channel at the window's upper end and lists its
// steps inside the window. It starts from the choice for x, the channel's key
// over that multiplier, a little too small so that rounding has not put the rung
// too high, and compares ratios from there on.
func (p *path) enter(i int, x float64) int32 {
	lo, hi := p.bounds(i)
	n := min(max(p.rungs.choice(x), lo), hi)
	for m := n; m < hi; m++ {
		ratio := p.ratio(i, m)
		if ratio < p.low {
			break
		}
		if ratio >= p.high {
			n = m + 1
			continue
		}
		p.steps = append(p.steps, step{ratio, int32(i), m})
	}
	return n
}

// ending says where a goal was met.
type ending uint8

const (
	inside    ending = iota // at a step
	atFloor                 // the lowest rungs are past it
	atCeiling               // the highest are not
)

// reach walks to a goal, from nothing.
func (p *path) reach(g goal) ending {
	p.goal = g
	switch {
	case g.pastSum(p.end(g, false)):
		p.fill(false)
		return atFloor
	case !g.pastSum(p.end(g, true)):
		p.fill(true)
		return atCeiling
	case p.search():
		return inside
	case p.past(g):
		return atFloor
	}
	return atCeiling
}

// fill sets all channels to their lowest or highest rung, with no window.
func (p *path) fill(highest bool) {
	p.steps, p.taken = p.steps[:0], 0
	p.totals = totals{}
	for i := range p.key {
		rung, hi := p.bounds(i)
		if highest {
			rung = hi
		}
		p.rung[i] = rung
		p.load.add(p.loadOf(i, rung))
		p.wait.add(p.waitOf(i, rung))
	}
	p.load.settle()
	p.wait.settle()
}
