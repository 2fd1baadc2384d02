package honeycomb

import "math"

// Solution is what a solve found. Its rates are read from the [Problem], and
// are those of the latest solve or update.
type Solution struct {
	// Objective is the policy's sum over Σ q, in seconds; for Fast the load.
	Objective float64
	// Bound is the dual bound: no rates within the limits have a lower objective.
	// Where others' channels are known by clusters only, none that come to Load.
	Bound float64
	// Beyond is the objective of the solution just past the boundary: the one
	// that would be optimal were the limit a step looser (tighter, for Fast).
	Beyond float64

	Load     float64 // Σ cost·rate
	Budget   float64 // its ceiling
	Lambda   float64 // seconds that another unit of cost would take off Σ weight·d; 0: no limit binds
	Boundary int     // row of the channel whose step the limit divides; −1: none
	Hosts    []HostPrice
	Polled   int // channels with subscribers

	Feasible bool
	Unmet    Unmet
}

// HostPrice is a host whose cap binds.
type HostPrice struct {
	Host     int32
	Mu       float64 // seconds that another poll would take off Σ weight·d, beside Lambda
	Cap      float64 // polls per interval
	Polls    float64 // planned
	Boundary int     // row of the channel whose step the cap keeps out
}

// Unmet says which limits no rates could keep; the nearest were taken.
type Unmet struct {
	Budget   bool // the lowest rates cost more
	Target   bool // the budget, or the highest rates, do not reach it
	Channels int  // that lie outside their own bounds
	Hosts    int  // whose channels at their lowest rates pass the cap
}

// outcome is a solve's end in the solver's own units: weight/rate and cost.
type outcome struct {
	ending   ending
	lambda   float64
	limit    float64 // that lambda prices: load, or wait
	boundary step
	divided  bool // boundary is one, and these are what passing it changes:
	load     float64
	wait     float64

	certified bool // the rates need not be the best at the multipliers
	unmet     Unmet
}

// Solve finds the best rates.
func (p *Problem) Solve() *Solution {
	p.last = p.optimise()
	if p.last.lambda < p.hosts.least { // a host that was left out may be over its cap
		p.hosts.tighten(p, 0)
		p.last = p.optimise()
	}
	return p.report(p.last)
}

// optimise walks to the policy's goal, and back to the budget where that is
// nearer.
func (p *Problem) optimise() outcome {
	budget := goal{limit: p.loadLimit()}
	if p.config.Policy != Fast {
		return p.within(budget)
	}
	out := p.reach(goal{wait: true, limit: p.waitLimit()})
	if p.path.load.over(budget.limit) {
		out = p.within(budget)
		out.unmet.Target = true
		return out
	}
	out.unmet.Target = out.ending == atCeiling
	return out
}

// within walks to the budget.
func (p *Problem) within(budget goal) outcome {
	out := p.reach(budget)
	out.unmet.Budget = out.ending == atFloor
	return out
}

func (p *Problem) outcome(e ending) outcome {
	out := outcome{ending: e, limit: p.path.goal.limit}
	if e == inside {
		s := p.path.boundary()
		i := int(s.channel)
		out.boundary, out.lambda, out.divided = s, s.ratio, true
		out.load = p.columns.loadOf(i, s.rung+1) - p.columns.loadOf(i, s.rung)
		out.wait = p.columns.waitOf(i, s.rung+1) - p.columns.waitOf(i, s.rung)
	}
	return out
}

// report writes a solution.
func (p *Problem) report(out outcome) *Solution {
	load, wait := p.ownSums()
	s := &Solution{
		Load:     load,
		Budget:   p.budget(),
		Lambda:   out.lambda * p.unit(),
		Boundary: -1,
		Polled:   p.polled,
		Unmet:    out.unmet,
	}
	if out.divided && int(out.boundary.channel) < len(p.crowd) {
		s.Boundary = int(out.boundary.channel)
	}
	s.Hosts = p.hostPrices(out)
	s.Unmet.Channels = p.outside()
	for _, h := range p.hosts.list {
		if h.unmet {
			s.Unmet.Hosts++
		}
	}
	s.Feasible = s.Unmet == Unmet{}
	if p.beside == nil {
		p.judge(s, out)
		return s
	}
	var gap float64
	if out.lambda > 0 {
		gap = p.gap(out.lambda)
	}
	s.Objective, s.Bound = load, load
	if p.config.Policy != Fast {
		scale := p.unit() / max(p.subscribers.value(), smallest)
		s.Objective, s.Bound = wait*scale, max(wait-gap, 0)*scale
	} else if out.lambda > 0 {
		s.Bound = max(load-gap/out.lambda, 0)
	}
	s.Beyond = s.Objective
	return s
}

