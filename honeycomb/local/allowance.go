package local

// An allowance is the most that an owner may plan. Those of all owners together come to
// no more than the budget, as long as they know the same.
type allowance struct {
	limited bool // else there is no limit but the problem's own
	load    float64
	auto    float64 // Σ q·cost that load was made for
	follows bool    // load follows the subscribers
}

// at returns the allowance for the subscribers as they are: an automatic budget grows by
// what they add to it, and shrinks in proportion.
func (a allowance) at(auto float64) float64 {
	switch {
	case !a.follows:
		return a.load
	case auto >= a.auto:
		return a.load + auto - a.auto
	}
	return a.load * auto / a.auto
}

// told are sums over summaries.
type told struct{ planned, wanted, auto float64 }

func sumsOf(summaries []Summary) (t told) {
	for _, s := range summaries {
		t.planned += s.Planned
		t.wanted += max(s.Wanted-s.Planned, 0)
		t.auto += s.Auto
	}
	return t
}

// allowance divides a budget, 0 for one that follows the subscribers. Each owner keeps
// what it planned last. What the plans of all leave of the budget goes to those that want
// more, as much as they want; what that leaves, to all by their subscribers, or of a
// budget that was set by their parts of all channels.
// auto is the owner's Σ q·cost as it is now, most what it may not pass in any case.
func (o Others) allowance(budget, auto, most float64) allowance {
	own, others := sumsOf(o.Own), sumsOf(o.Summaries)
	a := allowance{limited: true, follows: budget == 0, auto: own.auto}
	part := share(o.Share, o.Part)
	if budget == 0 {
		budget = own.auto + others.auto
		part = share(own.auto, budget)
	} else {
		own.planned += budget * o.Untold
		budget *= o.Part
	}
	planned, wanted := own.planned+others.planned, own.wanted+others.wanted
	if room := budget - planned; room < 0 {
		a.load = own.planned * budget / planned
	} else {
		claimed := min(wanted, room)
		a.load = own.planned + share(own.wanted, wanted)*claimed + part*(room-claimed)
	}
	a.load, a.auto = a.at(auto), auto
	if most > 0 && most < a.load {
		a.load, a.follows = most, false
	}
	return a
}

// share returns part over whole, 0 where there is none.
func share(part, whole float64) float64 {
	if !(whole > 0) {
		return 0
	}
	return part / whole
}
