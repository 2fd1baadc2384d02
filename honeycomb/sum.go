package honeycomb

import "math"

// sum adds float64 values with twice their precision, so that a limit is kept
// strictly and a sum that was kept up to date step by step equals the one that
// is added up afresh. (Knuth's two-sum; the error after n terms is about n·2⁻¹⁰⁶.)
type sum struct{ high, low float64 }

func (s *sum) add(v float64) { *s = s.plus(v) }

// plus returns the sum with another term. In a loop its value stays in registers, unlike
// what a pointer leads to.
func (s sum) plus(v float64) sum {
	t := s.high + v
	z := t - s.high
	return sum{t, s.low + ((s.high - (t - z)) + (v - z))}
}

// settled returns the same sum, high being the nearest float64 to it.
func (s sum) settled() sum {
	t := s.high + s.low
	return sum{t, s.low - (t - s.high)}
}

// join adds another sum.
func (s *sum) join(o sum) {
	s.add(o.high)
	s.low += o.low
	*s = s.settled()
}

// times returns a multiple.
func (s sum) times(f float64) sum { return sum{s.high * f, s.low * f} }

// value returns the sum, rounded.
func (s sum) value() float64 { return s.high + s.low }

// over says whether the sum is above a limit, by more than the rounding of its terms:
// five times 1/5 is more than 1, but not over it.
func (s sum) over(limit float64) bool { return (s.high-limit)+s.low > rounding*math.Abs(limit) }

// rounding is by how much a term, a product of a few float64, may be too large, relative.
const rounding = 4e-16
