package truth

import (
	"slices"
	"sort"
)

// Waits are how long changes wait for their polls: the change at a random instant of a gap
// waits for some part of the gap, each as likely. The distribution over many changes is a
// mixture of uniform ones.
type Waits struct {
	gaps    []float64 // sorted
	inverse []float64 // inverse[i] = Σ 1/gap of those from i on
}

// NewWaits returns the waits of changes that fall into gaps, in any unit; it sorts them.
func NewWaits(gaps []float64) *Waits {
	slices.Sort(gaps)
	w := &Waits{gaps: gaps, inverse: make([]float64, len(gaps)+1)}
	for i := len(gaps) - 1; i >= 0; i-- {
		w.inverse[i] = w.inverse[i+1] + 1/gaps[i]
	}
	return w
}

// Mean returns the mean wait, 0 without changes.
func (w *Waits) Mean() float64 {
	sum := 0.0
	for _, gap := range w.gaps {
		sum += gap / 2
	}
	return sum / float64(max(len(w.gaps), 1))
}

// Quantile returns the wait that a part q of the changes does not pass.
func (w *Waits) Quantile(q float64) float64 {
	n := len(w.gaps)
	if n == 0 {
		return 0
	}
	// Of changes that wait for x at most there are those with gaps up to x, and x/gap of
	// each other. The last gap up to x is found first; between two gaps the share is linear.
	want := q * float64(n)
	i := sort.Search(n, func(i int) bool { return w.below(i) >= want })
	if i == n {
		return w.gaps[n-1]
	}
	return (want - float64(i)) / w.inverse[i]
}

// below returns how many changes wait for at most the i-th gap.
func (w *Waits) below(i int) float64 { return float64(i) + w.gaps[i]*w.inverse[i] }
