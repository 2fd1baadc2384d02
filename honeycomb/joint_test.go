package honeycomb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// jointly is a problem of n channels whose polls differ in cost on hosts with caps, drawn
// from a seed, with many ties.
func jointly(seed uint64, n int) (Config, Channels) {
	r := rand.New(rand.NewPCG(seed, 13))
	c := Config{
		Policy: pick(r, Lite, Lite, Fast, Fair), Cost: Bytes, Ladder: pick(r, Any(), Any(), Any(), Geometric(1.5)),
		Nodes: 30, Interval: time.Hour, Target: time.Duration(100+r.IntN(900))*time.Second + 7_654_321,
		Budget: pick(r, 4, 8, 20, 60, 1e6) * float64(n),
	}
	hosts := max(n/9, 1)
	c.HostCaps = column(r, hosts, 0, 7.5, 20, 40, 100)
	ch := Channels{
		Subscribers: column(r, n, 0, 1, 1, 2, 3, 40), SizeBytes: column(r, n, 1, 2, 2, 3, 8), UpdateInterval: column(r, n, 600, 3600, 7200),
		Host: make([]int32, n),
	}
	for i := range ch.Host {
		ch.Host[i] = int32(r.IntN(hosts+1)) - 1
	}
	if r.IntN(4) == 0 {
		ch.MaxRate = column(r, n, 0, 0, 0, 2, 7)
	}
	if r.IntN(8) == 0 {
		c.HostCaps[0] = 0.01 // under all rates
	}
	return c, ch
}

