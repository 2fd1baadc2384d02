package primary

import (
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Plan is the latest solution as a whole.
type Plan struct {
	Policy      honeycomb.Policy
	Ladder      honeycomb.Ladder
	Cost        honeycomb.Cost
	Maintenance time.Duration

	Budget   float64 // this node's part of what was asked for, or what the subscribers would cause alone; in the cost's unit per interval
	Capacity float64 // measured; 0: no limit was met
	Planned  float64 // Σ cost·rate
	Polls    float64 // Σ rate
	Measured float64 // of what rates plan, over the last minute, per interval; polls whatever the cost
	Target   time.Duration

	Subscribers float64       // of the channels that this node owns
	Detected    time.Duration // planned mean wait of a change, weighted by subscribers
	Bound       time.Duration // no rates within all limits do better; for another policy than lite: its own sum per subscriber

	Lambda      float64
	HostsBound  int // whose cap binds
	Feasible    bool
	Unmet       honeycomb.Unmet
	Solved      time.Time
	Took        time.Duration // the latest full solve, columns and all
	Incremental uint64        // solves of a few changed channels since the latest full one
}

// Plan returns the latest solution as a whole.
func (pl *planner) Plan() Plan {
	pl.book.Lock()
	latest := pl.latest
	pl.book.Unlock()
	if pl.config.Measure != nil {
		latest.Measured = pl.config.Measure().PollsPerInterval
	}
	return latest
}

// planOf describes what was found, at the rates that are ordered. Both locks are held.
func (pl *planner) planOf(all sums) Plan {
	c, s := pl.config, pl.rates.plan.Solution
	plan := Plan{
		Policy: c.Policy, Ladder: c.Ladder, Cost: c.Cost, Maintenance: c.maintenance(), Target: c.Target,
		Budget: pl.rates.plan.Budget(), Capacity: pl.rates.capacity, Planned: all.load, Polls: all.rate,
		Subscribers: all.crowd, Lambda: s.Lambda, HostsBound: len(s.Hosts), Feasible: s.Feasible, Unmet: s.Unmet,
		Solved: c.Now(), Took: pl.fullTook, Incremental: pl.updates,
	}
	if plan.Budget == 0 {
		plan.Budget = all.alone
	}
	if all.crowd > 0 {
		plan.Detected = time.Duration(float64(c.Interval) / 2 * all.wait / all.crowd)
	}
	plan.Bound = time.Duration(s.Bound * float64(time.Second))
	if c.Policy == honeycomb.Fast {
		plan.Bound = min(plan.Detected, c.Target)
	}
	return plan
}
