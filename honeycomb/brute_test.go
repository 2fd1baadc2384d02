package honeycomb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// instance is a small problem that can be solved by trying everything.
type instance struct {
	config   Config
	channels Channels
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomInstance draws a problem with at most five channels and few rungs, with
// many ties and many limits that bind or cannot be met.
func randomInstance(r *rand.Rand) instance {
	n := 1 + r.IntN(5)
	c := Config{
		Policy:   pick(r, Lite, Fast, Fair, FairSqrt, FairLog),
		Ladder:   pick(r, Any(), Any(), Any(), Any(), Prefix(2), Prefix(16), Geometric(2), Geometric(1.5)),
		Cost:     pick(r, Polls, Polls, Bytes),
		Nodes:    1 + r.IntN(6),
		Interval: 30 * time.Minute,
		Target:   time.Duration(1+r.IntN(1200)) * time.Second,
	}
	ch := Channels{
		Subscribers:    column(r, n, 0, 1, 1, 2, 3, 5, 8, 1e9, 1e-9),
		SizeBytes:      column(r, n, 0, 1, 1, 2, 3, 10, 1000, 0.7),
		UpdateInterval: column(r, n, 0, 60, 900, 3600, 1e9),
	}
	if r.IntN(2) == 0 {
		c.Budget = float64(1+r.IntN(20)) * pick(r, 0.01, 0.3, 1, 1, 2)
		if c.Cost == Bytes {
			c.Budget *= pick(r, 1.0, 3, 100)
		}
	}
	if r.IntN(4) == 0 {
		c.Capacity = float64(1 + r.IntN(30))
	}
	if r.IntN(3) == 0 {
		ch.MinRate = column(r, n, 0, 0, 0, 1, 2, 0.5, 0.3)
	}
	if r.IntN(3) == 0 {
		ch.MaxRate = column(r, n, 0, 0, 0, 1, 2, 3, 0.5, 0.03, 0.01)
	}
	if r.IntN(2) == 0 {
		ch.Host = make([]int32, n)
		for i := range ch.Host {
			ch.Host[i] = int32(min(r.IntN(3), n-1)) - int32(r.IntN(2))
		}
		c.HostCap = float64(r.IntN(8)) * pick(r, 1, 1, 1, 0.3)
		c.HostCaps = column(r, 2, 0, 0, 1, 2, 4, 7)
	}
	return instance{c, ch}
}

func column(r *rand.Rand, n int, values ...float64) []float64 {
	c := make([]float64, n)
	for i := range c {
		c[i] = pick(r, values...)
	}
	return c
}

// best tries every rung of every channel within the ranges that the problem
// gave them and returns the lowest objective within all limits, in the solver's
// own units, or false when there is none.
func best(p *Problem, own *columns, host func(rates []float64) bool) (float64, bool) {
	n := len(own.key)
	rung := make([]int32, n)
	rates := make([]float64, n)
	found := math.Inf(1)
	var try func(i int)
	try = func(i int) {
		if i < n {
			lo, hi := own.bounds(i)
			for rung[i] = lo; rung[i] <= hi; rung[i]++ {
				rates[i] = own.rungs.at(rung[i])
				try(i + 1)
			}
			return
		}
		var load, wait float64
		for j := range n {
			if own.weight[j] > 0 {
				load += own.costOf(j) * rates[j]
				wait += own.weight[j] / rates[j]
			}
		}
		const slack = 1 + 1e-12
		if load > p.budget()*slack || !host(rates) {
			return
		}
		if p.config.Policy != Fast {
			found = min(found, wait)
		} else if wait <= p.waitLimit()*slack {
			found = min(found, load)
		}
	}
	try(0)
	return found, !math.IsInf(found, 1)
}

func combinations(own *columns) int {
	n := 1
	for i := range own.key {
		lo, hi := own.bounds(i)
		n *= int(hi-lo) + 1
	}
	return n
}

// untightened are a problem's columns before caps of hosts changed them.
func untightened(p *Problem) *columns {
	own := p.columns
	if own.lo != nil {
		own.hi = make([]int32, len(own.lo))
		for i := range own.hi {
			own.hi[i] = p.upper(i)
			if own.weight[i] == 0 {
				own.hi[i] = own.lo[i]
			}
		}
	}
	return &own
}

func hostsKept(p *Problem) func(rates []float64) bool {
	return func(rates []float64) bool {
		polls := map[int32]float64{}
		for i, h := range p.channels.Host {
			if h >= 0 && p.columns.weight[i] > 0 {
				polls[h] += rates[i]
			}
		}
		for h, n := range polls {
			if cap := p.config.capOf(h); cap > 0 && n > cap*(1+1e-12) {
				return false
			}
		}
		return true
	}
}

// allowance is one step per binding constraint, in objective.
func allowance(p *Problem, s *Solution) float64 {
	gain := math.Abs(s.Beyond - s.Objective)
	scale := p.unit() / p.subscribers.value()
	for _, h := range s.Hosts {
		n := p.path.rung[h.Boundary]
		saved := p.columns.waitOf(h.Boundary, n) - p.columns.waitOf(h.Boundary, n+1)
		if p.config.Policy == Fast {
			gain += saved * p.unit() / s.Lambda
		} else {
			gain += saved * scale
		}
	}
	return gain
}

// verdict is how a solution compared with the best.
type verdict int

const (
	isExact verdict = iota
	isNear
	isInfeasible
	isSkipped // no subscribers, or too many choices to try
	verdicts
)

func TestAgainstBruteForce(t *testing.T) {
	var counts [verdicts]int
	for seed := range uint64(20_000) {
		in := randomInstance(rand.New(rand.NewPCG(seed, 5)))
		p, err := Prepare(in.config, in.channels)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := p.Solve()
		rates := make([]float64, len(p.path.rung))
		for i := range rates {
			rates[i] = p.Rate(i)
		}
		if wrong := limitsBroken(p, s, rates); wrong != "" {
			t.Fatalf("%s: seed %d: %+v\n%+v\n%v", wrong, seed, in, *s, rates)
		}
		found, wrong := compare(p, s)
		if wrong != "" {
			t.Fatalf("%s: seed %d: %+v\n%+v\n%v", wrong, seed, in, *s, rates)
		}
		counts[found]++
	}
	t.Logf("%d exact, %d within a step per constraint, %d infeasible", counts[isExact], counts[isNear], counts[isInfeasible])
	if counts[isExact]+counts[isNear]+counts[isInfeasible] < 10_000 || counts[isExact] < 2_000 {
		t.Errorf("too few instances say anything: %v", counts)
	}
}

func limitsBroken(p *Problem, s *Solution, rates []float64) string {
	switch {
	case s.Bound > s.Objective:
		return "bound over objective"
	case s.Unmet.Hosts == 0 && !hostsKept(p)(rates):
		return "host cap passed"
	case !s.Unmet.Budget && s.Load > s.Budget*(1+1e-15):
		return "budget passed"
	}
	return ""
}

// compare holds a solution against all others.
func compare(p *Problem, s *Solution) (verdict, string) {
	if p.polled == 0 || combinations(untightened(p)) > 30_000 {
		return isSkipped, ""
	}
	want, ok := best(p, untightened(p), hostsKept(p))
	switch {
	case !ok && s.Feasible:
		return isInfeasible, "nothing is feasible"
	case !ok:
		return isInfeasible, ""
	case s.Unmet.Budget || s.Unmet.Hosts > 0 || s.Unmet.Target && (isWhole(p) || !nearTarget(p, s)):
		return isNear, fmt.Sprintf("feasible at %v", want)
	case s.Unmet.Target:
		return isNear, "" // a target that a step beyond the budget reaches
	}
	if p.config.Policy != Fast {
		want *= p.unit() / p.subscribers.value()
	}
	const rounding = 1e-9
	if s.Objective < want*(1-rounding) || s.Bound > want*(1+rounding) {
		return isNear, fmt.Sprintf("the best is %v", want)
	}
	if isWhole(p) {
		if s.Objective > want*(1+rounding) {
			return isExact, fmt.Sprintf("the best is %v", want)
		}
		return isExact, ""
	}
	if room := allowance(p, s); s.Objective > want+room+rounding*want {
		return isNear, fmt.Sprintf("the best is %v, a step per constraint %v", want, room)
	}
	return isNear, ""
}

// nearTarget says whether a step more per constraint would reach the target.
func nearTarget(p *Problem, s *Solution) bool {
	wait := p.path.wait.value() + p.last.wait
	for _, h := range s.Hosts {
		n := p.path.rung[h.Boundary]
		wait += p.columns.waitOf(h.Boundary, n+1) - p.columns.waitOf(h.Boundary, n)
	}
	return wait <= p.waitLimit()*(1+1e-9)
}

// isWhole says whether polls cost 1 and all rates that could be chosen are
// whole: where the optimum is promised.
func isWhole(p *Problem) bool {
	for i := range p.path.rung {
		if lo, _ := p.columns.bounds(i); lo < 0 && p.columns.weight[i] > 0 {
			return false
		}
	}
	return p.config.Cost == Polls && p.config.Ladder == Any()
}
