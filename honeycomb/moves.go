package honeycomb

import (
	"cmp"
	"math"
	"slices"
)

// When no multiplier lies between the two sides, they differ by steps of equal worth.
// finish takes these one by one, in the order of ties: for a channel without a cap a
// step, for a host at its cap a step up with the steps down that make room for it.

// finish moves the near side as far towards the other as the goal allows.
func (j *joint) finish() outcome {
	out := outcome{limit: j.goal.limit, lambda: j.near.lambda}
	var all []exchange
	for k := range j.groups {
		all = append(all, j.exchanges(k)...)
	}
	slices.SortStableFunc(all, func(a, b exchange) int { return a.place.compare(b.place) })
	for _, x := range all {
		if j.apply(x, &out) {
			break
		}
	}
	return out
}

// An exchange is a step up after the steps down that make room for it.
type exchange struct {
	*group
	near  []int32 // rungs of the group's channels
	moves []move
	place place
}

// A move sets a channel from a rung to a neighbouring one.
type move struct {
	channel  int32
	from, to int32
}

// A place is what orders equally worthy moves, as [window.before] does: what they
// take of the limit, the cost, the row; never the host, whose number is arbitrary.
type place struct {
	price, cost float64
	row         int32
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.price, o.price), cmp.Compare(p.cost, o.cost), cmp.Compare(p.row, o.row))
}

// after returns the later of two places, for moves that build on others.
func (p place) after(o place) place {
	if p.compare(o) < 0 {
		return o
	}
	return p
}

// nowhere is before all places.
var nowhere = place{price: math.Inf(-1)}

// exchanges lists the exchanges of a group. Each needs the room that those before it
// left, so its place is not before theirs.
func (j *joint) exchanges(k int) (list []exchange) {
	g, near, beyond := &j.groups[k], j.near.rung[k], j.beyond.rung[k]
	ups, downs := g.moves(near, beyond, 1), g.moves(near, beyond, -1)
	if len(ups) == 0 {
		return nil
	}
	polls, last := g.rungs.polls(near), nowhere
	polls.join(g.polls)
	for _, up := range ups {
		x := exchange{group: g, near: near}
		with := exchanged(g.rungs, polls, up)
		for with.over(g.cap) && len(downs) > 0 {
			x.moves = append(x.moves, downs[0])
			with = exchanged(g.rungs, with, downs[0])
			downs = downs[1:]
		}
		if with.over(g.cap) {
			break
		}
		polls = with
		x.moves = append(x.moves, up)
		price, _ := x.change()
		x.place = g.placeOf(up, price).after(last)
		last = x.place
		list = append(list, x)
	}
	return list
}

// exchanged returns a sum of rates after a move.
func exchanged(r *rungs, polls sum, m move) sum {
	polls.add(r.at(m.to))
	polls.add(-r.at(m.from))
	return polls
}

// moves lists the steps up, 1, or down, -1, from some rungs to others, in their
// order; those of one channel one after the other.
func (g *group) moves(from, to []int32, way int32) []move {
	type placed struct {
		move
		place
	}
	var list []placed
	for i, n := range from {
		for last := nowhere; (to[i]-n)*way > 0; n += way {
			m := move{int32(i), n, n + way}
			last = g.placeOf(m, math.Abs(g.loadOf(i, m.to)-g.loadOf(i, m.from))).after(last)
			list = append(list, placed{m, last})
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return a.compare(b.place) })
	moves := make([]move, len(list))
	for i, p := range list {
		moves[i] = p.move
	}
	return moves
}

func (g *group) placeOf(m move, price float64) place {
	return place{price, g.costOf(int(m.channel)), g.row[m.channel]}
}

// apply makes an exchange. It returns true, with the boundary in the outcome, when
// that passes the goal; a budget takes it back.
func (j *joint) apply(x exchange, out *outcome) bool {
	for _, m := range x.moves {
		j.shift(x, m)
	}
	if !j.goal.pastSum(j.near.sum) {
		return false
	}
	last := x.moves[len(x.moves)-1]
	out.boundary = step{ratio: out.lambda, channel: x.row[last.channel], rung: last.from}
	out.divided = true
	out.load, out.wait = x.change()
	if !j.goal.wait {
		for _, m := range slices.Backward(x.moves) {
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

// change returns what an exchange changes in load and wait.
func (x exchange) change() (load, wait float64) {
	for _, m := range x.moves {
		i := int(m.channel)
		load += x.loadOf(i, m.to) - x.loadOf(i, m.from)
		wait += x.waitOf(i, m.to) - x.waitOf(i, m.from)
	}
	return load, wait
}
