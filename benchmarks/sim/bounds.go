package sim

import (
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// bounds finds how good a row could be: the optimiser's certified lower bounds
// for all channels at once, any whole rates allowed.
func (r *Row) bounds(o Options, w *workload) {
	ch := honeycomb.Channels{Subscribers: w.subscribers}
	lite := o.config(honeycomb.Lite, honeycomb.Any())
	lite.Budget = r.Load * float64(o.Channels)
	r.Bound = lowerBound(lite, ch)
	fast := o.config(honeycomb.Fast, honeycomb.Any())
	fast.Target = time.Duration(r.Detection * float64(time.Second))
	fast.Budget = float64(o.Channels) * float64(o.Nodes)
	r.BoundLoad = lowerBound(fast, ch) / float64(o.Channels)
}

func lowerBound(config honeycomb.Config, ch honeycomb.Channels) float64 {
	p, err := honeycomb.Prepare(config, ch)
	if err != nil {
		panic(err) // measured figures are finite and positive
	}
	return p.Solve().Bound
}
