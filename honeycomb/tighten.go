package honeycomb

// Where all polls cost the same, caps of hosts need no search of their own: a
// host's channels take their steps in the same order whatever the others do, and
// the cap ends that order at the same step. So each host is solved alone first,
// and what it reaches becomes its channels' upper bound.

// tighten lowers the highest rungs of the channels of every host to what its cap allows,
// but for hosts that keep it at the least multiplier that the solution is to have.
func (h *hosts) tighten(p *Problem, least float64) {
	if p.config.Cost != Polls {
		return
	}
	h.least = least
	var scratch path
	for i := range h.list {
		if p.passes(h.list[i], least) {
			p.tightenHost(&h.list[i], &scratch)
		}
	}
}

// leastLikely returns a multiplier that the solution hardly comes to lie under: a quarter of
// what a sample has without caps. It is 0 where few hosts could be left out.
func (p *Problem) leastLikely() float64 {
	if p.config.Cost != Polls || len(p.hosts.list) < fewSteps {
		return 0
	}
	few := p.columns.sample()
	if few == nil {
		return 0
	}
	g := goal{limit: p.loadLimit()}
	if p.config.Policy == Fast {
		g = goal{wait: true, limit: p.waitLimit()}
	}
	g.limit *= float64(len(few.key)) / float64(len(p.columns.key))
	return few.find(g) / 4
}

// passes says whether a host's channels may pass its cap at a multiplier.
func (p *Problem) passes(h host, lambda float64) bool {
	if lambda == 0 {
		return true
	}
	var polls float64
	for _, row := range p.hosts.rowsOf(h) {
		lo, hi := p.columns.bounds(int(row))
		n := p.columns.rungs.choice(p.columns.key[row] / lambda * (1 + closed))
		polls += p.columns.rungs.at(min(max(n, lo), hi))
	}
	return polls > h.cap*(1-closed)
}

func (p *Problem) tightenHost(one *host, scratch *path) {
	rows := p.hosts.rowsOf(*one)
	p.load(scratch, rows)
	scratch.whole = max(p.released, one.released) == keepAll
	one.price, one.edge = 0, -1
	switch scratch.reach(goal{limit: one.cap}) {
	case inside:
		first := scratch.boundary()
		one.price, one.edge = first.ratio, rows[first.channel]
	case atFloor:
		one.price, one.edge = scratch.worthiest(rows)
	}
	for i, row := range rows {
		p.columns.hi[row] = scratch.rung[i]
	}
}

// load copies a host's channels into a path of their own, each poll costing 1.
func (p *Problem) load(to *path, rows []int32) {
	c := to.columns
	if c == nil {
		c = &columns{rungs: p.columns.rungs}
		to.columns, to.terms = c, c
	}
	c.weight, c.lo, c.hi, to.rung = c.weight[:0], c.lo[:0], c.hi[:0], to.rung[:0]
	for _, row := range rows {
		c.weight = append(c.weight, p.columns.weight[row])
		c.lo = append(c.lo, p.columns.lo[row])
		c.hi = append(c.hi, p.upper(int(row)))
		to.rung = append(to.rung, 0)
	}
	c.key = c.weight
}

// worthiest returns the ratio of the best first step, and the row of its channel.
func (p *path) worthiest(rows []int32) (ratio float64, row int32) {
	row = -1
	for i := range p.key {
		lo, hi := p.bounds(i)
		if lo < hi && p.ratio(i, lo) > ratio {
			ratio, row = p.ratio(i, lo), rows[i]
		}
	}
	return ratio, row
}
