package primary

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Explanation says why a channel is polled at its rate. Rates are polls per
// interval; worths are seconds that a step takes off Σ weight·d for each unit of
// cost.
type Explanation struct {
	Rate  overlay.Rate
	Width int

	Subscribers    uint64
	SizeBytes      float64       // expected of a poll; 0: not known
	UpdateInterval time.Duration // estimated
	Weight, Cost   float64       // in the policy's sum and in the load

	Least, Most  float64 // rates that the bounds below leave
	AtLeast      string  // what Least comes from: BoundOnce, BoundOverflow, BoundBudget; BoundOrigin and BoundHost where they leave less
	AtMost       string  // what Most comes from: BoundFloor, BoundOrigin, BoundHost
	Last, Next   float64 // worth of the step that led to the rate (0: it is the least), and of the next one (0: it is the most)
	Lambda       float64 // worth that a step must have
	Host         string
	HostMu       float64 // what the host's cap adds to Lambda, per poll; 0: it does not bind
	HostPolls    float64 // planned for all channels of the host
	HostCap      float64 // 0: none
	Above, Below *Neighbour
	Solved       time.Time // by the solve of this moment; zero: none yet
}

// What the least and the most of an [Explanation] come from.
const (
	BoundOnce     = "once"     // a poll an interval: no subscriber waits longer than its own reader would
	BoundOverflow = "overflow" // entries would come and go unseen
	BoundBudget   = "budget"   // too small for a poll an interval of each
	BoundFloor    = "floor"    // the shortest time between two polls
	BoundOrigin   = "origin"   // its words
	BoundHost     = "host"     // its cap
)

// Neighbour is the channel that, among all, would give up its last step next, or
// take its next one.
type Neighbour struct {
	Channel channel.ID
	Rate    float64
	Worth   float64
}

// Explain says why a channel is polled at its rate. It looks at all channels, and
// waits for a solve that is under way.
func (pl *planner) Explain(id channel.ID) (Explanation, error) {
	ch, err := pl.store.Channel(id)
	if err != nil {
		return Explanation{}, fmt.Errorf("read channel %s: %w", id, err)
	}
	pl.solving.Lock()
	defer pl.solving.Unlock()
	e, f := pl.known(ch)
	if !e.Solved.IsZero() {
		pl.rates.weigh(&e, f)
		pl.compare(&e, f)
	}
	return e, nil
}

// known is what the plan knows of a channel. solving is held.
func (pl *planner) known(ch channel.Channel) (Explanation, factors) {
	pl.book.Lock()
	defer pl.book.Unlock()
	f := pl.book.plan.of(ch)
	rate := f.rate.rate()
	e := Explanation{
		Rate:           rate,
		Width:          overlay.WidthOf(rate, pl.config.Interval, pl.config.Floor),
		Subscribers:    ch.Subscribers,
		SizeBytes:      float64(f.size.bytes()),
		UpdateInterval: time.Duration(f.evidence.interval(pl.config.Now()) * float64(time.Second)),
		Host:           hostOf(ch),
	}
	if !f.polled() {
		return e, f
	}
	if f.host != noHost {
		e.HostCap = pl.book.plan.hosts.capOf(f.host)
	}
	if !f.dirty && pl.rates.plan != nil {
		e.Solved = pl.latest.Solved
	}
	return e, f
}

// weigh adds what the optimiser knows of a channel. solving is held.
func (r *rates) weigh(e *Explanation, f factors) {
	why := r.plan.Problem.Explain(int(f.row))
	e.Weight, e.Cost = why.Weight, why.Cost
	e.Least, e.Most, e.Last, e.Next = why.Least, why.Most, why.Last, why.Next
	e.Lambda = r.plan.Solution.Lambda
	for _, h := range r.plan.Solution.Hosts {
		if h.Host == r.columns.hostOf(f.row) {
			e.HostMu = h.Mu
		}
	}
	e.AtMost = BoundFloor
	switch most := f.most; {
	case why.Most < why.Alone:
		e.AtMost = BoundHost
	case most != 0 && most.float() < math.Floor(float64(r.config.Nodes)*float64(r.config.Interval)/float64(r.config.Floor)):
		e.AtMost = BoundOrigin
	}
	e.AtLeast = leastBy(*e, wish(r.columns.MinRate, f.row))
}

// leastBy says where the least rate comes from, given the one that an overflow asks
// for. The most goes before it.
func leastBy(e Explanation, overflow float64) string {
	switch {
	case e.Least == 1:
		return BoundOnce
	case overflow > 0 && e.Least >= overflow:
		return BoundOverflow
	case e.Least == e.Most && e.AtMost != BoundFloor:
		return e.AtMost
	case e.HostMu > 0:
		return BoundHost
	}
	return BoundBudget
}

// A boundary is the two channels, by row, between which the optimiser has drawn the
// line: -1 for none.
type boundary struct {
	of           *honeycomb.Solution
	above, below int32
	last, next   float64 // worths of their steps
}

// boundaryOf looks for the channels whose last step is worth least and whose next one
// is worth most, but for those that a host's cap keeps out.
func boundaryOf(p *honeycomb.Problem, s *honeycomb.Solution, rows int) boundary {
	b := boundary{of: s, above: noRow, below: noRow, last: math.Inf(1)}
	for i := range rows {
		e := p.Explain(i)
		if e.Last > 0 && e.Last < b.last {
			b.above, b.last = int32(i), e.Last
		}
		if e.Next > b.next && e.Next <= s.Lambda {
			b.below, b.next = int32(i), e.Next
		}
	}
	return b
}

// compare adds the channels at the boundary, and what is planned for the channel's
// host. solving is held.
func (pl *planner) compare(e *Explanation, f factors) {
	r := &pl.rates
	if r.boundary.of != r.plan.Solution {
		r.boundary = boundaryOf(r.plan.Problem, r.plan.Solution, r.columns.Len())
	}
	b := r.boundary
	pl.book.walk(func(run []entry) {
		for i := range run {
			one := &run[i]
			if !one.polled() || one.row == noRow {
				continue
			}
			if f.host != noHost && one.host == f.host {
				e.HostPolls += one.rate.float()
			}
			if one.row == b.above {
				e.Above = &Neighbour{one.id, one.rate.float(), b.last}
			}
			if one.row == b.below {
				e.Below = &Neighbour{one.id, one.rate.float(), b.next}
			}
		}
	})
}
