package honeycomb

// Rate returns the polls per interval of the channel in a row, as last solved.
func (p *Problem) Rate(i int) float64 {
	if p.columns.weight[i] == 0 {
		return 0
	}
	return p.columns.rungs.at(p.path.rung[i])
}

// An Explanation says why a channel has its rate. Worths are in seconds that a
// step takes off Σ weight·d for each unit of cost: steps worth more than
// [Solution.Lambda], and the multiplier of a binding host over the cost, are
// taken.
type Explanation struct {
	Weight float64 // subscribers, times the policy's factor
	Cost   float64 // of a poll
	Rate   float64 // polls per interval
	Least  float64 // rate that bounds allow
	Most   float64 // rate that bounds, and the cap of its host, allow
	Alone  float64 // rate that bounds allow, whatever its host's cap
	Last   float64 // worth of the step that led to the rate, 0: it is the least
	Next   float64 // worth of the step to the next rate, 0: it is the most
}

// Explain returns what decided about the channel in a row; all zero for one
// without subscribers.
func (p *Problem) Explain(i int) Explanation {
	if p.columns.weight[i] == 0 {
		return Explanation{}
	}
	c, n := &p.columns, p.path.rung[i]
	lo, hi := c.bounds(i)
	e := Explanation{
		Weight: c.weight[i] * p.config.Policy.scale(p.config.Interval), Cost: c.costOf(i),
		Rate: c.rungs.at(n), Least: c.rungs.at(lo), Most: c.rungs.at(hi), Alone: c.rungs.at(p.upper(i)),
	}
	if n > lo {
		e.Last = c.ratio(i, n-1) * p.unit()
	}
	if n < hi {
		e.Next = c.ratio(i, n) * p.unit()
	}
	return e
}
