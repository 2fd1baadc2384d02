package honeycomb

import "math"

// sum adds float64 values with twice their precision, so that a limit is kept
// strictly and a sum that was kept up to date step by step equals the one that
// is added up afresh. (Knuth's two-sum; the error after n terms is about n·2⁻¹⁰⁶.)
type sum struct{ high, low float64 }

func (s *sum) add(v float64) {
	t := s.high + v
	z := t - s.high
	s.low += (s.high - (t - z)) + (v - z)
	s.high = t
}

// settle makes high the nearest float64 to the sum.
func (s *sum) settle() {
	t := s.high + s.low
	s.low -= t - s.high
	s.high = t
}

// join adds another sum.
func (s *sum) join(o sum) {
	s.add(o.high)
	s.low += o.low
	s.settle()
}

// value returns the sum, rounded.
func (s sum) value() float64 { return s.high + s.low }

// over says whether the sum is above a limit, by more than the rounding of its terms:
// five times 1/5 is more than 1, but not over it.
func (s sum) over(limit float64) bool { return (s.high-limit)+s.low > rounding*math.Abs(limit) }

// rounding is by how much a term, a product of a few float64, may be too large, relative.
const rounding = 4e-16
