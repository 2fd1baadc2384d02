package honeycomb

import "slices"

// hosts are the hosts whose cap can bind, with their channels.
type hosts struct {
	list  []host
	rows  []int32 // of the first host, of the second, …; ascending within each
	least float64 // costs of 1: hosts that keep their cap at this multiplier are not tightened

	of []int32 // by row, where costs differ: 1 + the index of its host in list, 0: none
}

// A host's channels share a cap.
type host struct {
	number   int32
	from, to int32   // in hosts.rows
	cap      float64 // polls per interval
	released release
	unmet    bool    // its channels' lowest rates are over the cap
	price    float64 // costs of 1: worth of the first step that the cap keeps out; 0: none
	mu       float64 // other costs: the multiplier of the cap, beside the budget's
	edge     int32   // row of the channel whose step the cap keeps out, −1: none
}

func (h hosts) rowsOf(one host) []int32 { return h.rows[one.from:one.to] }

// capOf returns a host's cap, or 0.
func (c Config) capOf(number int32) float64 {
	if int(number) < len(c.HostCaps) && c.HostCaps[number] > 0 {
		return c.HostCaps[number]
	}
	return c.HostCap
}

// group finds the hosts whose channels could pass their cap, and lists them.
func (p *Problem) group() error {
	place, err := p.countHosts()
	if err != nil || place == nil {
		return err
	}
	most := p.columns.rungs.at(p.columns.rungs.top)
	var rows int32
	for number, n := range place { // of each host's rows, then where its next goes
		place[number] = -1
		cap := p.config.capOf(int32(number))
		if cap == 0 || float64(n)*most <= cap {
			continue
		}
		place[number] = rows
		p.hosts.list = append(p.hosts.list, host{number: int32(number), from: rows, to: rows + n, cap: cap, edge: -1})
		rows += n
	}
	p.listRows(rows, place)
	if p.channels.MaxRate != nil {
		p.hosts.list = slices.DeleteFunc(p.hosts.list, func(h host) bool { return p.highestOf(h) <= h.cap })
	}
	if p.config.Cost != Polls {
		p.numberRows()
	}
	return nil
}

func (p *Problem) listRows(n int32, place []int32) {
	p.hosts.rows = make([]int32, n)
	for i, number := range p.channels.Host {
		if number >= 0 && p.columns.weight[i] > 0 && place[number] >= 0 {
			p.hosts.rows[place[number]] = int32(i)
			place[number]++
		}
	}
}

// numberRows notes the host of each row.
func (p *Problem) numberRows() {
	p.hosts.of = make([]int32, len(p.columns.key))
	for k, h := range p.hosts.list {
		for _, row := range p.hosts.rowsOf(h) {
			p.hosts.of[row] = int32(k + 1)
		}
	}
}

// highestOf returns the polls of a host's channels at their highest.
func (p *Problem) highestOf(h host) (polls float64) {
	for _, row := range p.hosts.rowsOf(h) {
		polls += p.columns.rungs.at(p.columns.hi[row])
	}
	return polls
}

// countHosts returns how many channels with subscribers each host has; nil when none has a
// cap.
func (p *Problem) countHosts() ([]int32, error) {
	limit := max(p.channels.Len(), len(p.config.HostCaps))
	var counts []int32
	if p.channels.Host != nil && (p.config.HostCap > 0 || len(p.config.HostCaps) > 0) {
		counts = make([]int32, limit)
	}
	for i, number := range p.channels.Host {
		if int(number) >= limit {
			return nil, &RowError{Row: i, Column: "host", Value: float64(number),
				Reason: "is no number of a host: they are counted from 0"}
		}
		if number >= 0 && counts != nil && p.columns.weight[i] > 0 {
			counts[number]++
		}
	}
	return counts, nil
}

// release lets in rates below the channels' lower bounds on hosts whose cap is
// under them.
func (h *hosts) release(p *Problem) {
	for i := range h.list {
		one := &h.list[i]
		over := func() bool { return p.lowestOf(*one).over(one.cap) }
		for one.unmet = over(); one.unmet && one.released < keepNone; one.unmet = over() {
			one.released++
			p.lowerHost(*one, p.released)
		}
	}
}

// lowestOf returns the polls of a host's channels at their lowest.
func (p *Problem) lowestOf(h host) (polls sum) {
	for _, row := range p.hosts.rowsOf(h) {
		polls.add(p.columns.rungs.at(p.columns.lo[row]))
	}
	return polls
}
