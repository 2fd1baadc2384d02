package main

import "math"

// result is what the scenario found.
type result struct {
	Channels      int     `json:"channels"`
	Subscriptions int     `json:"subscriptions"`
	Hosts         int     `json:"hosts"`
	IntervalS     float64 `json:"interval_s"`
	FloorS        float64 `json:"floor_s"`
	HostGapS      float64 `json:"host_gap_s"`
	Policy        string  `json:"policy"`
	Ladder        string  `json:"ladder"`
	Cost          string  `json:"cost"`
	Budget        string  `json:"budget"`
	TargetS       float64 `json:"target_s,omitempty"`
	Seed          uint64  `json:"seed"`

	Window     window      `json:"window"`
	Rates      rates       `json:"rates"`
	Plan       plan        `json:"plan"`
	Crowd      *crowd      `json:"crowd,omitempty"`
	Leave      *desertion  `json:"leave,omitempty"`
	Thresholds []threshold `json:"thresholds"`
}

func (r *result) describe(o options) {
	r.Channels, r.Subscriptions, r.Hosts = o.channels, o.subscriptions, o.hosts
	r.IntervalS, r.FloorS, r.HostGapS = o.interval.Seconds(), o.floor.Seconds(), o.hostGap.Seconds()
	r.Policy, r.Ladder, r.Cost, r.Budget, r.TargetS, r.Seed = o.policy, o.ladder, o.cost, o.budget, o.target.Seconds(), o.seed
}

// threshold is a figure that may be so high.
type threshold struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"`
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// The limits. What a plan is off is noise of nothing: only a last step does not fit.
// What is measured is off by polls that wait for their host, or are under way.
const (
	mostPlanOff     = 0.01
	mostMeasuredOff = 0.03
	mostCountOff    = 0.01 // the node's count to the origin's
	mostRatesOff    = 0.05 // of the sampled channels
	crowdSlack      = 8    // polls of one channel, just after its rate has changed, and late ones: at the floor none is made up for
	mostRiseS       = 5
	mostSettleS     = 10
)

// judge compares what was found with the limits.
func (r *result) judge(o options) {
	r.most("planned load off min(budget, feasible)", r.Plan.off(o), mostPlanOff)
	r.most("planned load over the budget", max(r.Plan.Planned/r.Plan.Budget-1, 0), 1e-9)
	r.most("measured polls off planned, mean over the intervals", off(r.Window.Measured, r.Window.Planned), mostMeasuredOff+r.Window.chance(o))
	r.most("polls at the origin off the node's count", off(r.Window.Origin, r.Window.Measured), mostCountOff)
	r.most("sampled channels with other polls than explained", float64(r.Rates.Off)/float64(r.Rates.Sampled), mostRatesOff)
	if c := r.Crowd; c != nil {
		r.most("crowd: seconds until the rate rises", c.FirstRiseS, mostRiseS)
		r.most("crowd: polls over planned", max(c.Course.Polls/c.Course.Planned-1, 0), mostMeasuredOff)
		r.most("crowd: polls at the origin off the rate", off(c.OriginPolls, c.Rate[1]), mostMeasuredOff+crowdSlack/c.Rate[1])
		r.most("crowd: planned load off min(budget, feasible)", c.Plan.off(o), mostPlanOff)
	}
	if d := r.Leave; d != nil {
		r.most("leave: seconds until the plan stands", d.SettledS, mostSettleS)
		r.most("leave: measured polls off planned, an interval later", off(d.Window.Measured, d.Window.Planned), mostMeasuredOff+d.Window.chance(o))
		r.most("leave: planned load off min(budget, feasible)", d.Plan.off(o), mostPlanOff)
	}
}

// chance is what phases may add: each channel's polls within a time are off their
// number by half a poll, standard deviation; thrice that of all together.
func (w *window) chance(o options) float64 {
	return 1.5 * math.Sqrt(float64(o.channels)) / (w.Planned * float64(len(w.Intervals)))
}

// off is by what part the plan is off the load that it should have: what budget or
// bounds allow, or for policy fast the least that reaches the target.
func (p *plan) off(o options) float64 {
	if o.policy == "fast" {
		return off(p.Planned, p.Solved)
	}
	return off(p.Planned, min(p.Budget, p.Feasible))
}

func (r *result) most(name string, value, limit float64) {
	r.Thresholds = append(r.Thresholds, threshold{name, limit, value, value <= limit})
}

// held reports whether every threshold holds, and names those that do not.
func (r *result) held() bool {
	held := true
	for _, t := range r.Thresholds {
		if !t.OK {
			held = false
			logf("missed: %s is %.4g, want %.4g at most", t.Name, t.Value, t.Limit)
		}
	}
	return held
}
