package honeycomb

import (
	"cmp"
	"math"
	"slices"
)

// fewSteps is what a window is narrowed to: little to sort, and still room for
// the changes of an update.
const fewSteps = 1 << 11

// narrow shrinks a large window without sorting it: it takes or drops all steps
// on one side of a step's worth until few, or equally worthy ones, are left. The
// steps stay in the order of rows.
func (p *path) narrow() {
	for len(p.steps) > fewSteps {
		pivot := p.pivot()
		above, from := p.around(pivot)
		switch {
		case above.past(p.goal):
			p.keep(math.Inf(1), pivot)
			p.low = math.Nextafter(pivot, math.Inf(1))
		case from.past(p.goal):
			p.high = math.Nextafter(pivot, math.Inf(1))
			p.low = pivot
			p.keep(p.high, math.Nextafter(pivot, 0))
			return
		default:
			p.high = pivot
			p.keep(pivot, 0)
		}
	}
}

// pivot returns a ratio near the middle of the window's.
func (p *path) pivot() float64 {
	var some [31]float64
	for i := range some {
		some[i] = p.steps[i*len(p.steps)/len(some)].ratio
	}
	slices.Sort(some[:])
	return some[len(some)/2]
}

// totals are the sums of a state.
type totals struct{ load, wait sum }

func (t totals) past(g goal) bool {
	if g.wait {
		return g.pastSum(t.wait)
	}
	return g.pastSum(t.load)
}

// around returns the sums with all steps of the window taken that are worth
// more than a ratio, and with those that are worth as much as well.
func (p *path) around(ratio float64) (above, from totals) {
	var equal totals
	above = p.totals
	for _, s := range p.steps {
		switch {
		case s.ratio > ratio:
			p.count(&above, s)
		case s.ratio == ratio:
			p.count(&equal, s)
		}
	}
	from = above
	from.load.join(equal.load)
	from.wait.join(equal.wait)
	return above, from
}

// count adds what a step changes to sums.
func (p *path) count(t *totals, s step) {
	i := int(s.channel)
	t.load.add(p.loadOf(i, s.rung+1))
	t.load.add(-p.loadOf(i, s.rung))
	t.wait.add(p.waitOf(i, s.rung+1))
	t.wait.add(-p.waitOf(i, s.rung))
}

// keep takes the steps worth at least high, drops those worth at most low, and
// keeps what is between.
func (p *path) keep(high, low float64) {
	kept := p.steps[:0]
	for _, s := range p.steps {
		switch {
		case s.ratio >= high:
			p.take(s)
		case s.ratio > low:
			kept = append(kept, s)
		}
	}
	p.steps = kept
}

func (p *path) take(s step) {
	p.count(&p.totals, s)
	p.rung[s.channel] = s.rung + 1
}

func (p *path) undo(s step) {
	i := int(s.channel)
	p.load.add(p.loadOf(i, s.rung))
	p.load.add(-p.loadOf(i, s.rung+1))
	p.wait.add(p.waitOf(i, s.rung))
	p.wait.add(-p.waitOf(i, s.rung+1))
	p.rung[s.channel] = s.rung
}

// advance takes the window's steps, in order, up to the goal. It returns false
// when they all do not reach it.
func (p *path) advance() bool {
	for p.taken < len(p.steps) {
		p.take(p.steps[p.taken])
		p.taken++
		if !p.past(p.goal) {
			continue
		}
		if !p.goal.wait {
			p.taken--
			p.undo(p.steps[p.taken])
		}
		return true
	}
	return false
}

// rewind undoes the taken steps of the window.
func (p *path) rewind() {
	for p.taken > 0 {
		p.taken--
		p.undo(p.steps[p.taken])
	}
}

// boundary returns the step that the goal divides: the first that no longer
// fits, or the one that reached the target.
func (p *path) boundary() step {
	if p.goal.wait {
		return p.steps[p.taken-1]
	}
	return p.steps[p.taken]
}

// before orders steps: by worth, then the cheaper one, then by row. Steps of one
// channel are in order since their worth falls strictly.
func (p *path) before(a, b step) int {
	switch {
	case a.ratio > b.ratio:
		return -1
	case a.ratio < b.ratio:
		return 1
	}
	if order := cmp.Compare(p.price(a), p.price(b)); order != 0 {
		return order
	}
	return cmp.Compare(a.channel, b.channel)
}

// price is what a step costs.
func (p *path) price(s step) float64 {
	i := int(s.channel)
	return p.costOf(i) * (p.rungs.at(s.rung+1) - p.rungs.at(s.rung))
}
