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
		p.columns.lo = make([]int32, ch.Len())
		p.columns.hi = make([]int32, ch.Len())
		for i := range p.columns.hi {
			p.columns.hi[i] = p.upper(i)
		}
		p.lowerAll(keepAll)
	}
	p.hosts.release(p)
	p.floorLoad = p.columns.end(goal{}, false)
	for p.released < keepNone && p.floorLoad.over(p.budget()) {
		p.released++
		p.lowerAll(p.released)
		p.floorLoad = p.columns.end(goal{}, false)
	}
	p.hosts.tighten(p)
	return nil
}

// upper returns a channel's highest rung.
func (p *Problem) upper(i int) int32 {
	if p.channels.MaxRate != nil && p.channels.MaxRate[i] > 0 {
		return p.columns.rungs.atMost(p.channels.MaxRate[i])
	}
	return p.columns.rungs.top
}

// lower returns a channel's lowest rung. An upper bound, the origin's word, goes
// before a lower one.
func (p *Problem) lower(i int, r release) int32 {
	lo := p.columns.rungs.bottom
	if p.channels.MinRate != nil && p.channels.MinRate[i] > 0 && r < keepNone {
		lo = p.columns.rungs.atLeast(p.channels.MinRate[i])
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
	for i := range p.path.rung {
		n += p.violates(i)
	}
	return n
}

// violates returns 1 when a channel's rate lies outside its own bounds, else 0.
func (p *Problem) violates(i int) int {
	rate := p.Rate(i)
	if rate == 0 {
		return 0
	}
	if p.channels.MinRate != nil && rate < p.channels.MinRate[i] {
		return 1
	}
	if p.channels.MaxRate != nil && p.channels.MaxRate[i] > 0 && rate > p.channels.MaxRate[i] {
		return 1
	}
	return 0
}

// Rate returns the polls per interval of the channel in a row, as last solved.
func (p *Problem) Rate(i int) float64 {
	if p.columns.weight[i] == 0 {
		return 0
	}
	return p.columns.rungs.at(p.path.rung[i])
}
