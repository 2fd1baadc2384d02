package honeycomb

import (
	"math"
	"slices"
)

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

// A box is two corners between which the multipliers of a search lie.
type box struct{ low, high prices }

// prices are multipliers of the goal and of each host's cap, the latter by [hosts.of].
type prices struct {
	lambda float64
	mu     []float64
}

// everywhere is the box of all multipliers.
func (p *Problem) everywhere() box {
	n := len(p.hosts.list) + 1
	all := box{prices{0, make([]float64, n)}, prices{math.Inf(1), make([]float64, n)}}
	for k := range p.hosts.list {
		all.high.mu[k+1] = math.Inf(1)
	}
	return all
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
	if p.config.Cost == Polls || len(p.hosts.list) == 0 {
		return p.outcome(p.path.reach(g))
	}
	for i := range p.hosts.list {
		p.hosts.list[i].mu, p.hosts.list[i].edge = 0, -1
	}
	if j := p.guessed(g); j != nil {
		if out := j.install(j.finish()); p.priced() {
			return out
		}
	}
	return p.unguessed(g)
}

// unguessed is reach without a guess: it searches without caps first.
func (p *Problem) unguessed(g goal) outcome {
	ending := p.path.reach(g)
	if !p.crowded() {
		return p.outcome(ending)
	}
	j := p.newJoint(g, p.everywhere())
	return j.install(j.solve(ending))
}

// newJoint begins a search inside a box. Channels that have the same rung at its lowest
// and its highest prices are fixed.
func (p *Problem) newJoint(g goal, in box) *joint {
	open := p.byHost(p.confine(in))
	j := &joint{p: p, goal: g, groups: p.groups(open), fixed: p.columns.measure(g, 0, p.path.rung)}
	j.begin(in)
	for k := range j.groups {
		g := &j.groups[k]
		if g.of > 0 {
			g.polls = p.pollsOf(p.hosts.list[g.of-1])
		}
		for i, row := range g.row {
			j.fixed.add(-g.term(j.goal, i, p.path.rung[row]))
			g.polls.add(-g.rungs.at(p.path.rung[row]))
		}
	}
	return j
}

// begin makes the sides, with the multipliers of a box.
func (j *joint) begin(in box) {
	for _, s := range []*side{&j.near, &j.beyond, &j.mid} {
		s.mu, s.rung = make([]float64, len(j.groups)), make([][]int32, len(j.groups))
		room := make([]int32, j.open())
		for k := range j.groups {
			s.rung[k], room = room[:len(j.groups[k].row)], room[len(j.groups[k].row):]
		}
	}
	for k, g := range j.groups {
		j.near.mu[k], j.beyond.mu[k] = in.low.mu[g.of], in.high.mu[g.of]
	}
}

// open counts the channels whose rates are open.
func (j *joint) open() (n int) {
	for _, g := range j.groups {
		n += len(g.row)
	}
	return n
}

// confine sets all channels to their rungs at the highest prices of a box, and lists those
// that have another one at the lowest. Prices that lie a little further apart make up for
// rounding.
func (p *Problem) confine(in box) (open []int32) {
	var room [block]float64
	c := &p.columns
	for from := 0; from < len(p.path.rung); from += block {
		rung := p.path.rung[from:min(from+block, len(p.path.rung))]
		of, worth := p.hosts.of[from:][:len(rung)], room[:len(rung)]
		weight, cost, hi := c.weight[from:][:len(rung)], c.cost[from:][:len(rung)], c.hi[from:][:len(rung)]
		for k, w := range weight {
			worth[k] = w / (in.high.lambda*cost[k] + in.high.mu[of[k]])
		}
		c.place(from, rung, worth, 1-closed)
		for k, n := range rung {
			price := in.low.lambda*cost[k] + in.low.mu[of[k]]
			if n < hi[k] && weight[k] > price*(1-closed)*c.rungs.between(n) {
				open = append(open, int32(from+k))
			}
		}
	}
	return open
}

// byHost sorts rows, which are in order, by host, those without a cap first.
func (p *Problem) byHost(rows []int32) []int32 {
	next := make([]int32, len(p.hosts.list)+2)
	for _, row := range rows {
		next[p.hosts.of[row]+1]++
	}
	for k := range p.hosts.list {
		next[k+1] += next[k]
	}
	sorted := make([]int32, len(rows))
	for _, row := range rows {
		to := &next[p.hosts.of[row]]
		sorted[*to] = row
		*to++
	}
	return sorted
}

