package honeycomb

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// groupOf is a host's channels, all open, on ladder any to 60.
func groupOf(t *testing.T, cap float64, weight, cost []float64) *group {
	t.Helper()
	rungs, err := Config{Nodes: 60, Interval: time.Hour}.rungs()
	if err != nil {
		t.Fatal(err)
	}
	n := len(weight)
	g := &group{columns: columns{rungs: rungs, weight: weight, cost: cost, key: make([]float64, n),
		lo: make([]int32, n), hi: make([]int32, n)}, row: make([]int32, n), cap: cap}
	for i := range n {
		g.key[i], g.lo[i], g.hi[i], g.row[i] = weight[i]/cost[i], rungs.bottom, rungs.top, int32(i)
	}
	return g
}

// fillGreedily is fill by its definition: of the steps that are worth their cost, those
// that save most for each poll, up to the cap.
func fillGreedily(g *group, lambda float64) []int32 {
	rung := slices.Clone(g.lo)
	polls := g.polls
	polls.join(g.rungs.polls(rung))
	var steps []step
	for i := range rung {
		for n := g.lo[i]; n < g.hi[i] && g.key[i]/g.rungs.between(n) >= lambda; n++ {
			steps = append(steps, step{g.weight[i]/g.rungs.between(n) - lambda*g.cost[i], int32(i), n})
		}
	}
	price := func(s step) float64 { return g.rungs.at(s.rung+1) - g.rungs.at(s.rung) }
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(price(a), price(b)),
			cmp.Compare(g.cost[a.channel], g.cost[b.channel]), cmp.Compare(a.channel, b.channel))
	})
	for _, s := range steps {
		if polls = exchanged(g.rungs, polls, move{s.channel, s.rung, s.rung + 1}); polls.over(g.cap) {
			break
		}
		rung[s.channel] = s.rung + 1
	}
	return rung
}

// What a host does at a multiplier is the greedy choice, and its own multiplier the worth
// of the step that its cap keeps out.
func TestFill(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	groups := []*group{
		// Five fifths are more than one by rounding: they do not fit beside two polls under
		// a cap of 3.
		groupOf(t, 3, []float64{4, 50, 4, 50, 4, 4, 3}, []float64{8, 8, 2, 2, 2, 30, 2}),
		groupOf(t, math.Inf(1), column(r, 50, 1, 2, 30), column(r, 50, 1, 5, 9)),
	}
	for _, n := range []int{1, 7, 40, 2_100} {
		for _, each := range []float64{0.04, 0.21, 1, 3.3, 17} {
			if n < 50 || each == 3.3 {
				groups = append(groups, groupOf(t, each*float64(n), column(r, n, 1, 1, 2, 3, 500), column(r, n, 1, 1, 2, 64)))
			}
		}
	}
	part := groupOf(t, 40, column(r, 30, 1, 2, 9), column(r, 30, 1, 3))
	part.polls.add(23.5)
	groups = append(groups, part)
	var f filler
	for k, g := range groups {
		finer := 1.9
		if len(g.row) > 50 {
			finer = 200 // many steps to sort
		}
		for lambda := 1e-5; lambda < 5; lambda *= finer {
			rung := make([]int32, len(g.row))
			mu := f.fill(g, lambda, 0, math.Inf(1), rung)
			if want := fillGreedily(g, lambda); !slices.Equal(rung, want) {
				t.Fatalf("group %d, λ %v: %v, want %v", k, lambda, rung, want)
			}
			var kept float64 // worth of the best step that was not taken
			for i, n := range rung {
				if n < g.hi[i] {
					kept = max(kept, g.net(i, n, lambda))
				}
			}
			if math.Abs(mu-kept) > 1e-9*(kept+lambda*64) {
				t.Fatalf("group %d, λ %v: multiplier %v, want %v", k, lambda, mu, kept)
			}
			// Brackets as a search has them change nothing.
			again := make([]int32, len(g.row))
			if near := f.fill(g, lambda, mu*0.9, mu*1.1, again); !slices.Equal(rung, again) || near != mu {
				t.Fatalf("group %d, λ %v: multiplier %v within 10 %%, else %v", k, lambda, near, mu)
			}
		}
	}
}

// The bracket of a cap's multiplier holds it, and few steps, wherever the search begins.
func TestFillBracket(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	n := 2*block + 500
	weights, costs := make([]float64, n), make([]float64, n)
	for i := range n {
		weights[i], costs[i] = math.Exp(7*r.Float64()), math.Exp(2*r.Float64())
	}
	for _, each := range []float64{0.5, 4, 20} {
		g := groupOf(t, each*float64(n)+600, weights, costs)
		g.polls.add(600)
		lambda := 0.01 / each / each
		var f filler
		rung := make([]int32, n)
		mu := f.fill(g, lambda, 0, math.Inf(1), rung)
		for _, ends := range [][2]float64{{0, math.Inf(1)}, {0, mu * 40}, {mu / 9, mu * 2}, {mu * 0.999, mu * 1.001}} {
			f.exactly(rung, lambda)
			low, high := f.bracket(g, lambda, ends[0], ends[1])
			from, to := f.demand(g, lambda, low), f.demand(g, lambda, high)
			if mu < low || mu > high || !from.over || to.over || from.rungs-to.rungs > int64(n/8) {
				t.Errorf("%v polls each, from %v: %v to %v with %d steps; want %v and %d at most", each, ends, low, high, from.rungs-to.rungs, mu, n/8)
			}
			var polls float64
			var rungs int64
			for i := range n {
				m := g.rungs.choice(weights[i] / (lambda*costs[i] + low))
				polls, rungs = polls+g.rungs.at(m), rungs+int64(m)
			}
			if !near(from.polls, polls) || from.rungs != rungs || from.mu != low {
				t.Errorf("%v polls each: at %v %v polls and %d rungs, want %v and %d", each, low, from.polls, from.rungs, polls, rungs)
			}
		}
	}
}

// Where no rate is at a bound and all costs are equal, the guess of a cap's multiplier is
// right but for whole rates, and no step saves more than the highest.
func TestOutline(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	weights := make([]float64, 500)
	for i := range weights {
		weights[i] = math.Exp(2 * r.Float64())
	}
	const lambda, cost = 0.002, 3
	g := groupOf(t, 500*11, weights, repeated(500, cost))
	var f filler
	rung := make([]int32, 500)
	mu := f.fill(g, lambda, 0, math.Inf(1), rung)
	f.exactly(rung, lambda)
	highest, guess := f.outline(lambda, g.cap)
	if math.Abs(guess/mu-1) > 0.05 {
		t.Errorf("guess %v, want %v", guess, mu)
	}
	if want := slices.Max(weights)*47*48 - lambda*cost; !near(highest, want) {
		t.Errorf("the best step saves %v a poll, want %v", highest, want)
	}
	// Channels without a choice save nothing.
	g.lo[0], g.hi[0], g.weight[0] = 2, 2, 1e9
	if again, _ := f.outline(lambda, g.cap); again != highest {
		t.Errorf("the best step saves %v a poll, want %v", again, highest)
	}
}
