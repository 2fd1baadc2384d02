package honeycomb

import (
	"cmp"
	"math"
	"slices"
)

// A window is a prefix of all steps of all channels, the worthiest first: the
// state that a solve arrives at. Between two multipliers it knows the steps one
// by one; steps worth more are all taken, those worth less are not.
type window struct {
	terms  terms
	goal   goal
	rung   []int32 // of each channel, with the taken steps
	totals         // with the taken steps

	low, high float64 // steps has those with low ≤ ratio < high
	steps     []step  // in order
	taken     int
}

// terms are what sums are made of, for a channel at a rung, and what a channel's
// steps cost for each unit of rate.
type terms interface {
	loadOf(i int, rung int32) float64
	waitOf(i int, rung int32) float64
	costOf(i int) float64
}

// A step takes a channel from a rung to the next one.
type step struct {
	ratio   float64
	channel int32
	rung    int32 // that it leaves
}

// walk sorts the window's steps and takes them up to the goal. It returns false when
// all of them together do not reach it.
func (w *window) walk() bool {
	w.narrow()
	if !slices.IsSortedFunc(w.steps, w.before) {
		slices.SortFunc(w.steps, w.before)
	}
	return w.advance()
}

// fewSteps is what a window is narrowed to: little to sort, and still room for
// the changes of an update.
const fewSteps = 1 << 11

// narrow shrinks a large window without sorting it (quickselect): it takes or drops all
// steps on one side of a pivot's ratio until few, or only a tie, are left. The steps
// stay in the order of rows.
func (w *window) narrow() {
	for len(w.steps) > fewSteps {
		pivot := w.pivot()
		above, from := w.around(pivot)
		switch {
		case w.goal.pastSum(above):
			w.keep(math.Inf(1), pivot)
			w.low = math.Nextafter(pivot, math.Inf(1))
		case w.goal.pastSum(from):
			w.high = math.Nextafter(pivot, math.Inf(1))
			w.low = pivot
			w.keep(w.high, math.Nextafter(pivot, 0))
			return
		default:
			w.high = pivot
			w.keep(pivot, 0)
		}
	}
}

// pivot returns a ratio near the middle of the window's.
func (w *window) pivot() float64 {
	var some [31]float64
	for i := range some {
		some[i] = w.steps[i*len(w.steps)/len(some)].ratio
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

// around returns what the goal measures with all steps of the window taken that
// are worth more than a ratio, and with those that are worth as much as well.
func (w *window) around(ratio float64) (above, from sum) {
	of := w.terms.loadOf
	if above = w.load; w.goal.wait {
		of, above = w.terms.waitOf, w.wait
	}
	var equal sum
	for _, s := range w.steps {
		if s.ratio < ratio {
			continue
		}
		to := &above
		if s.ratio == ratio {
			to = &equal
		}
		to.add(of(int(s.channel), s.rung+1))
		to.add(-of(int(s.channel), s.rung))
	}
	from = above
	from.join(equal)
	return above, from
}

// keep takes the steps worth at least high, drops those worth at most low, and
// keeps what is between.
func (w *window) keep(high, low float64) {
	kept := w.steps[:0]
	for _, s := range w.steps {
		switch {
		case s.ratio >= high:
			w.take(s)
		case s.ratio > low:
			kept = append(kept, s)
		}
	}
	w.steps = kept
}

func (w *window) take(s step) { w.move(int(s.channel), s.rung, s.rung+1) }
func (w *window) undo(s step) { w.move(int(s.channel), s.rung+1, s.rung) }

func (w *window) move(i int, from, to int32) {
	w.load.add(w.terms.loadOf(i, to))
	w.load.add(-w.terms.loadOf(i, from))
	w.wait.add(w.terms.waitOf(i, to))
	w.wait.add(-w.terms.waitOf(i, from))
	w.rung[i] = to
}

// advance takes the window's steps, in order, up to the goal. It returns false when all
// of them together do not reach it.
func (w *window) advance() bool {
	for w.taken < len(w.steps) {
		w.take(w.steps[w.taken])
		w.taken++
		if !w.past(w.goal) {
			continue
		}
		if !w.goal.wait {
			w.taken--
			w.undo(w.steps[w.taken])
		}
		return true
	}
	return false
}

// retreat undoes taken steps until the state is not past the goal. It returns
// false when it is past without any.
func (w *window) retreat() bool {
	for w.past(w.goal) {
		if w.taken == 0 {
			return false
		}
		w.taken--
		w.undo(w.steps[w.taken])
	}
	return true
}

// boundary returns the step that the goal divides: the first that no longer
// fits, or the one that reached the target.
func (w *window) boundary() step {
	if w.goal.wait {
		return w.steps[w.taken-1]
	}
	return w.steps[w.taken]
}

// before orders steps: by worth, then the one that takes less of the limit, then
// the cheaper one, which under a host's cap is another thing, then by row. Steps
// of one channel are in order since their worth falls strictly.
func (w *window) before(a, b step) int {
	switch {
	case a.ratio > b.ratio:
		return -1
	case a.ratio < b.ratio:
		return 1
	}
	if order := cmp.Compare(w.price(a), w.price(b)); order != 0 {
		return order
	}
	if order := cmp.Compare(w.terms.costOf(int(a.channel)), w.terms.costOf(int(b.channel))); order != 0 {
		return order
	}
	return cmp.Compare(a.channel, b.channel)
}

// price is what a step costs.
func (w *window) price(s step) float64 {
	i := int(s.channel)
	return w.terms.loadOf(i, s.rung+1) - w.terms.loadOf(i, s.rung)
}