// gap returns by how much weight/rate + price·rate of the problem's own channels is more
// than the least, which keys that were moved apart, and limits that divide equal steps,
// may miss.
func (p *Problem) gap(lambda float64) float64 {
	mu := make([]float64, len(p.hosts.list)+1)
	for k, h := range p.hosts.list {
		mu[k+1] = h.mu
	}
	c := &p.columns
	var gap sum
	for i, n := range p.path.rung[:len(p.crowd)] {
		price := lambda * c.costOf(i)
		if p.hosts.of != nil {
			price += mu[p.hosts.of[i]]
		}
		if c.weight[i] == 0 || c.keeps(i, n, price, price) {
			continue
		}
		lo, hi := c.bounds(i)
		best := min(max(c.rungs.choice(c.weight[i]/price), lo), hi)
		gap.add(max(c.waitOf(i, n)-c.waitOf(i, best)+price*(c.rungs.at(n)-c.rungs.at(best)), 0))
	}
	return gap.value()
}

// ownSums returns load and wait of the problem's own channels.
func (p *Problem) ownSums() (load, wait float64) {
	if p.beside == nil {
		return p.path.load.value(), p.path.wait.value()
	}
	var loads, waits sum
	for i := range p.crowd {
		loads.add(p.columns.loadOf(i, p.path.rung[i]))
		waits.add(p.columns.waitOf(i, p.path.rung[i]))
	}
	return loads.value(), waits.value()
}

// unit converts Σ weight/rate into seconds.
func (p *Problem) unit() float64 {
	return p.config.Interval.Seconds() / 2 * p.config.Policy.scale(p.config.Interval)
}

// judge computes objective, bound and what lies beyond.
func (p *Problem) judge(s *Solution, out outcome) {
	load, wait := p.path.load.value(), p.path.wait.value()
	under := p.under(s, out)
	if p.config.Policy == Fast {
		s.Objective, s.Bound, s.Beyond = load, load, load-out.load
		if out.unmet.Target {
			s.Beyond = load + out.load
		}
		if out.lambda > 0 {
			s.Bound = min(load, load-under/out.lambda)
		}
		return
	}
	scale := p.unit() / max(p.subscribers.value(), smallest)
	s.Objective = wait * scale
	s.Bound = min(s.Objective, (wait-under)*scale)
	s.Beyond = (wait + out.wait) * scale
}

// under is how far the dual lies under the state (the gap), in weight/rate: what the
// limits leave unused, at their multipliers. A limit that could not be met counts as
// what was reached.
func (p *Problem) under(s *Solution, out outcome) float64 {
	load, wait := p.path.load.value(), p.path.wait.value()
	unused := out.lambda * (out.limit - load) // of the budget
	if p.config.Policy == Fast {
		unused = out.limit - wait
	}
	switch {
	case out.unmet.Budget:
		return 0
	case out.unmet.Target:
		unused = 0
	}
	if out.certified {
		unused += p.gap(out.lambda)
	}
	for _, h := range s.Hosts {
		unused += h.Mu / p.unit() * max(h.Cap-h.Polls, 0)
	}
	return unused
}

// hostPrices lists the hosts whose cap binds.
func (p *Problem) hostPrices(out outcome) []HostPrice {
	var prices []HostPrice
	for _, h := range p.hosts.list {
		mu := h.mu
		if p.config.Cost == Polls {
			mu = h.price - out.lambda
		}
		if h.edge < 0 || mu <= 0 {
			continue
		}
		prices = append(prices, HostPrice{Host: h.number, Mu: mu * p.unit(), Cap: h.cap,
			Polls: p.pollsOf(h).value(), Boundary: int(h.edge)})
	}
	return prices
}

// pollsOf returns the polls of a host per interval.
func (p *Problem) pollsOf(h host) sum {
	var polls sum
	for _, row := range p.hosts.rowsOf(h) {
		polls.add(p.columns.rungs.at(p.path.rung[row]))
	}
	return polls
}

// Detection returns the planned mean wait of a change in seconds, weighted by
// subscribers, and weighted by subscribers and frequency of change (0 without
// update intervals).
func (p *Problem) Detection() (perSubscriber, perUpdate float64) {
	var wait, weights, byUpdate, updates sum
	for i, q := range p.channels.Subscribers {
		if q == 0 {
			continue
		}
		d := mean(p.config.Interval, p.Rate(i))
		wait.add(q * d)
		weights.add(q)
		if p.channels.UpdateInterval != nil {
			w := q * Fair.weight(p.channels.UpdateInterval[i])
			byUpdate.add(w * d)
			updates.add(w)
		}
	}
	return quotient(wait, weights), quotient(byUpdate, updates)
}

func quotient(a, b sum) float64 {
	if b.value() == 0 {
		return 0
	}
	return a.value() / math.Max(b.value(), smallest)
}
