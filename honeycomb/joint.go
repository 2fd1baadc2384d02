package honeycomb

import "math"

// Where polls differ in cost, a host's multiplier depends on the budget's: the dearer
// bytes are, the more a host spends its polls on small documents. The two are found
// together: for each multiplier of the budget every host whose cap binds is solved for
// its own. As the budget's falls, no host's can fall, so the ends of the outer bracket
// bound the price that each channel pays for a poll: a channel that has the same rung
// at both bounds keeps it, and leaves the search.

// joint is the state of such a search.
type joint struct {
	p      *Problem
	goal   goal
	groups []group
	fixed  sum  // what the goal measures of all channels that are not open any more
	near   side // not past the goal
	beyond side // past it
	mid    side
	filler filler
}

// A side is the state at one multiplier.
type side struct {
	lambda float64
	mu     []float64 // of each group's cap
	rung   [][]int32 // of each group's open channels
	sum    sum       // what the goal measures
}

// crowded says whether the rates break a cap of a host.
func (p *Problem) crowded() bool {
	for _, h := range p.hosts.list {
		if p.pollsOf(h).over(h.cap) && !h.unmet {
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
	j := p.newJoint(g, 1)
	out := j.solve(ending)
	j.install()
	p.price(j.near.lambda)
	out.certify(p)
	return out
}

// newJoint begins a search of all channels or, with a stride, of a sample.
func (p *Problem) newJoint(g goal, stride int) *joint {
	j := &joint{p: p, goal: g, groups: p.groups(stride)}
	for _, s := range []*side{&j.near, &j.beyond, &j.mid} {
		s.rung = make([][]int32, len(j.groups))
		s.mu = make([]float64, len(j.groups))
		room := make([]int32, j.open())
		for k := range j.groups {
			s.rung[k], room = room[:len(j.groups[k].row)], room[len(j.groups[k].row):]
		}
	}
	for k := range j.groups {
		j.beyond.mu[k] = math.Inf(1)
	}
	for _, h := range p.hosts.list {
		if h.unmet {
			for _, row := range p.hosts.rowsOf(h) {
				j.fix(&p.columns, int(row), row, p.columns.lo[row])
			}
		}
	}
	return j
}

// open counts the channels whose rates are open.
func (j *joint) open() (n int) {
	for _, g := range j.groups {
		n += len(g.row)
	}
	return n
}

// groups are all channels whose rates are open: those without a cap, and those of each
// host whose cap is above their lowest rates. With a stride above 1 they are a sample:
// one in so many of the channels without a cap and of those of large hosts, with the
// same part of their caps, and all channels of one in so many small hosts.
func (p *Problem) groups(stride int) []group {
	row := p.uncapped(stride)
	sizes, caps := []int{len(row)}, []float64{math.Inf(1)}
	for i, h := range p.hosts.list {
		from, step, n := len(row), stride, int(h.to-h.from)
		if n < fewSteps {
			step = 1
		}
		if h.unmet || step < stride && i%stride > 0 {
			continue
		}
		for k := 0; k < n; k += step {
			row = append(row, p.hosts.rows[int(h.from)+k])
		}
		sizes = append(sizes, len(row)-from)
		caps = append(caps, h.cap*float64(len(row)-from)/float64(n))
	}
	all := group{columns: p.columns.gather(row), row: row}
	groups := make([]group, len(sizes))
	for k, n := range sizes {
		groups[k] = all.part(0, n)
		groups[k].cap = caps[k]
		all = all.part(n, len(all.row))
	}
	return groups
}

// uncapped lists one in so many of the channels without a cap, with room for the
// others.
func (p *Problem) uncapped(stride int) []int32 {
	rows := make([]int32, 0, len(p.path.rung)/stride+len(p.hosts.list))
	capped := make([]bool, len(p.path.rung))
	for _, row := range p.hosts.rows {
		capped[row] = true
	}
	for i := 0; i < len(capped); i += stride {
		if !capped[i] {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// gather copies rows of columns that have costs and bounds.
func (c *columns) gather(rows []int32) columns {
	n := len(rows)
	to := columns{rungs: c.rungs, whole: c.whole, key: make([]float64, n), weight: make([]float64, n),
		cost: make([]float64, n), lo: make([]int32, n), hi: make([]int32, n)}
	for k, row := range rows {
		to.key[k], to.weight[k], to.cost[k] = c.key[row], c.weight[row], c.cost[row]
		to.lo[k], to.hi[k] = c.lo[row], c.hi[row]
	}
	return to
}

// part returns some of a group's channels.
func (g group) part(from, to int) group {
	g.key, g.weight, g.cost = g.key[from:to], g.weight[from:to], g.cost[from:to]
	g.lo, g.hi, g.row = g.lo[from:to], g.hi[from:to], g.row[from:to]
	return g
}

// move puts a channel in the place of another.
func (g *group) move(to, from int) {
	g.key[to], g.weight[to], g.cost[to] = g.key[from], g.weight[from], g.cost[from]
	g.lo[to], g.hi[to], g.row[to] = g.lo[from], g.hi[from], g.row[from]
}

// solve searches for the multiplier, given how the search without caps ended.
func (j *joint) solve(ending ending) outcome {
	if ending == atCeiling {
		return j.ceiling()
	}
	highest := j.p.path.boundary().ratio * (1 + closed)
	b := &bracket{goal: j.goal, high: highest}
	next, found := j.descend(b, j.guess(highest), highest)
	if !found {
		return j.ceiling()
	}
	j.narrow(b, next, 4e-16)
	return j.finish()
}

// guess returns the multiplier at which a sample has the goal, with its limit in
// proportion; for a search too small to sample the multiplier that is surely not past
// the goal.
func (j *joint) guess(highest float64) float64 {
	all := j.open()
	stride := all / (4 * sampled)
	if stride < 2 {
		return highest
	}
	few := j.p.newJoint(j.goal, stride)
	few.goal.limit = (j.goal.limit - j.fixed.value()) * float64(few.open()) / float64(all)
	few.fixed = sum{}
	b := &bracket{goal: few.goal, high: mostRatio}
	next, found := few.descend(b, highest, mostRatio)
	if !found {
		return highest
	}
	few.narrow(b, next, nearEnough)
	return min(b.middle(), highest)
}

// narrow closes a bracket to a width, from where the goal is to be expected.
func (j *joint) narrow(b *bracket, next, width float64) {
	for pass := 0; b.width() > width; pass++ {
		if !b.inside(next) || pass > 10 {
			next = b.middle()
		}
		if !b.inside(next) {
			return // neighbours: nothing lies between
		}
		j.settle()
		next = aim(b.low, b.high, next, j.look(b, next))
	}
}

// ceiling ends where the highest rates that caps allow do not reach the goal.
func (j *joint) ceiling() outcome {
	j.eval(&j.near, 0)
	return outcome{limit: j.goal.limit, ending: atCeiling}
}

// descend opens the bracket: from a guess to a multiplier that is past the goal,
// and to one that is not, which the highest surely is. It returns where the goal
// is to be expected, or false when nothing is past it.
func (j *joint) descend(b *bracket, guess, highest float64) (expected float64, found bool) {
	next := guess
	for beside := 0.003; beside < 1 && (b.low == 0 || j.near.lambda == 0); beside *= 2 {
		expected = j.look(b, next)
		if b.low == 0 {
			next = max(min(expected, b.high), b.high/16) * (1 - beside)
		} else {
			next = min(max(expected, b.low)*(1+beside), highest)
		}
	}
	if j.near.lambda == 0 {
		expected = j.look(b, highest)
	}
	if b.low > 0 {
		return expected, true
	}
	if j.eval(&j.mid, 0); !j.goal.pastSum(j.mid.sum) {
		return 0, false
	}
	for b.low == 0 && b.high > smallest*smallest {
		expected = j.look(b, b.high/1e6)
	}
	return expected, b.low > 0
}

// look takes a multiplier for one of the bracket's ends and returns where the
// goal is to be expected.
func (j *joint) look(b *bracket, lambda float64) (expected float64) {
	j.eval(&j.mid, lambda)
	low, high := b.low, b.high
	expected = b.observe(lambda, j.mid.sum.value())
	if j.goal.pastSum(j.mid.sum) { // exactly, which is not how observe sees it
		b.low, b.high = lambda, high
		j.mid, j.beyond = j.beyond, j.mid
	} else {
		b.low, b.high = low, lambda
		j.mid, j.near = j.near, j.mid
	}
	return expected
}

// eval finds what all open channels do at a multiplier.
func (j *joint) eval(s *side, lambda float64) {
	s.lambda, s.sum = lambda, j.fixed
	for k := range j.groups {
		g := &j.groups[k]
		if len(g.row) == 0 {
			continue
		}
		s.mu[k] = j.filler.fill(g, lambda, j.near.mu[k], j.beyond.mu[k], s.rung[k])
		s.sum.join(g.measure(j.goal, 0, s.rung[k]))
	}
}

// settle fixes the channels that have the same rung at the lowest and at the highest
// price of a unit of rate inside the bracket.
func (j *joint) settle() {
	var cheap, dear [block]int32
	for k := range j.groups {
		g, near, beyond := &j.groups[k], j.near.rung[k], j.beyond.rung[k]
		open, n := 0, len(g.row)
		for from := 0; from < n; from += block {
			to := min(from+block, n)
			g.wants(from, cheap[:to-from], j.beyond.lambda*(1-closed), j.near.mu[k]*(1-closed))
			g.wants(from, dear[:to-from], j.near.lambda*(1+closed), j.beyond.mu[k]*(1+closed))
			for i := from; i < to; i++ {
				if near[i] == beyond[i] && cheap[i-from] == dear[i-from] {
					g.polls.add(g.rungs.at(near[i]))
					j.fix(&g.columns, i, g.row[i], near[i])
					continue
				}
				g.move(open, i)
				near[open], beyond[open] = near[i], beyond[i]
				open++
			}
		}
		*g = g.part(0, open)
		for _, s := range []*side{&j.near, &j.beyond, &j.mid} {
			s.rung[k] = s.rung[k][:open]
		}
	}
}

// fix takes a channel's rung for final.
func (j *joint) fix(c *columns, i int, row, rung int32) {
	j.fixed.add(c.term(j.goal, i, rung))
	j.p.path.rung[row] = rung
}

// install makes the near side the path's state.
func (j *joint) install() {
	path := &j.p.path
	for k, g := range j.groups {
		for i, row := range g.row {
			path.rung[row] = j.near.rung[k][i]
		}
	}
	path.steps, path.taken = path.steps[:0], 0
	path.load, path.wait = path.loads(0, path.rung), path.waits(0, path.rung)
}

// price sets the hosts' multipliers to what the best step that their cap keeps
// out of the state would save.
func (p *Problem) price(lambda float64) {
	for i := range p.hosts.list {
		h := &p.hosts.list[i]
		h.mu, h.edge = 0, -1
		rows := p.hosts.rowsOf(*h)
		best := 0.0
		for _, row := range rows {
			best = max(best, p.nextNet(row, lambda))
		}
		polls := p.pollsOf(*h)
		for _, row := range rows {
			n := p.path.rung[row]
			if p.kept(row, best, lambda) && exchanged(p.columns.rungs, polls, move{row, n, n + 1}).over(h.cap) {
				h.mu, h.edge = best, row
				break
			}
		}
	}
}

// nextNet is what a channel's next step would save for each poll, beyond its
// cost; 0 when it has none.
func (p *Problem) nextNet(row int32, lambda float64) float64 {
	n := p.path.rung[row]
	if n == p.columns.hi[row] {
		return 0
	}
	return p.columns.net(int(row), n, lambda)
}

// kept says whether a channel's next step is as good as the best, up to rounding.
func (p *Problem) kept(row int32, best, lambda float64) bool {
	net := p.nextNet(row, lambda)
	rounding := 1e-9 * (net + lambda*p.columns.costOf(int(row)))
	return net > 0 && net >= best-rounding
}
