package honeycomb

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// seeded is a problem of n channels drawn from a seed, with many ties and every kind of
// limit that leaves the order of steps as it is: caps of hosts only where all polls cost
// the same.
func seeded(seed uint64, n int) (Config, Channels) {
	r := rand.New(rand.NewPCG(seed, 11))
	c := Config{
		Policy: pick(r, Lite, Lite, Fast, Fair, FairSqrt, FairLog), Cost: pick(r, Polls, Polls, Bytes),
		Ladder: pick(r, Any(), Any(), Prefix(4), Geometric(1.5)),
		Nodes:  1 + r.IntN(40), Interval: time.Hour,
		Target: time.Duration(20+r.IntN(2000)) * time.Second,
	}
	ch := Channels{
		Subscribers: column(r, n, 0, 1, 1, 1, 2, 3, 5, 8, 400), SizeBytes: column(r, n, 0, 1, 1, 2, 8, 1000),
		UpdateInterval: column(r, n, 0, 60, 900, 3600, 1e9),
	}
	c.Budget = pick(r, 0, 0.01, 0.2, 0.9, 1, 2.5, 6, 1e3) * float64(n)
	if c.Cost == Bytes {
		c.Budget *= 100
	}
	if r.IntN(3) == 0 {
		ch.MinRate, ch.MaxRate = column(r, n, 0, 0, 0, 1, 2, 0.3), column(r, n, 0, 0, 0, 1, 2, 3, 0.03)
	}
	if c.Cost == Polls && r.IntN(2) == 0 {
		hosts := max(n/7, 1)
		ch.Host = make([]int32, n)
		for i := range ch.Host {
			ch.Host[i] = int32(r.IntN(hosts+1)) - 1
		}
		c.HostCap, c.HostCaps = float64(r.IntN(60)), column(r, hosts/2, 0, 1, 7, 30)
	}
	return c, ch
}

// greedy takes the steps of a problem one by one, the worthiest first, as section 2 of
// DESIGN.md has it: a host up to its cap, all up to the limit.
type greedy struct {
	p          *Problem
	rung       []int32
	load, wait sum
}

func newGreedy(p *Problem) *greedy {
	g := &greedy{p: p, rung: make([]int32, len(p.path.rung))}
	for i := range g.rung {
		g.rung[i], _ = p.columns.bounds(i)
		g.load.add(p.columns.loadOf(i, g.rung[i]))
		g.wait.add(p.columns.waitOf(i, g.rung[i]))
	}
	return g
}

// steps lists the steps that bounds and caps leave, in order.
func (g *greedy) steps() []step {
	own := untightened(g.p)
	var steps []step
	for i := range g.rung {
		_, hi := own.bounds(i)
		for n := g.rung[i]; n < hi && own.weight[i] > 0; n++ {
			steps = append(steps, step{own.key[i] / own.rungs.between(n), int32(i), n})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(g.price(a), g.price(b)),
			cmp.Compare(own.costOf(int(a.channel)), own.costOf(int(b.channel))), cmp.Compare(a.channel, b.channel))
	})
	polls, full := map[int32]*sum{}, map[int32]bool{}
	for i, host := range g.p.channels.Host {
		if polls[host] == nil {
			polls[host] = &sum{}
		}
		if own.weight[i] > 0 {
			polls[host].add(own.rungs.at(g.rung[i]))
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		if g.p.channels.Host == nil || g.p.channels.Host[s.channel] < 0 {
			return false
		}
		host := g.p.channels.Host[s.channel]
		most := g.p.config.capOf(host)
		with := exchanged(own.rungs, *polls[host], move{s.channel, s.rung, s.rung + 1})
		if full[host] = full[host] || most > 0 && with.over(most); full[host] {
			return true
		}
		*polls[host] = with
		return false
	})
}

// price is what a step takes of the limit.
func (g *greedy) price(s step) float64 {
	at := g.p.columns.loadOf
	if i := int(s.channel); i >= 0 {
		return at(i, s.rung+1) - at(i, s.rung)
	}
	return 0
}

// walk takes steps up to a limit of the load or, with wait, down to one of the wait. It
// returns the step that the limit divides.
func (g *greedy) walk(steps []step, wait bool, limit float64) (boundary *step) {
	for k, s := range steps {
		load, waits := g.load, g.wait
		if wait && !waits.over(limit) {
			return boundary
		}
		i := int(s.channel)
		load.add(g.p.columns.loadOf(i, s.rung+1))
		load.add(-g.p.columns.loadOf(i, s.rung))
		waits.add(g.p.columns.waitOf(i, s.rung+1))
		waits.add(-g.p.columns.waitOf(i, s.rung))
		if boundary = &steps[k]; !wait && load.over(limit) {
			return boundary
		}
		g.load, g.wait, g.rung[i] = load, waits, s.rung+1
	}
	if wait && !g.wait.over(limit) {
		return boundary
	}
	return nil
}

