package honeycomb

import "math"

// Where polls differ in cost, a host's multiplier depends on the budget's: with
// more at stake for each byte, a host spends its polls on smaller documents. The
// two are found together: for each multiplier of the budget every host whose cap
// binds is solved for its own, and the outer search goes on with the channels
// and hosts that still differ between the ends of its bracket.

// joint is the state of such a search.
type joint struct {
	p      *Problem
	goal   goal
	free   []int32 // rows of channels without a cap, that still differ
	hosts  []int   // of p.hosts.list, that still differ
	fixed  totals  // of all that does not differ any more
	near   side    // not past the goal
	beyond side    // past it
	mid    side
	filler filler
}

// A side is the state at one multiplier.
type side struct {
	lambda float64
	rung   []int32
	totals totals
}

// crowded says whether the rates break a cap of a host.
func (p *Problem) crowded() bool {
	for _, h := range p.hosts.list {
		var polls sum
		for _, row := range p.hosts.rowsOf(h) {
			polls.add(p.columns.rungs.at(p.path.rung[row]))
		}
		if polls.over(h.cap) && !h.unmet {
			return true
		}
	}
	return false
}

// reach walks to a goal, with the caps of hosts.
func (p *Problem) reach(g goal) outcome {
	ending := p.path.reach(g)
	if p.config.Cost == Polls {
		return p.outcome(ending)
	}
	for i := range p.hosts.list {
		p.hosts.list[i].mu, p.hosts.list[i].edge = 0, -1
	}
	if !p.crowded() {
		return p.outcome(ending)
	}
	j := p.newJoint(g)
	out := j.solve()
	j.install()
	j.price()
	out.certify(p)
	return out
}

func (p *Problem) newJoint(g goal) *joint {
	j := &joint{p: p, goal: g, filler: filler{p: p}}
	capped := make([]bool, len(p.path.rung))
	for _, row := range p.hosts.rows {
		capped[row] = true
	}
	for i := range capped {
		if !capped[i] {
			j.free = append(j.free, int32(i))
		}
	}
	for i := range p.hosts.list {
		j.hosts = append(j.hosts, i)
	}
	for _, s := range []*side{&j.near, &j.beyond, &j.mid} {
		s.rung = make([]int32, len(p.path.rung))
	}
	return j
}

// solve searches for the multiplier.
func (j *joint) solve() outcome {
	j.eval(&j.near, math.Inf(1))
	if j.near.totals.past(j.goal) {
		return outcome{limit: j.goal.limit, ending: atFloor}
	}
	lowest, highest := j.p.columns.span()
	j.near.lambda = highest
	j.eval(&j.beyond, 0)
	if !j.beyond.totals.past(j.goal) {
		j.near, j.beyond = j.beyond, j.near
		return outcome{limit: j.goal.limit, ending: atCeiling}
	}
	for j.eval(&j.beyond, lowest); !j.beyond.totals.past(j.goal) && lowest > smallest*smallest; {
		lowest /= 1e6
		j.eval(&j.beyond, lowest)
	}
	b := &bracket{goal: j.goal, low: lowest, high: highest}
	next := j.p.path.boundaryRatio()
	if !b.inside(next) {
		next = b.middle()
	}
	for pass := 1; b.width() > 4e-16 && len(j.free)+len(j.hosts) > 0; pass++ {
		next = j.divide(b, next, pass)
	}
	return j.finish()
}

// divide looks at one multiplier inside the bracket and returns the next to look
// at.
func (j *joint) divide(b *bracket, lambda float64, pass int) float64 {
	j.eval(&j.mid, lambda)
	measure := j.mid.totals.load.value()
	if j.goal.wait {
		measure = j.mid.totals.wait.value()
	}
	if j.mid.totals.past(j.goal) {
		b.low = lambda
		j.mid, j.beyond = j.beyond, j.mid
	} else {
		b.high = lambda
		j.mid, j.near = j.near, j.mid
	}
	next := b.observe(lambda, measure)
	j.settle()
	if !b.inside(next) || pass > 8 {
		next = b.middle()
	}
	if !b.inside(next) {
		b.low = b.high // neighbours: nothing lies between
	}
	return next
}

