package honeycomb

// Where all polls cost the same, caps of hosts need no search of their own: a
// host's channels take their steps in the same order whatever the others do, and
// the cap ends that order at the same step. So each host is solved alone first,
// and what it reaches becomes its channels' upper bound.

// tighten lowers the highest rungs of the channels of every host to what its cap
// allows.
func (h *hosts) tighten(p *Problem) {
	if p.config.Cost != Polls {
		return
	}
	var scratch path
	for i := range h.list {
		p.tightenHost(&h.list[i], &scratch)
	}
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
		c.hi = append(c.hi, p.columns.hi[row])
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
