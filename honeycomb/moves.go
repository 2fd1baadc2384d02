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
	for k := range j.groups {
		x := exchange{&j.groups[k], j.near.rung[k], j.beyond.rung[k]}
		if j.swap(x, &out) {
			break
		}
	}
	return out
}

// An exchange is a group on its way from one side to the other.
type exchange struct {
	*group
	near, beyond []int32
}

// A move sets a channel from a rung to a neighbouring one.
type move struct {
	channel  int32
	from, to int32
}

// swap moves a group's channels, step up by step up. It returns true when that
// passes the goal.
func (j *joint) swap(x exchange, out *outcome) bool {
	ups, downs := x.moves()
	polls := x.rungs.polls(x.near)
	polls.join(x.polls)
	for _, up := range ups {
		var moves []move
		with := exchanged(x.rungs, polls, up)
		for with.over(x.cap) && len(downs) > 0 {
			moves = append(moves, downs[0])
			with = exchanged(x.rungs, with, downs[0])
			downs = downs[1:]
		}
		if with.over(x.cap) {
			return false
		}
		polls = with
		if j.apply(x, append(moves, up), out) {
			return true
		}
	}
	return false
}

// exchanged returns a sum of rates after a move.
func exchanged(r *rungs, polls sum, m move) sum {
	polls.add(r.at(m.to))
	polls.add(-r.at(m.from))
	return polls
}

// moves lists the steps between the two sides: up, dear ones first, and down,
// cheap ones first; those of one channel in their order.
func (x exchange) moves() (ups, downs []move) {
	for i, near := range x.near {
		for n := near; n < x.beyond[i]; n++ {
			ups = append(ups, move{int32(i), n, n + 1})
		}
		for n := near; n > x.beyond[i]; n-- {
			downs = append(downs, move{int32(i), n, n - 1})
		}
	}
	cost := func(m move) float64 { return x.costOf(int(m.channel)) }
	slices.SortStableFunc(ups, func(a, b move) int { return cmp.Compare(cost(b), cost(a)) })
	slices.SortStableFunc(downs, func(a, b move) int { return cmp.Compare(cost(a), cost(b)) })
	return ups, downs
}

// apply makes moves together. It returns true, with the boundary in the outcome,
// when they pass the goal; a budget takes them back.
func (j *joint) apply(x exchange, moves []move, out *outcome) bool {
	for _, m := range moves {
		j.shift(x, m)
	}
	if !j.goal.pastSum(j.near.sum) {
		return false
	}
	last := moves[len(moves)-1]
	out.boundary = step{ratio: out.lambda, channel: x.row[last.channel], rung: last.from}
	out.divided = true
	out.load, out.wait = x.change(moves)
	if !j.goal.wait {
		slices.Reverse(moves)
		for _, m := range moves {
			j.shift(x, move{m.channel, m.to, m.from})
		}
	}
	return true
}

func (j *joint) shift(x exchange, m move) {
	i := int(m.channel)
	j.near.sum.add(x.term(j.goal, i, m.to))
	j.near.sum.add(-x.term(j.goal, i, m.from))
	x.near[i] = m.to
}

// change returns what moves change in load and wait.
func (x exchange) change(moves []move) (load, wait float64) {
	for _, m := range moves {
		i := int(m.channel)
		load += x.loadOf(i, m.to) - x.loadOf(i, m.from)
		wait += x.waitOf(i, m.to) - x.waitOf(i, m.from)
	}
	return load, wait
}

// certify computes the dual at the multipliers afresh: no use is made of how
// they were found.
func (o *outcome) certify(p *Problem) {
	c := &p.columns
	mu := make([]float64, len(p.path.rung))
	var dual sum
	for _, h := range p.hosts.list {
		for _, row := range p.hosts.rowsOf(h) {
			mu[row] = h.mu
		}
		if h.unmet {
			dual.add(-h.mu * p.pollsOf(h).value())
		} else {
			dual.add(-h.mu * h.cap)
		}
	}
	var price, worth [block]float64
	var room [block]int32
	for from := 0; from < len(mu); from += block {
		rung := room[:min(block, len(mu)-from)]
		for k := range rung {
			price[k] = o.lambda*c.cost[from+k] + mu[from+k]
			worth[k] = c.weight[from+k] / price[k]
		}
		c.place(from, rung, worth[:len(rung)], 1)
		for k, n := range rung {
			dual.add(c.waitOf(from+k, n) + price[k]*c.rungs.at(n))
		}
	}
	o.dual, o.certified = dual.value(), true
}
