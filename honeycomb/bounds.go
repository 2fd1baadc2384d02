package honeycomb

// bound gives every channel its range of rungs: from the channels' bounds, the
// hosts' caps and, where those or the budget leave less than a poll an interval
// each, with lower rates let in.
func (p *Problem) bound() error {
	ch := p.channels
	if err := p.group(); err != nil {
		return err
	}
	if ch.MinRate != nil || ch.MaxRate != nil || len(p.hosts.list) > 0 {
		p.columns.lo = make([]int32, len(p.columns.key))
		p.columns.hi = make([]int32, len(p.columns.key))
		for i := range p.columns.hi {
			p.columns.hi[i] = p.upper(i)
		}
		p.lowerAll(keepAll)
	}
	p.hosts.release(p)
	p.floorLoad = p.columns.end(goal{}, false)
	for p.released < keepNone && p.floorLoad.over(p.loadLimit()) {
		p.released++
		p.lowerAll(p.released)
		p.floorLoad = p.columns.end(goal{}, false)
	}
	p.hosts.tighten(p)
	return nil
}

// upper returns a channel's highest rung.
func (p *Problem) upper(i int) int32 {
	if most := wish(p.channels.MaxRate, i); most > 0 {
		return p.columns.rungs.atMost(most)
	}
	return p.columns.rungs.top
}

// wish reads a column of bounds; those who stand in for others' channels have
// none.
func wish(column []float64, i int) float64 {
	if i >= len(column) {
		return 0
	}
	return column[i]
}

// lower returns a channel's lowest rung. An upper bound, the origin's word, goes
// before a lower one.
func (p *Problem) lower(i int, r release) int32 {
	lo := p.columns.rungs.bottom
	if least := wish(p.channels.MinRate, i); least > 0 && r < keepNone {
		lo = p.columns.rungs.atLeast(least)
	}
	if r == keepAll {
		lo = max(lo, 0)
	}
	return min(lo, p.columns.hi[i])
}

// lowerAll sets all lowest rungs.
func (p *Problem) lowerAll(r release) {
	if p.columns.lo == nil {
		p.columns.floor = p.columns.rungs.bottom
		return
	}
	for i := range p.columns.lo {
		p.columns.lo[i] = p.lower(i, r)
	}
	for _, h := range p.hosts.list {
		p.lowerHost(h, r)
	}
}

func (p *Problem) lowerHost(h host, r release) {
	for _, row := range p.hosts.rowsOf(h) {
		p.columns.lo[row] = p.lower(int(row), max(r, h.released))
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
	rate, most := p.Rate(i), wish(p.channels.MaxRate, i)
	return rate > 0 && (rate < wish(p.channels.MinRate, i) || most > 0 && rate > most)
}
