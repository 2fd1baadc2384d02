package honeycomb

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// crowdedHosts is a problem whose hosts have caps, with many equal channels, so that
// limits fall among steps that are equally worthy.
func crowdedHosts(t *rapid.T, policy Policy) (Config, Channels) {
	n := rapid.IntRange(2, 40).Draw(t, "channels")
	hosts := rapid.IntRange(1, min(n, 8)).Draw(t, "hosts")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 9))
	c := Config{
		Policy: policy, Cost: rapid.SampledFrom([]Cost{Bytes, Bytes, Polls}).Draw(t, "cost"),
		Ladder: rapid.SampledFrom([]Ladder{Any(), Geometric(2)}).Draw(t, "ladder"),
		Nodes:  rapid.SampledFrom([]int{4, 60}).Draw(t, "nodes"), Interval: time.Hour,
		// No mean of waits comes to just that, so that rounding decides nothing.
		Target:   time.Duration(rapid.IntRange(20, 2000).Draw(t, "target"))*time.Second + 7_654_321,
		HostCaps: column(r, hosts, 0, 3, 5.7, 11, 20, 100),
	}
	ch := Channels{
		Subscribers: column(r, n, 0, 1, 1, 2, 2, 3, 4, 8, 50), SizeBytes: column(r, n, 1, 2, 2, 2, 2, 2, 8, 30),
		UpdateInterval: column(r, n, 600, 3600, 7200), Host: make([]int32, n),
	}
	for i := range ch.Host {
		ch.Host[i] = int32(r.IntN(hosts+1)) - 1
	}
	if rapid.Bool().Draw(t, "bounds") {
		ch.MaxRate = column(r, n, 0, 0, 0, 0.5, 2, 7)
	}
	return c, ch
}

// Which numbers hosts have is nothing that a solution depends on.
func TestNumbersOfHostsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := crowdedHosts(t, rapid.SampledFrom([]Policy{Lite, Fast, Fair}).Draw(t, "policy"))
		c.Budget = rapid.SampledFrom([]float64{0, 3, 10, 1e6}).Draw(t, "each") * float64(ch.Len())
		p, s := solved(t, c, ch)
		number := rapid.Permutation(rangeOf(len(c.HostCaps))).Draw(t, "numbers")
		others, renumbered := c, ch
		others.HostCaps, renumbered.Host = make([]float64, len(number)), slices.Clone(ch.Host)
		for host, to := range number {
			others.HostCaps[to] = c.HostCaps[host]
		}
		for i, host := range ch.Host {
			if host >= 0 {
				renumbered.Host[i] = int32(number[host])
			}
		}
		q, other := solved(t, others, renumbered)
		for i := range ch.Len() {
			if p.Rate(i) != q.Rate(i) {
				t.Fatalf("row %d: rate %v, with other numbers %v\n%+v\n%+v", i, p.Rate(i), q.Rate(i), s, other)
			}
		}
		for k := range s.Hosts {
			s.Hosts[k].Host = int32(number[s.Hosts[k].Host])
		}
		slices.SortFunc(s.Hosts, func(a, b HostPrice) int { return cmp.Compare(a.Host, b.Host) })
		same := near(s.Objective, other.Objective) && near(s.Bound, other.Bound) && near(s.Beyond, other.Beyond) && s.Lambda == other.Lambda
		if !same || s.Boundary != other.Boundary || s.Unmet != other.Unmet || !slices.Equal(s.Hosts, other.Hosts) {
			t.Fatalf("%+v\nwith other numbers %+v", s, other)
		}
	})
}

// Rates whose sum is a cap but for rounding keep it.
func TestFifthsFillACap(t *testing.T) {
	for _, cost := range []Cost{Polls, Bytes} {
		c := Config{Cost: cost, Nodes: 5, Interval: time.Hour, Budget: 100, HostCap: 1}
		ch := Channels{Subscribers: repeated(5, 1), SizeBytes: repeated(5, 1, 2), Host: make([]int32, 5)}
		p, s := mustSolve(t, c, ch)
		for i := range 5 {
			if p.Rate(i) != 0.2 {
				t.Errorf("%v, row %d: rate %v, want 1/5: %+v", cost, i, p.Rate(i), s)
			}
		}
		if !s.Feasible || s.Hosts[0].Polls != 1 {
			t.Errorf("%v: %+v", cost, s)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// No rates that meet a target cost less than the bound, nor, where few are possible, less
// than those found but for a step per constraint. Where all steps of rates are equal, the
// target is met just where the highest rates under the caps meet it, and those that a
// smaller budget leads to miss it.
func TestTargetUnderCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := crowdedHosts(t, Fast)
		c.Budget = 1e9 // never binds
		p, s := solved(t, c, ch)
		budgeted := func(budget float64) (*Problem, *Solution) {
			lite := c
			lite.Policy, lite.Budget = Lite, budget
			return solved(t, lite, ch)
		}
		if _, wrong := compareFew(p, s); wrong != "" {
			t.Fatalf("%s: %+v", wrong, s)
		}
		target := c.Target.Seconds()
		if _, most := budgeted(c.Budget); hasEqualSteps(p) && s.Unmet.Target == (most.Objective <= target) {
			t.Fatalf("highest rates have %v s of %v: %+v", most.Objective, target, s)
		}
		if reached, _ := p.Detection(); !s.Unmet.Target && reached > target*(1+1e-12) {
			t.Fatalf("%v s, of %v: %+v", reached, target, s)
		}
		if p.last.ending != inside {
			return // at the highest rates, or at the lowest
		}
		if gap := s.Objective - s.Bound; hasEqualSteps(p) && gap > leftOver(p, s)+1e-9*s.Objective {
			t.Fatalf("gap %v over what the target left unused, %v: %+v", gap, leftOver(p, s), s)
		}
		for _, part := range []float64{0.8, 0.97, 1 - 1e-9} {
			q, less := budgeted(s.Load * part)
			if near(less.Lambda, s.Lambda) {
				continue // the same steps, but for rounding
			}
			if q.released == p.released && less.Feasible && less.Objective <= target && (less.Load < s.Bound*(1-1e-9) || hasEqualSteps(p)) {
				t.Fatalf("%v s with less load: %+v\n%+v", less.Objective, s, less)
			}
		}
	})
}