// groups divides channels, in the order of their hosts, by host.
func (p *Problem) groups(rows []int32) (groups []group) {
	all := group{columns: p.columns.gather(rows), row: rows, cap: math.Inf(1), times: 1}
	for n := 0; len(all.row) > 0; n = 0 {
		of := p.hosts.of[all.row[0]]
		for n < len(all.row) && p.hosts.of[all.row[n]] == of {
			n++
		}
		g := all.part(0, n)
		if g.of = of; of > 0 {
			g.cap = p.roomOf(p.hosts.list[of-1])
		}
		groups = append(groups, g)
		all = all.part(n, len(all.row))
	}
	return groups
}

// roomOf returns a host's cap, or what its lowest rates come to if that is more.
func (p *Problem) roomOf(h host) float64 {
	if !h.unmet {
		return h.cap
	}
	return p.lowestOf(h).value()
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
	next, found := j.descend(b, highest)
	if !found {
		return j.ceiling()
	}
	j.narrow(b, next)
	return j.finish()
}

// narrow closes a bracket, from where the goal is to be expected.
func (j *joint) narrow(b *bracket, next float64) {
	for pass := 0; ; pass++ {
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

// descend opens the bracket, from a multiplier that is surely not past the goal to one
// that is. It returns where the goal is to be expected, or false when nothing is past it.
func (j *joint) descend(b *bracket, highest float64) (expected float64, found bool) {
	next := highest
	for beside := 0.003; beside < 1 && b.low == 0; beside *= 2 {
		expected = j.look(b, next)
		next = max(min(expected, b.high), b.high/16) * (1 - beside)
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
		s.sum.join(g.measure(j.goal, 0, s.rung[k]).times(g.times))
	}
}

// settle fixes the channels that have the same rung at the lowest and at the highest
// price of a unit of rate inside the bracket.
func (j *joint) settle() {
	for k := range j.groups {
		g, near, beyond := &j.groups[k], j.near.rung[k], j.beyond.rung[k]
		open := 0
		for i, n := range near {
			low := (j.beyond.lambda*g.cost[i] + j.near.mu[k]) * (1 - closed)
			high := (j.near.lambda*g.cost[i] + j.beyond.mu[k]) * (1 + closed)
			if n == beyond[i] && g.keeps(i, n, low, high) {
				j.fixed.add(g.term(j.goal, i, n))
				g.polls.add(g.rungs.at(n))
				j.p.path.rung[g.row[i]] = n
				continue
			}
			g.move(open, i)
			near[open], beyond[open] = n, beyond[i]
			open++
		}
		*g = g.part(0, open)
		for _, s := range []*side{&j.near, &j.beyond, &j.mid} {
			s.rung[k] = s.rung[k][:open]
		}
	}
}

// keeps says whether a channel that has a rung at some price of a unit of rate has it from
// the lowest to the highest.
func (c *columns) keeps(i int, n int32, lowest, highest float64) bool {
	lo, hi := c.bounds(i)
	return (n == hi || c.weight[i] <= lowest*c.rungs.between(n)) && (n == lo || c.weight[i] >= highest*c.rungs.between(n-1))
}

// install makes the near side the path's state, with the hosts' multipliers.
func (j *joint) install(out outcome) outcome {
	path := &j.p.path
	for k, g := range j.groups {
		for i, row := range g.row {
			path.rung[row] = j.near.rung[k][i]
		}
		if g.of > 0 {
			h := &j.p.hosts.list[g.of-1]
			h.mu, h.edge = g.price(j.near.rung[k], j.near.lambda, h.cap)
		}
	}
	path.goal, path.steps, path.taken = j.goal, path.steps[:0], 0
	path.load, path.wait = path.loads(0, path.rung), path.waits(0, path.rung)
	out.certified = true
	return out
}

// price returns what the best step that a cap keeps out would save, and the row of its
// channel; 0 and −1 where the cap keeps out none. Channels that are not open have no
// better ones.
func (g *group) price(rung []int32, lambda, cap float64) (mu float64, edge int32) {
	best, polls := 0.0, g.polls
	polls.join(g.rungs.polls(rung))
	for i, n := range rung {
		if n < g.hi[i] {
			best = max(best, g.net(i, n, lambda))
		}
	}
	for i, n := range rung {
		if n == g.hi[i] || best == 0 || g.net(i, n, lambda) < best-closed*(best+lambda*g.cost[i]) {
			continue
		}
		if exchanged(g.rungs, polls, move{int32(i), n, n + 1}).over(cap) {
			return best, g.row[i]
		}
	}
	return 0, -1
}

// priced says whether a cap keeps a step out.
func (p *Problem) priced() bool {
	return slices.ContainsFunc(p.hosts.list, func(h host) bool { return h.edge >= 0 })
}
