package honeycomb

import (
	"errors"
	"fmt"
	"math"
)

// Tables are a general problem: for each channel a list of points to choose one
// of, by rising cost. They may be anything: only the lower convex hull of each
// counts, on which value falls, ever less, as cost rises.
type Tables struct {
	Start []int     // channel i has the points Start[i] to Start[i+1]; one longer than there are channels
	Cost  []float64 // finite and rising within each channel
	Value []float64 // finite
}

// TableSolution is the choice that minimises Σ value within a limit of Σ cost.
type TableSolution struct {
	Choice   []int   // of each channel, among its points, from 0
	Value    float64 // Σ value
	Bound    float64 // dual bound: no choice within the limit has less
	Beyond   float64 // Σ value of the choice that would be best with one step more
	Cost     float64 // Σ cost
	Lambda   float64 // value that another unit of cost would save; 0: the limit does not bind
	Boundary int     // channel whose step the limit divides, −1: none
	Feasible bool    // false: the cheapest points cost more than the limit
}

// ErrTables is in the chain of every error about [Tables].
var ErrTables = errors.New("bad tables")

// hulls are the hulls of tables: of channel i the points start[i] to start[i+1].
type hulls struct {
	tables Tables
	start  []int
	point  []int32 // among the channel's points
}

func (h *hulls) at(i int, rung int32) int {
	return h.tables.Start[i] + int(h.point[h.start[i]+int(rung)])
}

func (h *hulls) loadOf(i int, rung int32) float64 { return h.tables.Cost[h.at(i, rung)] }
func (h *hulls) waitOf(i int, rung int32) float64 { return h.tables.Value[h.at(i, rung)] }
func (h *hulls) costOf(int) float64               { return 1 }

// SolveTables solves a general problem in the time that it takes to select among
// all steps of all hulls, without sorting those far from the answer. The
// solution is within one step of the best.
func SolveTables(t Tables, limit float64) (*TableSolution, error) {
	if err := t.validate(limit); err != nil {
		return nil, err
	}
	n := len(t.Start) - 1
	h := &hulls{tables: t, start: make([]int, n+1), point: make([]int32, 0, len(t.Cost))}
	w := &window{terms: h, goal: goal{limit: limit}, rung: make([]int32, n), high: math.Inf(1)}
	w.steps = make([]step, 0, len(t.Cost)-n)
	for i := range n {
		h.add(i)
		w.steps = h.list(i, w.steps)
		w.load.add(h.loadOf(i, 0))
		w.wait.add(h.waitOf(i, 0))
	}
	s := &TableSolution{Boundary: -1, Feasible: !w.past(w.goal)}
	last, divided := step{}, false
	if s.Feasible && w.walk() {
		last, divided = w.boundary(), true
	}
	s.read(h, w, last, divided)
	return s, nil
}

func (s *TableSolution) read(h *hulls, w *window, last step, divided bool) {
	s.Choice = make([]int, len(w.rung))
	for i, rung := range w.rung {
		s.Choice[i] = h.at(i, rung) - h.tables.Start[i]
	}
	s.Value, s.Cost = w.wait.value(), w.load.value()
	s.Bound, s.Beyond = s.Value, s.Value
	if divided {
		i := int(last.channel)
		s.Lambda, s.Boundary = last.ratio, i
		s.Bound -= max(last.ratio*(w.goal.limit-s.Cost), 0)
		s.Beyond += h.waitOf(i, last.rung+1) - h.waitOf(i, last.rung)
	}
}

func (t Tables) validate(limit float64) error {
	if len(t.Start) == 0 || t.Start[0] != 0 || t.Start[len(t.Start)-1] != len(t.Cost) || len(t.Value) != len(t.Cost) {
		return fmt.Errorf("%w: columns do not fit together", ErrTables)
	}
	if len(t.Start) > math.MaxInt32 || math.IsNaN(limit) {
		return fmt.Errorf("%w: limit %v, %d channels", ErrTables, limit, len(t.Start)-1)
	}
	for i := range len(t.Start) - 1 {
		from, to := t.Start[i], t.Start[i+1]
		if from >= to || to > len(t.Cost) {
			return fmt.Errorf("%w: channel %d has no points", ErrTables, i)
		}
		for j := from; j < to; j++ {
			if !(math.Abs(t.Cost[j]) <= largest) || !(math.Abs(t.Value[j]) <= largest) {
				return fmt.Errorf("%w: channel %d, point %d: cost %v, value %v", ErrTables, i, j-from, t.Cost[j], t.Value[j])
			}
			if j > from && t.Cost[j] <= t.Cost[j-1] {
				return fmt.Errorf("%w: channel %d, point %d: cost %v does not rise", ErrTables, i, j-from, t.Cost[j])
			}
		}
	}
	return nil
}

// add appends a channel's hull: from its cheapest point down to its lowest
// value, each step worth less than the one before.
func (h *hulls) add(i int) {
	first := len(h.point)
	h.start[i] = first
	from, to := h.tables.Start[i], h.tables.Start[i+1]
	for j := from; j < to; j++ {
		top := len(h.point) - 1
		if top >= first && h.tables.Value[j] >= h.tables.Value[from+int(h.point[top])] {
			continue
		}
		for ; top > first; top-- {
			last, before := from+int(h.point[top]), from+int(h.point[top-1])
			if h.slope(before, last) > h.slope(last, j) {
				break
			}
		}
		h.point = append(h.point[:top+1], int32(j-from))
	}
	h.start[i+1] = len(h.point)
}

// slope returns the value that going from a point to a dearer one saves for each
// unit of cost.
func (h *hulls) slope(a, b int) float64 {
	t := h.tables
	return (t.Value[a] - t.Value[b]) / (t.Cost[b] - t.Cost[a])
}

// list appends the steps of a channel's hull.
func (h *hulls) list(i int, steps []step) []step {
	for rung := range int32(h.start[i+1] - h.start[i] - 1) {
		steps = append(steps, step{h.slope(h.at(i, rung), h.at(i, rung+1)), int32(i), rung})
	}
	return steps
}