// hasEqualSteps says whether all rates that could be chosen are whole: then no host at
// its cap has room for another step, whatever its channels cost.
func hasEqualSteps(p *Problem) bool {
	polls := *p
	polls.config.Cost = Polls
	return isWhole(&polls)
}

// compareFew is compare where that is not too much to try.
func compareFew(p *Problem, s *Solution) (verdict, string) {
	if len(p.path.rung) > 4 {
		return isSkipped, ""
	}
	return compare(p, s)
}

// The last step may go so far past the target that it stays met when a cap takes
// another step back. The multiplier after that step is past the target then, and the
// search would have no state to begin from.
func TestTargetUnderCapsBeginsAtItsStep(t *testing.T) {
	c := Config{Policy: Fast, Cost: Bytes, Nodes: 60, Interval: time.Hour, Budget: 1e9, Target: 388 * time.Second, HostCap: 4}
	ch := Channels{Subscribers: []float64{100, 1, 1}, SizeBytes: []float64{100, 0.9, 1.0001}, Host: []int32{-1, 0, -1}}
	p, s := mustSolve(t, c, ch)
	if p.Rate(0) != 5 || p.Rate(1) != 4 || p.Rate(2) != 4 || s.Boundary != 0 || !near(s.Lambda, 1800.0/20) || s.Bound >= s.Objective {
		t.Errorf("rates %v, %v, %v: %+v", p.Rate(0), p.Rate(1), p.Rate(2), s)
	}
}

// Of many hosts those that are far from their cap are not solved alone, which changes
// nothing: not where so many are at theirs that the multiplier falls far, nor when channels
// change.
func TestHostsFarFromTheirCap(t *testing.T) {
	const n = 3 * sampled / 2
	for part, left := range map[float64]bool{0.02: true, 0.2: true, 0.9: false} { // of hosts at their cap
		for _, policy := range []Policy{Lite, Fast} {
			r := rand.New(rand.NewPCG(3, 21))
			c, ch := manyKeys(policy, Polls, n)
			c.Target = 400 * time.Second
			c.Nodes, ch.Host, c.HostCaps = 200, make([]int32, n), make([]float64, n/6)
			for host := range c.HostCaps {
				if c.HostCaps[host] = 900; r.Float64() < part {
					c.HostCaps[host] = 7.5
				}
			}
			for i := range n {
				ch.Host[i] = int32(r.IntN(n/6+n/60)) % int32(n/6)
				if i%5 == 0 {
					ch.Host[i] = -1
				}
			}
			p, s := mustSolve(t, c, ch)
			if (p.hosts.least > 0) != left {
				t.Errorf("%v, a part of %v at their cap: λ %v, hosts left out from %v on", policy, part, p.last.lambda, p.hosts.least)
			}
			same := func(s *Solution) {
				t.Helper()
				q, err := Prepare(c, ch)
				if err != nil {
					t.Fatal(err)
				}
				q.hosts.tighten(q, 0)
				want := q.Solve()
				for i := range n {
					if p.Rate(i) != q.Rate(i) {
						t.Fatalf("%v, a part of %v at their cap, row %d: rate %v, want %v", policy, part, i, p.Rate(i), q.Rate(i))
					}
				}
				if s.Lambda != want.Lambda || !near(s.Bound, want.Bound) || !slices.Equal(s.Hosts, want.Hosts) {
					t.Fatalf("%v, a part of %v at their cap: %+v, want %+v", policy, part, s, want)
				}
			}
			same(s)
			for _, factor := range []float64{30, 1000} {
				for i := range 8 {
					ch.Subscribers[1+i*30] *= factor
				}
				s, err := p.Update(1, 31, 61, 91, 121, 151, 181, 211)
				if err != nil {
					t.Fatal(err)
				}
				same(s)
			}
		}
	}
}
