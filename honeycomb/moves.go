package honeycomb

import (
	"cmp"
	"slices"
)

// What still differs between the two sides when no multiplier lies between them
// are steps that are equally worthy there. finish takes them one by one: for a
// channel without a cap a step, for a host at its cap a step up with the steps
// down that make room for it.

// finish moves the near side as far towards the other as the goal allows.
func (j *joint) finish() outcome {
	out := outcome{limit: j.goal.limit, lambda: j.near.lambda}
	slices.Sort(j.free)
	for _, row := range j.free {
		for n := j.near.rung[row]; n < j.beyond.rung[row]; n++ {
			if j.apply([]move{{row, n, n + 1}}, &out) {
				return out
			}
		}
	}
	for _, h := range j.hosts {
		if j.swap(j.p.hosts.list[h], &out) {
			return out
		}
	}
	return out
}

// A move sets a channel from a rung to a neighbouring one.
type move struct {
	row      int32
	from, to int32
}

// apply makes moves together. It returns true, with the boundary in the outcome,
// when they pass the goal; a budget takes them back.
func (j *joint) apply(moves []move, out *outcome) bool {
	for _, m := range moves {
		j.shift(m)
	}
	if !j.near.totals.past(j.goal) {
		return false
	}
	last := moves[len(moves)-1]
	out.boundary = step{ratio: out.lambda, channel: last.row, rung: last.from}
	out.divided = true
	out.load, out.wait = j.changeOf(moves)
	if !j.goal.wait {
		slices.Reverse(moves)
		for _, m := range moves {
			j.shift(move{m.row, m.to, m.from})
		}
	}
	return true
}

func (j *joint) shift(m move) {
	c, i := &j.p.columns, int(m.row)
	j.near.totals.load.add(c.loadOf(i, m.to))
	j.near.totals.load.add(-c.loadOf(i, m.from))
	j.near.totals.wait.add(c.waitOf(i, m.to))
	j.near.totals.wait.add(-c.waitOf(i, m.from))
	j.near.rung[m.row] = m.to
}

// changeOf returns what moves change in load and wait.
func (j *joint) changeOf(moves []move) (load, wait float64) {
	c := &j.p.columns
	for _, m := range moves {
		load += c.loadOf(int(m.row), m.to) - c.loadOf(int(m.row), m.from)
		wait += c.waitOf(int(m.row), m.to) - c.waitOf(int(m.row), m.from)
	}
	return load, wait
}

// swap moves a host's channels, step up by step up.
func (j *joint) swap(h host, out *outcome) bool {
	ups, downs := j.exchanges(h)
	polls := j.pollsOf(j.p.hosts.rowsOf(h))
	for _, up := range ups {
		var moves []move
		with := j.moved(polls, up)
		for with.over(h.cap) && len(downs) > 0 {
			moves = append(moves, downs[0])
			with = j.moved(with, downs[0])
			downs = downs[1:]
		}
		if with.over(h.cap) {
			return false
		}
		polls = with
		if j.apply(append(moves, up), out) {
			return true
		}
	}
	return false
}

func (j *joint) moved(polls sum, m move) sum {
	polls.add(j.p.columns.rungs.at(m.to))
	polls.add(-j.p.columns.rungs.at(m.from))
	return polls
}

// exchanges lists the steps between the two sides of a host: up, dear channels
// first, and down, cheap ones first; those of one channel in their order.
func (j *joint) exchanges(h host) (ups, downs []move) {
	for _, row := range j.p.hosts.rowsOf(h) {
		for n := j.near.rung[row]; n < j.beyond.rung[row]; n++ {
			ups = append(ups, move{row, n, n + 1})
		}
		for n := j.near.rung[row]; n > j.beyond.rung[row]; n-- {
			downs = append(downs, move{row, n, n - 1})
		}
	}
	cost := func(m move) float64 { return j.p.columns.costOf(int(m.row)) }
	slices.SortStableFunc(ups, func(a, b move) int { return cmp.Compare(cost(b), cost(a)) })
	slices.SortStableFunc(downs, func(a, b move) int { return cmp.Compare(cost(a), cost(b)) })
	return ups, downs
}

// certify computes the dual at the multipliers afresh: no use is made of how
// they were found.
func (o *outcome) certify(p *Problem) {
	mu := make([]float64, len(p.path.rung))
	var dual sum
	for _, h := range p.hosts.list {
		for _, row := range p.hosts.rowsOf(h) {
			mu[row] = h.mu
		}
		if !h.unmet {
			dual.add(-h.mu * h.cap)
			continue
		}
		for _, row := range p.hosts.rowsOf(h) {
			dual.add(-h.mu * p.columns.rungs.at(p.path.rung[row]))
		}
	}
	for i := range mu {
		if p.columns.weight[i] > 0 {
			dual.add(p.columns.least(i, o.lambda*p.columns.costOf(i)+mu[i]))
		}
	}
	o.dual, o.certified = dual.value(), true
}

// least returns the least weight/rate + price·rate of a channel's rungs.
func (c *columns) least(i int, price float64) float64 {
	lo, hi := c.bounds(i)
	n := min(max(c.rungs.choice(c.weight[i]/price), lo), hi)
	best := c.waitOf(i, n) + price*c.rungs.at(n)
	for _, m := range []int32{n - 1, n + 1} {
		if m >= lo && m <= hi {
			best = min(best, c.waitOf(i, m)+price*c.rungs.at(m))
		}
	}
	return best
}