// Rate for rate, and in all that a solution says of its limits, a solve is the greedy
// order of all steps.
func TestSolveIsGreedy(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(200) {
		n := 1 + int(seed*seed)%97
		if seed < 5 {
			n = 4_200 + 500*int(seed) // sampled; several blocks
		}
		c, ch := seeded(seed, n)
		p, s := mustSolve(t, c, ch)
		g := newGreedy(p)
		steps := g.steps()
		budget, target := p.budget(), math.NaN()
		var boundary *step
		if c.Policy == Fast {
			target = c.Target.Seconds() * 2 / c.Interval.Seconds() * p.subscribers.value()
			boundary = g.walk(steps, true, target)
			if s.Unmet.Target != (g.wait.over(target) || g.load.over(budget)) {
				t.Fatalf("seed %d: wait %v of %v, load %v of %v: %+v", seed, g.wait, target, g.load, budget, s)
			}
		}
		if c.Policy != Fast || g.load.over(budget) {
			g = newGreedy(p)
			boundary = g.walk(steps, false, budget)
			if s.Unmet.Budget != g.load.over(budget) {
				t.Fatalf("seed %d: load %v of %v: %+v", seed, g.load, budget, s)
			}
		}
		for i := range ch.Len() {
			if p.columns.weight[i] > 0 && p.path.rung[i] != g.rung[i] {
				t.Fatalf("seed %d, row %d: rung %d, want %d; %+v\n%+v", seed, i, p.path.rung[i], g.rung[i], c, s)
			}
		}
		if wrong := g.compare(s, boundary); wrong != "" {
			t.Fatalf("seed %d: %s: %+v\n%+v", seed, wrong, s, c)
		}
		for kind, is := range map[string]bool{
			"budget": boundary != nil && p.path.goal == goal{limit: budget}, "target": boundary != nil && p.path.goal == goal{true, target},
			"no budget": s.Unmet.Budget, "ceiling": p.last.ending == atCeiling, "caps": len(s.Hosts) > 0, "large": n > 4_000,
		} {
			if is {
				seen[kind]++
			}
		}
		if math.Abs(s.Bound-dual(p, s)) > 1e-9*s.Objective {
			t.Fatalf("seed %d: bound %v, want %v: %+v\n%+v", seed, s.Bound, dual(p, s), s, c)
		}
	}
	if len(seen) != 6 {
		t.Errorf("a kind of problem is missing: %v", seen)
	}
}

// A sample may know nothing of the channels that have subscribers.
func TestSampleWithoutSubscribers(t *testing.T) {
	ch := Channels{Subscribers: make([]float64, 5_000)}
	for i := range ch.Subscribers {
		if i%8 != 4 {
			ch.Subscribers[i] = float64(1 + i%100)
		}
	}
	p, s := mustSolve(t, Config{Nodes: 20, Interval: time.Hour, Budget: 20_000}, ch)
	g := newGreedy(p)
	boundary := g.walk(g.steps(), false, p.budget())
	if few := p.columns.sample(); few == nil || slices.Max(few.key) > 0 {
		t.Fatal("the sample has subscribers")
	}
	for i, want := range g.rung {
		if p.columns.weight[i] > 0 && p.path.rung[i] != want {
			t.Fatalf("row %d: rung %d, want %d", i, p.path.rung[i], want)
		}
	}
	if wrong := g.compare(s, boundary); wrong != "" {
		t.Errorf("%s: %+v", wrong, s)
	}
}

// compare returns what is wrong with a solution that has the greedy one's rates.
func (g *greedy) compare(s *Solution, boundary *step) string {
	if s.Unmet.Budget {
		boundary = nil
	}
	if boundary == nil {
		if s.Boundary != -1 || s.Lambda != 0 || s.Beyond != s.Objective {
			return "a boundary where no limit divides a step"
		}
		return ""
	}
	i, unit := int(boundary.channel), g.p.unit()
	if s.Boundary != i || !near(s.Lambda, boundary.ratio*unit) {
		return "another boundary or multiplier"
	}
	beyond := s.Objective
	switch saved := g.p.columns.waitOf(i, boundary.rung) - g.p.columns.waitOf(i, boundary.rung+1); {
	case g.p.config.Policy != Fast:
		beyond -= saved * unit / g.p.subscribers.value()
	case s.Unmet.Target:
		beyond += g.price(*boundary)
	default:
		beyond -= g.price(*boundary)
	}
	if math.Abs(s.Beyond-beyond) > 1e-9*s.Objective || !near(s.Load, g.load.value()) {
		return "another objective beyond the boundary, or load"
	}
	return ""
}

// dual is the bound that weak duality gives at a solution's multipliers (DESIGN.md, section
// 2): each channel at the rung that is best for it, found by trying all. Limits that were
// not met are taken to be what was reached.
func dual(p *Problem, s *Solution) float64 {
	own, mu := untightened(p), map[int32]float64{}
	lambda := s.Lambda / p.unit()
	var total float64
	for _, h := range s.Hosts {
		mu[h.Host] = h.Mu / p.unit()
		total -= mu[h.Host] * max(h.Cap, h.Polls)
	}
	for i, weight := range own.weight {
		if weight == 0 {
			continue
		}
		price := lambda * own.costOf(i)
		if p.channels.Host != nil && p.channels.Host[i] >= 0 {
			price += mu[p.channels.Host[i]]
		}
		least := math.Inf(1)
		lo, hi := own.bounds(i)
		for n := lo; n <= hi; n++ {
			least = min(least, weight/own.rungs.at(n)+price*own.rungs.at(n))
		}
		total += least
	}
	switch {
	case s.Unmet.Budget || p.config.Policy == Fast && lambda == 0:
		return s.Objective
	case p.config.Policy != Fast:
		return min(s.Objective, (total-lambda*s.Budget)*p.unit()/p.subscribers.value())
	case s.Unmet.Target:
		return min(s.Objective, (total-p.path.wait.value())/lambda)
	}
	return min(s.Objective, (total-p.waitTarget())/lambda)
}
