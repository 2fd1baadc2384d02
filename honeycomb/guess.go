package honeycomb

import (
	"math"
	"slices"
)

// Where many channels are searched with the caps of hosts, a sample tells the multipliers:
// first roughly, then, once one pass has shown by how much it differs from all channels
// there (a ratio estimate for each large host, and one for the others), to 10⁻⁴ or so. A
// second pass fixes all channels whose rungs do not depend on where in a small box about
// them the multipliers lie. The others are searched; if their multipliers come to lie in
// the box, they are those of all channels.

// guessed returns such a search, at its end; nil where no cap binds in the sample, or no
// box holds the multipliers.
func (p *Problem) guessed(g goal) *joint {
	few := p.sampled(g)
	if few == nil {
		return nil
	}
	rough := p.columns.sample()
	part := float64(len(rough.key)) / float64(len(p.path.rung))
	lambda := few.approach(rough.find(goal{g.wait, g.limit * part}), 0.01)
	if lambda == 0 || slices.Max(few.mid.mu) == 0 {
		return nil
	}
	known := few.calibrate()
	lambda = few.approach(lambda, halfWindow/2)
	for wider := 1.0; wider < 20 && lambda > leastRatio && lambda < mostRatio; wider *= 4 {
		in := few.around(known, lambda, wider)
		j := p.newJoint(g, in)
		b, next := j.within(in, known)
		if b != nil {
			j.narrow(b, next)
			return j
		}
		lambda = next
	}
	return nil
}

// sampled is a search of a sample of many channels, nil of few: of one in so many of the
// channels without a cap and of those of large hosts, with the same part of their caps,
// and of all channels of one in so many small hosts.
func (p *Problem) sampled(g goal) *joint {
	n := len(p.path.rung)
	if n < 4*sampled {
		return nil
	}
	stride := max(n/(2*sampled), 8) // of the rows
	var rows []int32
	for i := 0; i+stride <= n; i += stride {
		// At random, since hosts may come in turns.
		if row := i + int(float64(stride)*unitHash(uint64(i))); p.hosts.of[row] == 0 {
			rows = append(rows, int32(row))
		}
	}
	for i, h := range p.hosts.list {
		switch all := p.hosts.rowsOf(h); {
		case h.large():
			for k := 0; k < len(all); k += stride {
				rows = append(rows, all[k])
			}
		case i%stride == 0:
			rows = append(rows, all...)
		}
	}
	j := &joint{p: p, goal: g, groups: p.groups(rows)}
	for k := range j.groups {
		g := &j.groups[k]
		g.times = float64(stride)
		if g.of > 0 && p.hosts.list[g.of-1].large() {
			g.cap /= g.times
		}
	}
	j.begin(p.everywhere())
	return j
}

// large says whether a part of a host's channels tells what all do.
func (h host) large() bool { return h.to-h.from >= fewSteps }

// approach returns where a sample has its goal, to a relative tolerance, by secants, or 0
// when they do not lead there. Its latest look is about as near.
func (j *joint) approach(lambda, tolerance float64) float64 {
	b := &bracket{goal: j.goal, high: math.Inf(1)}
	for range 10 {
		j.eval(&j.mid, lambda)
		for k, mu := range j.mid.mu { // where the next look is to search first
			j.near.mu[k], j.beyond.mu[k] = mu*0.9, mu*1.1
		}
		next := b.observe(lambda, j.mid.sum.value())
		switch {
		case !(next > leastRatio && next < mostRatio):
			return 0
		case math.Abs(next/lambda-1) < tolerance:
			return next
		}
		lambda = next
	}
	return 0
}

// calibrate corrects a sample's caps and what its channels stand for by what all channels
// do at the multipliers of its latest look. It returns what is known of hosts' multipliers
// that are not in the sample: those of hosts that are far from their cap are 0.
func (j *joint) calibrate() (known box) {
	p, at := j.p, prices{j.mid.lambda, make([]float64, len(j.p.hosts.list)+1)}
	groups := make([]*group, len(at.mu))
	for k := range j.groups {
		g := &j.groups[k]
		groups[g.of], at.mu[g.of] = g, j.mid.mu[k]
	}
	p.confine(box{at, at})
	rest := p.columns.measure(j.goal, 0, p.path.rung).value()
	known = p.everywhere()
	var crowded, capped float64 // of small hosts at their caps
	for i, h := range p.hosts.list {
		polls, measured := p.totalsOf(h, j.goal)
		switch of := i + 1; {
		case h.large():
			groups[of].calibrate(j.goal, at, polls, measured, h.cap)
			rest -= measured
		case at.mu[of] > 0 || polls > h.cap:
			crowded += measured
			capped += measured * min(h.cap/polls, 1) // about what the host does at its cap
		case polls < 0.9*h.cap:
			known.high.mu[of] = 0
		}
	}
	free := func(g group) bool { return g.of == 0 || at.mu[g.of] == 0 && !p.hosts.list[g.of-1].large() }
	if rest -= crowded; crowded < rest/10 {
		rest += capped
		free = func(g group) bool { return g.of == 0 || !p.hosts.list[g.of-1].large() }
	}
	j.scale(rest, at, free)
	return known
}

