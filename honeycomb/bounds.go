package honeycomb

// bound gives every channel its range of rungs: from the channels' bounds, the
// hosts' caps and, where those or the budget leave less than a poll an interval
// each, with lower rates let in.
func (p *Problem) bound() error {
	if p.channels.MinRate != nil || p.channels.MaxRate != nil {
		p.columns.spread()
		p.upperAll()
	}
	if err := p.group(); err != nil {
		return err
	}
	if len(p.hosts.list) > 0 && p.columns.hi == nil {
		p.columns.spread()
	}
	p.lowerAll(keepAll)
	p.hosts.release(p)
	p.floorLoad = p.columns.end(goal{}, false)
	for p.released < keepNone && p.floorLoad.over(p.loadLimit()) {
		p.released++
		p.lowerAll(p.released)
		p.floorLoad = p.columns.end(goal{}, false)
	}
	p.hosts.tighten(p, p.leastLikely())
	return nil
}

// spread gives every channel a range of its own, up to the top.
func (c *columns) spread() {
	c.lo, c.hi = make([]int32, len(c.key)), make([]int32, len(c.key))
	for i := range c.hi {
		c.hi[i] = c.rungs.top
	}
}

// upperAll sets all highest rungs.
func (p *Problem) upperAll() {
	for i, most := range p.channels.MaxRate {
		if most > 0 {
			p.columns.hi[i] = p.columns.rungs.atMost(most)
		}
	}
}

// upper returns a channel's highest rung.
func (p *Problem) upper(i int) int32 {
	if most := wish(p.channels.MaxRate, i); most > 0 {
		return p.columns.rungs.atMost(most)
	}
	return p.columns.rungs.top
}

// wish reads a column of bounds; rows of stand-ins, which come after the columns' end,
// have none.
func wish(column []float64, i int) float64 {
	if i >= len(column) {
		return 0
	}
	return column[i]
}

// lower returns a channel's lowest rung. An upper bound, which the origin asks for, has
// precedence over a lower one.
func (p *Problem) lower(i int, r release) int32 {
	lo := p.columns.rungs.bottom
	if r < keepNone {
		lo = p.columns.rungs.atLeast(wish(p.channels.MinRate, i))
	}
	if r == keepAll {
		lo = max(lo, 0)
	}
	return min(lo, p.columns.hi[i])
}

// lowerAll sets all lowest rungs.
func (p *Problem) lowerAll(r release) {
	c := &p.columns
	c.whole = r == keepAll
	var lowest int32
	if !c.whole {
		lowest = c.rungs.bottom
	}
	if c.lo == nil {
		c.floor = lowest
		return
	}
	for i, hi := range c.hi {
		c.lo[i] = min(lowest, hi)
	}
	for i, least := range p.channels.MinRate {
		if least > 0 {
			c.lo[i] = p.lower(i, r)
		}
	}
	for _, h := range p.hosts.list {
		p.lowerHost(h, r)
	}
}

func (p *Problem) lowerHost(h host, r release) {
	if h.released <= r {
		return
	}
	p.columns.whole = false
	for _, row := range p.hosts.rowsOf(h) {
		p.columns.lo[row] = p.lower(int(row), h.released)
	}
}

// outside counts the channels whose rate lies outside their own bounds.
func (p *Problem) outside() int {
	if p.channels.MinRate == nil && p.channels.MaxRate == nil {
		return 0
	}
	var n int
	for i := range p.crowd {
		if p.violates(i) {
			n++
		}
	}
	return n
}

// violates says whether a channel's rate lies outside its own bounds.
func (p *Problem) violates(i int) bool {
	least, most := wish(p.channels.MinRate, i), wish(p.channels.MaxRate, i)
	if least == 0 && most == 0 {
		return false
	}
	rate := p.Rate(i)
	return rate > 0 && (rate < least || most > 0 && rate > most)
}
