package truth

import (
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Channels are what the generator knows of channels, a column each. A channel without
// subscribers is not polled.
type Channels struct {
	Subscribers []float64
	Interval    []float64 // mean seconds between two changes
	Host        []int32
	Size        []float64 // bytes that a poll takes, as nodes measured it; nil unless the budget is of bytes
}

// Plan is the best that there is within the limits.
type Plan struct {
	Gaps      []float64 // seconds between two polls; 0: none
	Longest   []float64 // the longest gap of a channel with the same factors: which of them gets the last poll cannot be told
	PollsPerS float64
	Budget    float64 // polls per interval, or bytes
	Load      float64 // likewise, what the plan takes
	BoundMean float64 // seconds: no plan has a lower mean wait over subscribers

	interval float64 // seconds
	bound    float64 // of the policy's objective
	weights  []float64
	total    float64   // Σ q
	fast     bool      // the objective is the load
	sizes    []float64 // what a poll costs; nil: 1
}

// Solve plans.
func Solve(s Settings, ch Channels) (*Plan, error) {
	factors := honeycomb.Channels{Subscribers: ch.Subscribers, UpdateInterval: ch.Interval, SizeBytes: ch.Size}
	if s.HostGap > 0 {
		factors.Host = ch.Host
	}
	problem, err := honeycomb.Prepare(s.Config, factors)
	if err != nil {
		return nil, err
	}
	solution := problem.Solve()
	p := &Plan{
		Budget: solution.Budget, Load: solution.Load, interval: s.Interval.Seconds(), bound: solution.Bound,
		Gaps: make([]float64, factors.Len()), weights: make([]float64, factors.Len()), fast: s.Policy == honeycomb.Fast, sizes: ch.Size,
	}
	for i, q := range ch.Subscribers {
		p.total += q
		if rate := problem.Rate(i); rate > 0 {
			p.Gaps[i] = p.interval / rate
			p.PollsPerS += rate / p.interval
			p.weights[i] = problem.Explain(i).Weight
		}
	}
	p.Longest = longest(p.Gaps, ch, s)
	p.BoundMean, err = boundMean(s, factors, solution)
	return p, err
}

// boundMean returns lite's bound, whatever the policy is.
func boundMean(s Settings, factors honeycomb.Channels, solution *honeycomb.Solution) (float64, error) {
	if s.Policy == honeycomb.Lite {
		return solution.Bound, nil
	}
	s.Policy, s.Target = honeycomb.Lite, 0
	problem, err := honeycomb.Prepare(s.Config, factors)
	if err != nil {
		return 0, err
	}
	return problem.Solve().Bound, nil
}

// alike is what makes two channels the same to the solver.
type alike struct {
	subscribers, interval, size float64
	host                        int32
}

func longest(gaps []float64, ch Channels, s Settings) []float64 {
	of := func(i int) alike {
		a := alike{subscribers: ch.Subscribers[i]}
		if s.Policy >= honeycomb.Fair {
			a.interval = ch.Interval[i]
		}
		if ch.Size != nil {
			a.size = ch.Size[i]
		}
		if s.HostGap > 0 {
			a.host = ch.Host[i]
		}
		return a
	}
	most := make(map[alike]float64)
	for i, gap := range gaps {
		most[of(i)] = max(most[of(i)], gap)
	}
	all := make([]float64, len(gaps))
	for i := range gaps {
		all[i] = most[of(i)]
	}
	return all
}

// OverBound returns how far rates, in polls per interval, are from the best there are: 1
// is the bound. A channel that should be polled and is not counts as one that waits for
// a week's polls.
func (p *Plan) OverBound(rates []float64) float64 {
	if p.bound == 0 || p.total == 0 {
		return 1
	}
	const hardly = 1e-3
	load, wait := 0.0, 0.0
	for i, weight := range p.weights {
		if weight == 0 {
			continue
		}
		rate := max(rates[i], hardly)
		if load += rate; p.sizes != nil {
			load += rate * (p.sizes[i] - 1)
		}
		wait += weight * p.interval / (2 * rate)
	}
	if p.fast {
		return load / p.bound
	}
	return wait / p.total / p.bound
}