// scale corrects what some groups' channels stand for, so that a goal measures so much of
// them at some prices.
func (j *joint) scale(measured float64, at prices, some func(group) bool) {
	var all float64
	for _, g := range j.groups {
		if some(g) {
			_, of := g.totals(j.goal, at)
			all += of * g.times
		}
	}
	for k := range j.groups {
		if some(j.groups[k]) && all > 0 {
			j.groups[k].times *= measured / all
		}
	}
}

// calibrate corrects the sample of a large host, whose channels want so many polls in all.
func (g *group) calibrate(goal goal, at prices, polls, measured, cap float64) {
	few, part := g.totals(goal, at)
	before := g.cap
	g.cap = cap * few / polls
	n := min(g.rungs.atMost(few/float64(len(g.row))), g.rungs.top-1)
	step := g.rungs.at(n+1) - g.rungs.at(n)
	g.noise = 4 * math.Sqrt(math.Abs(g.cap-before)*step) // of so many steps, by chance
	g.times = measured / part
}

// totals returns polls, and what a goal measures, of a group at some prices.
func (g *group) totals(of goal, at prices) (polls, measured float64) {
	var room [block]int32
	for from := 0; from < len(g.row); from += block {
		rung := room[:min(block, len(g.row)-from)]
		g.wants(from, rung, at.lambda, at.mu[g.of])
		polls += g.rungs.polls(rung).value()
		measured += g.measure(of, from, rung).value()
	}
	return polls, measured
}

// totalsOf returns the same of a host at the path's rungs.
func (p *Problem) totalsOf(h host, of goal) (polls, measured float64) {
	for _, row := range p.hosts.rowsOf(h) {
		polls += p.columns.rungs.at(p.path.rung[row])
		measured += p.columns.term(of, int(row), p.path.rung[row])
	}
	return polls, measured
}

// around returns the box about a multiplier that holds those of the sample's hosts, also
// were their channels to want a little less or more.
func (j *joint) around(known box, lambda, wider float64) box {
	half := halfWindow * wider
	in := box{prices{lambda * (1 - half), slices.Clone(known.low.mu)}, prices{lambda * (1 + half), slices.Clone(known.high.mu)}}
	edge := func(noise, lambda float64, mu []float64) {
		for k := range j.groups {
			j.groups[k].cap += noise * j.groups[k].noise
		}
		j.eval(&j.mid, lambda)
		for k, g := range j.groups {
			j.groups[k].cap -= noise * g.noise
			if g.of == 0 || !j.p.hosts.list[g.of-1].unmet {
				mu[g.of] = j.mid.mu[k]
			}
		}
	}
	edge(wider, in.high.lambda, in.low.mu)
	edge(-wider, in.low.lambda, in.high.mu)
	return in
}

// within looks at both ends of the box that a search began in. It returns the bracket that
// they are, nil when the multipliers lie outside the box, so that the search is not one of
// all channels; then those of hosts that do are no longer known. It also returns where the
// goal is to be expected.
func (j *joint) within(in, known box) (b *bracket, expected float64) {
	b = &bracket{goal: j.goal, high: math.Inf(1)}
	if expected = j.look(b, in.high.lambda); b.low > 0 {
		return nil, expected
	}
	expected = j.look(b, in.low.lambda)
	holds, open := b.low > 0, make([]bool, len(in.low.mu))
	for k, g := range j.groups {
		open[g.of] = true
		if j.near.mu[k] < in.low.mu[g.of] || b.low > 0 && j.beyond.mu[k] > in.high.mu[g.of] {
			holds, known.high.mu[g.of] = false, math.Inf(1)
		}
	}
	for i, h := range j.p.hosts.list {
		if !open[i+1] && (in.low.mu[i+1] > 0 || !h.unmet && j.p.pollsOf(h).over(h.cap)) {
			holds, known.high.mu[i+1] = false, math.Inf(1)
		}
	}
	if !holds {
		return nil, expected
	}
	return b, expected
}