// eval finds what all channels that are not settled do at a multiplier.
func (j *joint) eval(s *side, lambda float64) {
	s.lambda, s.totals = lambda, j.fixed
	c := &j.p.columns
	for _, row := range j.free {
		s.rung[row] = c.exact(int(row), lambda)
		j.include(s, row)
	}
	for _, h := range j.hosts {
		j.filler.fill(&j.p.hosts.list[h], lambda, s.rung)
		for _, row := range j.p.hosts.rowsOf(j.p.hosts.list[h]) {
			j.include(s, row)
		}
	}
}

func (j *joint) include(s *side, row int32) {
	i := int(row)
	s.totals.load.add(j.p.columns.loadOf(i, s.rung[row]))
	s.totals.wait.add(j.p.columns.waitOf(i, s.rung[row]))
}

// settle leaves out what is the same on both sides: it is the same, and optimal,
// for all multipliers between.
func (j *joint) settle() {
	free := j.free[:0]
	for _, row := range j.free {
		if j.near.rung[row] != j.beyond.rung[row] {
			free = append(free, row)
			continue
		}
		j.fix(row)
	}
	j.free = free
	open := j.hosts[:0]
	for _, h := range j.hosts {
		rows := j.p.hosts.rowsOf(j.p.hosts.list[h])
		if j.differs(rows) {
			open = append(open, h)
			continue
		}
		for _, row := range rows {
			j.fix(row)
		}
	}
	j.hosts = open
}

func (j *joint) fix(row int32) {
	j.fixed.load.add(j.p.columns.loadOf(int(row), j.near.rung[row]))
	j.fixed.wait.add(j.p.columns.waitOf(int(row), j.near.rung[row]))
	j.mid.rung[row] = j.near.rung[row]
}

func (j *joint) differs(rows []int32) bool {
	for _, row := range rows {
		if j.near.rung[row] != j.beyond.rung[row] {
			return true
		}
	}
	return false
}

// install makes the near side the path's state.
func (j *joint) install() {
	path := &j.p.path
	copy(path.rung, j.near.rung)
	path.steps, path.taken, path.totals = path.steps[:0], 0, totals{}
	for i, n := range path.rung {
		path.load.add(path.loadOf(i, n))
		path.wait.add(path.waitOf(i, n))
	}
}

// price sets the hosts' multipliers to what the best step that their cap keeps
// out of the state would save.
func (j *joint) price() {
	for i := range j.p.hosts.list {
		h := &j.p.hosts.list[i]
		h.mu, h.edge = 0, -1
		rows := j.p.hosts.rowsOf(*h)
		best := 0.0
		for _, row := range rows {
			best = max(best, j.nextNet(row))
		}
		polls := j.pollsOf(rows)
		for _, row := range rows {
			if j.kept(row, best) && j.moved(polls, j.up(row)).over(h.cap) {
				h.mu, h.edge = best, row
				break
			}
		}
	}
}

// nextNet is what a channel's next step would save for each poll, beyond its
// cost; 0 when it has none.
func (j *joint) nextNet(row int32) float64 {
	n := j.near.rung[row]
	if _, hi := j.p.columns.bounds(int(row)); n == hi {
		return 0
	}
	return j.filler.net(int(row), n, j.near.lambda)
}

// kept says whether a channel's next step is as good as the best, but for
// rounding.
func (j *joint) kept(row int32, best float64) bool {
	net := j.nextNet(row)
	rounding := 1e-9 * (net + j.near.lambda*j.p.columns.costOf(int(row)))
	return net > 0 && net >= best-rounding
}

func (j *joint) up(row int32) move { return move{row, j.near.rung[row], j.near.rung[row] + 1} }

func (j *joint) pollsOf(rows []int32) sum {
	var polls sum
	for _, row := range rows {
		polls.add(j.p.columns.rungs.at(j.near.rung[row]))
	}
	return polls
}

// exact returns a channel's rung at a multiplier: all steps worth it.
func (c *columns) exact(i int, lambda float64) int32 {
	lo, hi := c.bounds(i)
	n := min(max(c.rungs.choice(c.key[i]/lambda), lo), hi)
	for n < hi && c.ratio(i, n) >= lambda {
		n++
	}
	for n > lo && c.ratio(i, n-1) < lambda {
		n--
	}
	return n
}