// Where costs differ and caps bind, the rates are best at the multipliers, which price
// the best step that each limit keeps out; and the limit has no room for its boundary.
func TestJointIsBestAtItsMultipliers(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(150) {
		n := 5 + int(seed*seed)%71
		if seed < 3 {
			n = 2_300 + int(seed)*300 // several blocks
		}
		c, ch := jointly(seed, n)
		p, s := mustSolve(t, c, ch)
		if !p.last.certified {
			continue
		}
		if math.Abs(s.Bound-dual(p, s)) > 1e-9*s.Objective {
			t.Fatalf("seed %d: bound %v, want %v: %+v\n%+v", seed, s.Bound, dual(p, s), s, c)
		}
		if gap := s.Objective - s.Bound; hasEqualSteps(p) && !s.Unmet.Target && gap > leftOver(p, s)+1e-9*s.Objective {
			t.Fatalf("seed %d: gap %v over %v, which the limits left unused: %+v\n%+v", seed, gap, leftOver(p, s), s, c)
		}
		if wrong := boundaryWrong(p, s); wrong != "" {
			t.Fatalf("seed %d: %s: %+v\n%+v\n%+v", seed, wrong, s, p.last, c)
		}
		for _, h := range p.hosts.list {
			for _, row := range p.hosts.rowsOf(h) {
				if h.unmet && p.path.rung[row] != p.columns.lo[row] {
					t.Fatalf("seed %d: row %d has rate %v on a host whose lowest rates pass its cap", seed, row, p.Rate(int(row)))
				}
			}
			if wrong := priceWrong(p, h); wrong != "" {
				t.Fatalf("seed %d, host %d: %s: %+v\n%+v", seed, h.number, wrong, h, s)
			}
		}
		for kind, is := range map[string]bool{
			"budget": p.last.divided && p.config.Policy != Fast, "target": p.last.divided && p.config.Policy == Fast && !s.Unmet.Target,
			"ceiling": p.last.ending == atCeiling, "unmet": s.Unmet.Hosts > 0, "large": n > 2_000,
			"exchange": p.last.divided && p.last.load != p.columns.loadOf(int(p.last.boundary.channel), p.last.boundary.rung+1)-
				p.columns.loadOf(int(p.last.boundary.channel), p.last.boundary.rung),
		} {
			if is {
				seen[kind]++
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("a kind of problem is missing: %v", seen)
	}
	t.Log(seen)
}

// boundaryWrong says what is wrong with the change that a limit divides: it has no room
// for it, or needed it, and its worth is the multiplier.
func boundaryWrong(p *Problem, s *Solution) string {
	out := p.last
	if !out.divided {
		if s.Boundary != -1 || out.load != 0 || out.wait != 0 {
			return "a boundary where no limit divides a step"
		}
		return ""
	}
	wait := p.path.wait.value()
	switch {
	case out.load <= 0 || out.wait >= 0:
		return "a boundary that costs or saves nothing"
	case hasEqualSteps(p) && !near(-out.wait, out.lambda*out.load):
		return "a boundary that is not worth the multiplier"
	case s.Boundary != int(out.boundary.channel):
		return "another boundary reported"
	case !p.path.goal.wait && s.Load+out.load <= s.Budget:
		return "room for the boundary"
	case p.path.goal.wait && wait-out.wait <= p.waitLimit():
		return "a target that was met before the boundary"
	case p.config.Policy != Fast && !near(s.Beyond, (wait+out.wait)*p.unit()/p.subscribers.value()):
		return "another objective beyond the boundary"
	case p.config.Policy == Fast && !s.Unmet.Target && !near(s.Beyond, s.Load-out.load), s.Unmet.Target && !near(s.Beyond, s.Load+out.load):
		return "another load beyond the boundary"
	}
	return ""
}

// priceWrong says what is wrong with a host's multiplier: it is what the best step saves
// for each poll, beyond its cost, where the cap has no room for that.
func priceWrong(p *Problem, h host) string {
	polls, best, edge := p.pollsOf(h), 0.0, int32(-1)
	net := func(row int32) float64 {
		if n := p.path.rung[row]; n < p.columns.hi[row] {
			return p.columns.weight[row]/p.columns.rungs.between(n) - p.last.lambda*p.columns.costOf(int(row))
		}
		return 0
	}
	rows := p.hosts.rowsOf(h)
	for _, row := range rows {
		best = max(best, net(row))
	}
	for _, row := range rows {
		n := p.path.rung[row]
		rounding := 1e-9 * p.columns.weight[row] / p.columns.rungs.between(n)
		if best > 0 && best <= rounding {
			return "" // priced or not, as rounding has it
		}
		if net(row) > 0 && net(row) >= best-rounding && edge < 0 {
			if with := exchanged(p.columns.rungs, polls, move{row, n, n + 1}); with.over(h.cap) {
				edge = row
			}
		}
	}
	if edge < 0 {
		best = 0
	}
	if !near(h.mu, best) || h.edge != edge {
		return "its multiplier is not the worth of the best step kept out"
	}
	return ""
}

// Steps of equal worth are taken in the order of rows, whatever hosts they are on, and the
// cheaper ones first.
func TestTiesUnderCaps(t *testing.T) {
	const n = 40
	c := Config{Cost: Bytes, Nodes: 30, Interval: time.Hour, HostCaps: []float64{100, 100, 100, 2}}
	ch := Channels{Subscribers: make([]float64, n), SizeBytes: make([]float64, n), Host: make([]int32, n)}
	for i := range n {
		cost := float64(1 + i%4/2*2) // 1, 1, 3, 3, …
		ch.Subscribers[i], ch.SizeBytes[i], ch.Host[i] = 5*cost, cost, int32(i%7%3)
	}
	ch.Subscribers[n-1], ch.SizeBytes[n-1], ch.Host[n-1] = 1e6, 1, 3 // at its host's cap
	at2 := 2.0
	for i := range n - 1 {
		at2 += 2 * ch.SizeBytes[i]
	}
	for _, more := range []float64{0, 1, 7, 20, 21, 25.5, 50} {
		c.Budget = at2 + more
		p, s := mustSolve(t, c, ch)
		left := more
		boundary := -1
		for _, cost := range []float64{1, 3} {
			for i := range n - 1 {
				if ch.SizeBytes[i] != cost {
					continue
				}
				want := 2.0
				if boundary < 0 && left >= cost {
					want, left = 3, left-cost
				} else if boundary < 0 {
					boundary = i
				}
				if p.Rate(i) != want {
					t.Fatalf("%v bytes more, row %d: rate %v, want %v", more, i, p.Rate(i), want)
				}
			}
		}
		if !p.last.certified || s.Boundary != boundary || !near(s.Lambda, 1800*5.0/6) || s.Load != c.Budget-left {
			t.Errorf("%v bytes more: want boundary %d and load %v: %+v", more, boundary, c.Budget-left, s)
		}
	}
}

// crowdedColumns is a problem of n channels, on small hosts and one large one, whose caps
// bind.
func crowdedColumns(t *testing.T, n int) *Problem {
	t.Helper()
	c, ch := manyKeys(Fast, Bytes, n)
	c.Target = 400 * time.Second
	c.HostCap, c.HostCaps = 30, []float64{4 * float64(n/4)}
	ch.Host = make([]int32, n)
	for i := range n {
		ch.Host[i] = int32(i%(n/8)) - 1
		if i%4 == 3 {
			ch.Host[i] = 0
		}
	}
	p, err := Prepare(c, ch)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A sample has one in so many channels, with the same part of the caps of large hosts; what
// it finds once it is calibrated is next to where the search of all channels ends, and so
// few channels are open in the box about it.
func TestGuess(t *testing.T) {
	p := crowdedColumns(t, 140_000)
	of := goal{wait: true, limit: p.waitLimit()}
	few := p.sampled(of)
	large, size := p.hosts.list[0], map[int32]int{}
	for _, g := range few.groups {
		size[g.of] = len(g.row)
		switch all := int(large.to); {
		case g.of == 1 && (len(g.row) != (all+7)/8 || g.cap != large.cap/8):
			t.Errorf("a sample has %d channels of the large host's %d under a cap of %v", len(g.row), all, g.cap)
		case g.of > 1 && (g.of%8 != 1 || len(g.row) != int(p.hosts.list[g.of-1].to-p.hosts.list[g.of-1].from) || g.cap != 30):
			t.Errorf("a sample has %d channels of small host %d under a cap of %v", len(g.row), g.of, g.cap)
		}
	}
	if part := float64(few.open()) / 140_000; math.Abs(part-1.0/8) > 0.002 || len(few.groups) != 2+(len(p.hosts.list)-1)/8 {
		t.Errorf("%d hosts of %d and a part of %v in the sample", len(few.groups)-1, len(p.hosts.list), part)
	}
	j := p.guessed(of)
	if j == nil {
		t.Fatal("no box holds the multipliers")
	}
	measured := j.fixed
	for k, g := range j.groups {
		measured.join(g.measure(of, 0, j.near.rung[k]))
	}
	if math.Abs(measured.value()-j.near.sum.value()) > 1e-9*measured.value() || j.open() > 140_000/10 {
		t.Errorf("open and settled channels come to %v, of %v; %d are open", measured.value(), j.near.sum.value(), j.open())
	}
	// Small hosts at their caps are known by few, the large one by many of its channels.
	lambda := few.approach(0.9*j.near.lambda, 0.01)
	known := few.calibrate()
	next := few.approach(lambda, halfWindow/2)
	if math.Abs(lambda/j.near.lambda-1) > 0.03 || math.Abs(next/j.near.lambda-1) > 0.03 {
		t.Errorf("a sample leads to %v, then %v; want %v", lambda, next, j.near.lambda)
	}
	in := few.around(known, j.near.lambda, 1)
	if mu := j.near.mu[1]; in.low.mu[1] > mu || in.high.mu[1] < mu || in.low.mu[1] < 0.95*in.high.mu[1] {
		t.Errorf("the large host's multiplier %v is not from %v to %v", mu, in.low.mu[1], in.high.mu[1])
	}
}

// Where a search begins is nothing that its end depends on, where all steps are equal; else
// several multipliers may meet the goal, all within a step of each host.
func TestGuessChangesNothing(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(24) {
		c, ch := crowd(seed)
		p, s := mustSolve(t, c, ch)
		q, err := Prepare(c, ch)
		if err != nil {
			t.Fatal(err)
		}
		of := goal{limit: q.loadLimit()}
		if c.Policy == Fast && !p.last.unmet.Target {
			of = goal{wait: true, limit: q.waitLimit()}
		}
		if q.guessed(of) != nil {
			seen["guessed"]++
		}
		q, _ = Prepare(c, ch)
		q.last = q.unguessed(of)
		q.last.unmet = p.last.unmet
		want := q.report(q.last)
		if !p.last.certified {
			seen["do not bind"]++
		}
		if s.Objective-s.Bound > want.Objective-want.Bound+1e-5*s.Objective || want.Objective < s.Bound || want.Bound > s.Objective || p.last.certified != q.last.certified {
			t.Fatalf("seed %d: %v to %v, without a guess %v to %v", seed, s.Bound, s.Objective, want.Bound, want.Objective)
		}
		if !hasEqualSteps(p) {
			continue
		}
		seen["equal"]++
		for i := range p.path.rung {
			if p.Rate(i) != q.Rate(i) {
				t.Fatalf("seed %d, row %d: rate %v, without a guess %v", seed, i, p.Rate(i), q.Rate(i))
			}
		}
		if !near(s.Lambda, want.Lambda) || s.Boundary != want.Boundary || len(s.Hosts) != len(want.Hosts) {
			t.Fatalf("seed %d: λ %v at row %d, without a guess %v at %d", seed, s.Lambda, s.Boundary, want.Lambda, want.Boundary)
		}
		for k, h := range s.Hosts {
			if other := want.Hosts[k]; !near(h.Mu, other.Mu) || h.Boundary != other.Boundary {
				t.Fatalf("seed %d: host %+v, without a guess %+v", seed, h, other)
			}
		}
	}
	t.Log(seen)
	if seen["guessed"] < 15 || seen["do not bind"] < 3 || seen["equal"] < 8 {
		t.Errorf("a kind of problem is missing: %v", seen)
	}
}

// crowd is a problem of many channels on large and small hosts, drawn from a seed, whose
// caps bind in most.
func crowd(seed uint64) (Config, Channels) {
	const n = 4*sampled + 1_000
	r := rand.New(rand.NewPCG(seed, 17))
	c, ch := manyKeys(pick(r, Lite, Fast), Bytes, n)
	c.Ladder, c.Target = pick(r, Any(), Any(), Geometric(1.5)), time.Duration(100+r.IntN(900))*time.Second
	c.HostCaps = column(r, 1+n/40, 0, 5, 40, 1e4)
	if seed%4 == 3 { // ties
		c.Budget /= 20
	}
	large := 1 + r.IntN(8)
	each := []float64{0.01, 0.3, 1, 3, 30}
	if seed%2 == 0 { // all rates are whole
		c.Ladder, each, c.HostCaps = Any(), []float64{1.5, 3, 30}, column(r, len(c.HostCaps), 0, 100, 1e4)
	}
	if seed%6 == 5 { // no cap binds
		c.HostCaps, each = make([]float64, len(c.HostCaps)), []float64{30}
	}
	for host := range large {
		c.HostCaps[host] = float64(n/large/3) * pick(r, each...)
	}
	ch.Host = make([]int32, n)
	for i := range n {
		switch r.IntN(3) {
		case 0:
			ch.Host[i] = int32(r.IntN(large))
		case 1:
			ch.Host[i] = int32(r.IntN(len(c.HostCaps)))
		case 2:
			ch.Host[i] = -1
		}
		if seed%4 == 3 {
			ch.Subscribers[i], ch.SizeBytes[i] = math.Ceil(ch.Subscribers[i]/50), math.Ceil(ch.SizeBytes[i]/30)
		}
		if seed%5 == 4 && i%50 == 0 {
			ch.Subscribers[i] = 0
		}
	}
	if seed%7 == 6 {
		ch.MaxRate = column(r, n, 0, 0, 0, 0, 0.5, 3)
	}
	return c, ch
}

// The next look is beyond where a point is expected, as far as that is from the end that
// was looked at, and no further than half of the way to the other end.
func TestAim(t *testing.T) {
	for _, tc := range []struct{ low, high, at, expected, want float64 }{
		{1, 9, 1, 2, 3}, {1, 9, 1, 7, 8}, {1, 9, 9, 8, 7}, {1, 9, 9, 2, 1.5}, {1, 9, 1, 1, 1}, {1, 9, 9, 9, 9},
	} {
		if got := aim(tc.low, tc.high, tc.at, tc.expected); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
	// Demands of rates by the inverse root of their price.
	demanded := func(mu float64) demand { return demand{mu: mu, polls: 10 / math.Sqrt(mu+3)} }
	if got := meet(demanded(1), demanded(6), 10/math.Sqrt(5)); !near(got, 2) {
		t.Errorf("they meet at %v, want 2", got)
	}
}
