package honeycomb

import "math"

// A filler shares hosts' caps among their channels at a multiplier of the budget: it
// takes the steps that save most per poll, less the price of what they cost.
type filler struct {
	*columns
	window
}

// A group is the channels of one host that a search still has open, with what
// the cap leaves to them; or all channels that have no cap. It has copies of
// their columns, which lie together: a search passes over them again and again.
type group struct {
	columns
	of    int32   // their host, as in hosts.of
	row   []int32 // theirs, in the problem
	polls sum     // of the host's channels that are not open
	cap   float64 // polls per interval, of all together; without one infinite
	times float64 // how many of the problem's channels each stands for: 1 but in a sample
	noise float64 // by how much the cap may be off, in a sample
}

// pollTerms are the sums of a host's steps: a poll costs 1.
type pollTerms struct{ *columns }

func (t pollTerms) loadOf(_ int, rung int32) float64 { return t.rungs.at(rung) }

// fill writes the rungs of a group's open channels at a multiplier of the budget
// and returns the cap's own, which is to be expected from least to most.
func (f *filler) fill(g *group, lambda, least, most float64, rung []int32) (mu float64) {
	f.columns, f.terms = &g.columns, pollTerms{&g.columns}
	f.steps, f.taken, f.rung, f.goal = f.steps[:0], 0, rung, goal{limit: g.cap}
	f.exactly(rung, lambda)
	f.totals = totals{load: g.polls}
	f.load.join(f.rungs.polls(rung))
	if !f.past(f.goal) {
		return 0
	}
	low, high := f.bracket(g, lambda, least, most)
	f.list(g, lambda, low, high)
	if !f.walk() {
		return low
	}
	return max(f.boundary().ratio, 0)
}

// net is what a step saves for each poll, beyond its cost.
func (c *columns) net(i int, rung int32, lambda float64) float64 {
	return c.weight[i]/c.rungs.between(rung) - lambda*c.costOf(i)
}

// demand is what a group's open channels want at a multiplier of its cap.
type demand struct {
	mu    float64
	polls float64
	rungs int64 // their sum
	over  bool  // with the other channels' polls that is over the cap: exactly, as polls is not
}

func (f *filler) demand(g *group, lambda, mu float64) demand {
	d, all := demand{mu: mu}, g.polls
	var room [block]int32
	for from := 0; from < len(f.key); from += block {
		rung := room[:min(block, len(f.key)-from)]
		f.wants(from, rung, lambda, mu)
		polls := f.rungs.polls(rung)
		all.join(polls)
		d.polls += polls.value()
		d.rungs += sumOf(rung)
	}
	d.over = all.over(g.cap)
	return d
}

// bracket returns multipliers of a cap, too low and not too low, that few steps
// lie between.
func (f *filler) bracket(g *group, lambda, least, most float64) (low, high float64) {
	room := g.cap - g.polls.value()
	few := int64(max(len(g.row)/8, fewSteps/128))
	highest, guess := f.outline(lambda, room)
	from := f.demand(g, lambda, least*(1-closed))
	to := f.demand(g, lambda, min(most, highest)*(1+closed))
	switch {
	case least > 0 && !from.over:
		from, to = f.demand(g, lambda, 0), from
	case to.over && to.mu < highest:
		from, to = to, f.demand(g, lambda, highest*(1+closed))
	}
	last := from
	mu := meet(from, to, room)
	if to.mu > highest {
		mu = guess
	}
	for pass := 0; from.rungs-to.rungs > few && pass < 40; pass++ {
		if !(mu > from.mu && mu < to.mu) || pass >= 10 {
			mu = from.mu + (to.mu-from.mu)/2
		}
		d := f.demand(g, lambda, mu)
		if d.over {
			from = d
		} else {
			to = d
		}
		mu = aim(from.mu, to.mu, mu, meet(last, d, room))
		last = d
	}
	return from.mu, to.mu
}

// outline returns a multiplier of a cap that no step is worth more than, and a guess:
// prices rise with the square of the excess of polls.
func (f *filler) outline(lambda, room float64) (highest, guess float64) {
	var polls, load float64
	for i, n := range f.rung {
		if lo, hi := f.bounds(i); lo < hi {
			highest = max(highest, f.net(i, lo, lambda))
		}
		polls += f.rungs.at(n)
		load += f.loadOf(i, n)
	}
	much := polls / room
	return highest, lambda * load / polls * (much*much - 1)
}

// meet returns the multiplier at which so many polls are expected, by a line through
// two demands (secant method). Rates go with the inverse root of their price, so
// polls⁻² is nearly linear.
func meet(a, b demand, polls float64) float64 {
	line := func(polls float64) float64 { return 1 / (polls * polls) }
	part := (line(polls) - line(a.polls)) / (line(b.polls) - line(a.polls))
	return a.mu + part*(b.mu-a.mu)
}

// aim returns where to evaluate next when a point is expected between low and high, of
// which at was evaluated last: as far beyond the expected place as that is from at, so
// that the other end of the bracket moves too.
func aim(low, high, at, expected float64) float64 {
	past := math.Abs(expected - at)
	if at == low {
		return expected + min(past, (high-expected)/2)
	}
	return expected - min(past, (expected-low)/2)
}

// list sets a group's channels to what they want at the upper multiplier and
// lists the steps down to the lower one. Prices that lie a little further apart
// make up for rounding.
func (f *filler) list(g *group, lambda, low, high float64) {
	var dear, cheap [block]int32
	for from := 0; from < len(f.key); from += block {
		n := min(block, len(f.key)-from)
		least, most := dear[:n], cheap[:n]
		f.wants(from, least, lambda*(1+closed), high*(1+closed))
		f.wants(from, most, lambda*(1-closed), low*(1-closed))
		for k := range least {
			i := from + k
			n, to := min(least[k], f.rung[i]), min(most[k], f.rung[i])
			for f.rung[i] = n; n < to; n++ {
				f.steps = append(f.steps, step{f.net(i, n, lambda), int32(i), n})
			}
		}
	}
	f.totals = totals{load: g.polls}
	f.load.join(f.rungs.polls(f.rung))
}
