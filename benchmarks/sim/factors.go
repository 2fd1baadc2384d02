package sim

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// factor is what a policy multiplies a subscriber's wait by, for a channel that
// changes each u seconds (paper, Table 1).
func factor(p honeycomb.Policy, interval time.Duration, u float64) float64 {
	tau := interval.Seconds()
	switch p {
	case honeycomb.Fair:
		return tau / u
	case honeycomb.FairSqrt:
		return math.Sqrt(tau / u)
	case honeycomb.FairLog:
		return math.Log(tau) / math.Log(u)
	}
	return 1
}

// planned returns the mean waits of a change at rates in polls per interval,
// evenly spaced, weighted as in [Measured], and the load.
func (w *workload) planned(interval time.Duration, rates []float64) (detection, perUpdate, load float64) {
	var sums means
	for c, rate := range rates {
		sums.add(w.subscribers[c], w.updateInterval[c], interval.Seconds()/(2*rate), rate)
	}
	return sums.result()
}

// tie moves a channel's weight by up to 1.5 %, so that channels that are alike
// are not all decided about alike: the dither of [honeycomb]'s local problems,
// the same at every node.
func (w *workload) tie(c int) float64 {
	return 1 + 0.03*(w.unit(forTie, uint64(c), 0)-0.5)
}
