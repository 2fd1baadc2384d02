package honeycomb

import (
	"cmp"
	"slices"
)

// A filler shares a host's cap among its channels when a unit of cost has a
// price: it takes the steps that save most for each poll, less what they cost.
type filler struct {
	p     *Problem
	steps []netStep
}

// A netStep is a step and what it saves for each poll beyond its cost.
type netStep struct {
	net  float64
	row  int32
	rung int32 // that it leaves
}

// fill writes the rungs of a host's channels at a multiplier of the budget, and
// the host's own, with the channel whose step the cap keeps out.
func (f *filler) fill(h *host, lambda float64, rung []int32) {
	c := &f.p.columns
	rows := f.p.hosts.rowsOf(*h)
	var polls sum
	for _, row := range rows {
		rung[row] = c.exact(int(row), lambda)
		polls.add(c.rungs.at(rung[row]))
	}
	h.mu, h.edge = 0, -1
	if !polls.over(h.cap) {
		return
	}
	if h.unmet {
		f.empty(h, lambda, rung)
		return
	}
	low, high := f.bracket(h, rows, lambda)
	f.list(rows, lambda, low, high, rung)
	f.walk(h, rows, rung)
}

// empty sets a host's channels, whose lowest rungs are over its cap, to those.
func (f *filler) empty(h *host, lambda float64, rung []int32) {
	c := &f.p.columns
	for _, row := range f.p.hosts.rowsOf(*h) {
		lo, hi := c.bounds(int(row))
		rung[row] = lo
		if net := f.net(int(row), lo, lambda); lo < hi && net > h.mu {
			h.mu, h.edge = net, row
		}
	}
}

// net is what a step saves for each poll, beyond its cost.
func (f *filler) net(i int, rung int32, lambda float64) float64 {
	c := &f.p.columns
	return c.weight[i]/c.rungs.between(rung) - lambda*c.costOf(i)
}

// demand returns the polls that a host's channels want at the two multipliers,
// and the sum of their rungs.
func (f *filler) demand(rows []int32, lambda, mu float64) (polls float64, rungs int64) {
	c := &f.p.columns
	for _, row := range rows {
		n := f.want(int(row), lambda, mu)
		polls += c.rungs.at(n)
		rungs += int64(n)
	}
	return polls, rungs
}

// want is a channel's rung at the two multipliers, but for rounding.
func (f *filler) want(i int, lambda, mu float64) int32 {
	c := &f.p.columns
	lo, hi := c.bounds(i)
	return min(max(c.rungs.choice(c.weight[i]/(lambda*c.costOf(i)+mu)), lo), hi)
}

// bracket returns multipliers of a host, too low and not too low, that few steps
// lie between.
func (f *filler) bracket(h *host, rows []int32, lambda float64) (low, high float64) {
	const few = 64
	b := bracket{goal: goal{limit: h.cap}}
	for _, row := range rows {
		lo, hi := f.p.columns.bounds(int(row))
		if lo < hi {
			b.high = max(b.high, f.net(int(row), lo, lambda))
		}
	}
	b.high *= 1 + closed
	_, b.highRungs = f.demand(rows, lambda, b.high)
	_, b.lowRungs = f.demand(rows, lambda, 0)
	mu := h.lastMu
	for pass := 0; b.lowRungs-b.highRungs > few && pass < 100; pass++ {
		if !b.inside(mu) || pass > 12 {
			mu = b.low + (b.high-b.low)/2
		}
		polls, rungs := f.demand(rows, lambda, mu)
		if polls > h.cap {
			b.lowRungs = rungs
		} else {
			b.highRungs = rungs
		}
		mu = b.observe(mu, polls)
	}
	return b.low, b.high
}

// list sets a host's channels to what they want at the upper multiplier and
// lists the steps down to the lower one, the best first.
func (f *filler) list(rows []int32, lambda, low, high float64, rung []int32) {
	f.steps = f.steps[:0]
	for _, row := range rows {
		i := int(row)
		lo, _ := f.p.columns.bounds(i)
		least := max(f.want(i, lambda, high*(1+closed))-1, lo)
		most := min(f.want(i, lambda, low*(1-closed))+1, rung[row])
		rung[row] = min(least, rung[row])
		for n := rung[row]; n < most; n++ {
			f.steps = append(f.steps, netStep{f.net(i, n, lambda), row, n})
		}
	}
	slices.SortFunc(f.steps, f.before)
}

// before orders steps: by what they save, then the smaller one, then the cheaper
// one, then by row.
func (f *filler) before(a, b netStep) int {
	switch {
	case a.net > b.net:
		return -1
	case a.net < b.net:
		return 1
	}
	c := &f.p.columns
	size := func(s netStep) float64 { return c.rungs.at(s.rung+1) - c.rungs.at(s.rung) }
	return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(c.costOf(int(a.row)), c.costOf(int(b.row))),
		cmp.Compare(a.row, b.row), cmp.Compare(a.rung, b.rung))
}

// walk takes the listed steps up to the host's cap.
func (f *filler) walk(h *host, rows []int32, rung []int32) {
	rungs := f.p.columns.rungs
	var polls sum
	for _, row := range rows {
		polls.add(rungs.at(rung[row]))
	}
	for _, s := range f.steps {
		with := polls
		with.add(rungs.at(s.rung + 1))
		with.add(-rungs.at(s.rung))
		if with.over(h.cap) {
			h.mu, h.edge = max(s.net, 0), s.row
			h.lastMu = h.mu
			return
		}
		polls = with
		rung[s.row] = s.rung + 1
	}
}
