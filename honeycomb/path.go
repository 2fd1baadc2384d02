package honeycomb

import "math"

// A path is the window of a [columns]'s steps.
type path struct {
	*columns
	window
}

func newPath(c *columns) path {
	return path{columns: c, window: window{terms: c, rung: make([]int32, len(c.key))}}
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
	if !p.walk() {
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
	for from := 0; from < len(p.rung); from += block {
		rung := p.rung[from:min(from+block, len(p.rung))]
		p.choose(from, rung, inverse)
		p.list(from, rung, inverse)
		p.load.join(p.loads(from, rung))
		p.wait.join(p.waits(from, rung))
	}
}

// list lists the steps of a block that lie in the window. Channels whose next step is
// surely worth less are skipped without computing its ratio.
func (p *path) list(from int, rung []int32, inverse float64) {
	edge := p.low * (1 - closed)
	for k, key := range p.key[from:][:len(rung)] {
		if key < edge*p.rungs.between(rung[k]) {
			continue
		}
		if _, hi := p.bounds(from + k); rung[k] < hi {
			rung[k] = p.enter(from+k, key*inverse)
		}
	}
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

// fill sets all channels to their lowest or highest rung, with an empty window
// before or behind all steps.
func (p *path) fill(highest bool) {
	p.steps, p.taken = p.steps[:0], 0
	p.low, p.high = math.Inf(1), math.Inf(1)
	if highest {
		p.low, p.high = 0, 0
	}
	p.ends(0, p.rung, highest)
	p.load, p.wait = p.loads(0, p.rung), p.waits(0, p.rung)
}
