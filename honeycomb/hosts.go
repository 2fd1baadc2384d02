package honeycomb

// hosts are the hosts whose cap can bind, with their channels.
type hosts struct {
	list []host
	rows []int32 // of the first host, of the second, …; ascending within each
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
	count, err := p.countHosts()
	if err != nil || count == 0 {
		return err
	}
	most := make([]float64, count)  // polls with all channels at their highest
	place := make([]int32, count+1) // rows of a host, then where its next goes
	for i, number := range p.channels.Host {
		if number >= 0 && p.columns.weight[i] > 0 {
			_, hi := p.columns.bounds(i)
			most[number] += p.columns.rungs.at(hi)
			place[number]++
		}
	}
	var rows int32
	for number, n := range place {
		place[number] = -1
		if number == count || p.config.capOf(int32(number)) == 0 || most[number] <= p.config.capOf(int32(number)) {
			continue
		}
		place[number] = rows
		p.hosts.list = append(p.hosts.list, host{number: int32(number), from: rows, to: rows + n,
			cap: p.config.capOf(int32(number)), edge: -1})
		rows += n
	}
	p.listRows(rows, place)
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

// countHosts returns how many host numbers there are, or 0 when none has a cap.
func (p *Problem) countHosts() (int, error) {
	most := int32(-1)
	limit := max(p.channels.Len(), len(p.config.HostCaps))
	for i, number := range p.channels.Host {
		if int(number) >= limit {
			return 0, &RowError{Row: i, Column: "host", Value: float64(number),
				Reason: "is no number of a host: they are counted from 0"}
		}
		most = max(most, number)
	}
	if p.config.HostCap == 0 && len(p.config.HostCaps) == 0 {
		return 0, nil
	}
	return int(most) + 1, nil
}

// release lets in rates below the channels' lower bounds on hosts whose cap is
// under them.
func (h *hosts) release(p *Problem) {
	for i := range h.list {
		one := &h.list[i]
		for over(p, *one) && one.released < keepNone {
			one.released++
			p.lowerHost(*one, p.released)
		}
		one.unmet = over(p, *one)
	}
}

// over says whether a host's channels at their lowest pass its cap.
func over(p *Problem, h host) bool {
	var polls sum
	for _, row := range p.hosts.rowsOf(h) {
		polls.add(p.columns.rungs.at(p.columns.lo[row]))
	}
	return polls.over(h.cap)
}
