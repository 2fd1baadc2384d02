package honeycomb

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Where a measure is a power of the multiplier, the second look is at the goal; the first
// is where no bound holds any rate.
func TestObserve(t *testing.T) {
	for _, tc := range []struct {
		wait          bool
		power         float64
		first, second float64 // where the goal is expected, of 1
	}{
		{false, -0.5, 1, 1}, {true, 0.5, 1, 1},
		{false, -2, 5 * math.Pow(1.0/5, 4), 1},
		{true, 2, 5 * math.Pow(1.0/5, 4), 1},
		{false, -0.1, 5 * math.Pow(1.0/5, 0.2), 1},
		// A slope that is none, or of the other sign, is not believed.
		{false, 2, 5 * math.Pow(5, 4), 2 * math.Pow(2, 4)},
		{true, -2, 5 * math.Pow(5, 4), 2 * math.Pow(2, 4)},
		{false, -1e-3, 5 * math.Pow(1.0/5, 0.002), 2 * math.Pow(1.0/2, 0.002)},
		{false, -80, 5 * math.Pow(1.0/5, 160), 2 * math.Pow(1.0/2, 160)},
	} {
		b := bracket{goal: goal{tc.wait, 1}, low: 1e-9, high: 1e9}
		measure := func(lambda float64) float64 { return math.Pow(lambda, tc.power) }
		if got := b.observe(5, measure(5)); !near(got, tc.first) {
			t.Errorf("%+v: first %v", tc, got)
		}
		if got := b.observe(2, measure(2)); !near(got, tc.second) {
			t.Errorf("%+v: second %v", tc, got)
		}
		if b.last != 2 || b.measured != measure(2) {
			t.Errorf("%+v: last %v, %v", tc, b.last, b.measured)
		}
		low, high := 1e-9, 2.0
		if (tc.power > 0) != tc.wait { // past where it should not be
			low, high = 5, 1e9
		}
		if b.low != low || b.high != high {
			t.Errorf("%+v: bracket %v to %v, want %v to %v", tc, b.low, b.high, low, high)
		}
		if got := b.observe(2, measure(2)*1.5); math.IsNaN(got) || math.IsInf(got, 0) {
			t.Errorf("%+v: the same place again leads to %v", tc, got)
		}
	}
}

func TestBracket(t *testing.T) {
	b := bracket{goal: goal{limit: 10}, low: 4, high: 9}
	for lambda, want := range map[float64]bool{4: false, 4.1: true, 8.9: true, 9: false, 3: false, 10: false} {
		if b.inside(lambda) != want {
			t.Errorf("inside(%v) = %v", lambda, !want)
		}
	}
	if b.middle() != 6 || b.width() != 1.25 {
		t.Errorf("middle %v, width %v; want 6, 1.25", b.middle(), b.width())
	}
	b.observe(5, 10) // just met: not past
	b.observe(4.5, 10.1)
	b.observe(7, 3)
	b.observe(4.2, 30)
	if b.low != 4.5 || b.high != 5 {
		t.Errorf("bracket %v to %v, want 4.5 to 5", b.low, b.high)
	}
	w := bracket{goal: goal{wait: true, limit: 10}, low: 4, high: 9}
	w.observe(5, 10) // just met: past
	w.observe(6, 10.1)
	if w.low != 5 || w.high != 6 {
		t.Errorf("bracket %v to %v, want 5 to 6", w.low, w.high)
	}
}

// Steps inside a bracket are counted once both of its ends were looked at.
func TestBracketCounts(t *testing.T) {
	c := manyColumns(t, Any(), false)
	load := func(lambda float64) float64 { l, _ := c.at(goal{}, lambda); return l }
	low, high := 0.011, 0.07
	b := &bracket{goal: goal{limit: (load(low) + load(high)) / 2}, low: leastRatio, high: mostRatio}
	b.look(c, high)
	if b.few(math.MaxInt32) {
		t.Error("steps are known after a look at one end")
	}
	b.look(c, low)
	var inside int
	for i := range c.key {
		inside += int(c.worthOf(i, low) - c.worthOf(i, high))
	}
	if !b.few(inside) || b.few(inside-1) || b.low != low || b.high != high {
		t.Errorf("not %d steps in a bracket of %v to %v", inside, b.low, b.high)
	}
	other := &bracket{goal: b.goal, low: leastRatio, high: mostRatio}
	if other.look(c, low); other.few(math.MaxInt32) {
		t.Error("steps are known after a look at the other end")
	}
}

// manyKeys is a problem of n channels whose steps lie close together.
func manyKeys(policy Policy, cost Cost, n int) (Config, Channels) {
	r := rand.New(rand.NewPCG(6, 6))
	c := Config{Policy: policy, Cost: cost, Nodes: 50, Interval: time.Hour, Target: 150 * time.Second}
	ch := Channels{Subscribers: make([]float64, n), SizeBytes: make([]float64, n)}
	for i := range n {
		ch.Subscribers[i] = math.Exp(6 * r.Float64())
		ch.SizeBytes[i] = math.Exp(5 * r.Float64())
	}
	c.Budget = 8 * float64(n)
	if cost == Bytes {
		c.Budget *= 30
	}
	if policy == Fast {
		c.Budget *= 100
	}
	return c, ch
}

// A sample has a goal where the look at all channels is next to it, and with what that
// look corrects nearly there.
func TestFind(t *testing.T) {
	for _, policy := range []Policy{Lite, Fast} {
		for _, cost := range []Cost{Polls, Bytes} {
			c, ch := manyKeys(policy, cost, 30_000)
			p, s := mustSolve(t, c, ch)
			lambda, of := s.Lambda/p.unit(), p.path.goal
			few := p.columns.sample()
			part := float64(len(few.key)) / float64(len(ch.Subscribers))
			guess := few.find(goal{of.wait, of.limit * part})
			b := &bracket{goal: of, low: leastRatio, high: mostRatio}
			b.look(&p.columns, guess)
			if next := few.find(few.alike(b)); math.Abs(guess/lambda-1) > 0.1 || math.Abs(next/lambda-1) > 5*halfWindow {
				t.Errorf("%v, %v: guess %v, then %v; want %v", policy, cost, guess, next, lambda)
			}
			// The window that a search opens there has few of the steps.
			if most := cap(p.path.steps); most > 12_000 || len(p.path.steps) > fewSteps {
				t.Errorf("%v, %v: %d steps left, of at least %d listed", policy, cost, len(p.path.steps), most/2)
			}
			// All channels are a sample of themselves.
			if found := p.columns.find(of); math.Abs(found/lambda-1) > 2*nearEnough {
				t.Errorf("%v, %v: found %v, want %v", policy, cost, found, lambda)
			}
		}
	}
}

// A window that does not hold the goal says on which side it is; one that does leaves the
// state there, as sorted steps do.
func TestOpen(t *testing.T) {
	for _, policy := range []Policy{Lite, Fast} {
		c, ch := manyKeys(policy, Polls, 3_000)
		p, s := mustSolve(t, c, ch)
		lambda, load, rung := s.Lambda/p.unit(), p.path.load.value(), slices.Clone(p.path.rung)
		b := &bracket{goal: p.path.goal, low: leastRatio, high: mostRatio}
		if p.path.open(b, lambda*1.1, lambda*1.2) || b.high != lambda*1.1 || b.low != leastRatio {
			t.Errorf("%v: a window over %v: %v to %v", policy, lambda, b.low, b.high)
		}
		if p.path.open(b, lambda*0.8, lambda*0.9) || b.low != lambda*0.9 || b.high != lambda*1.1 {
			t.Errorf("%v: a window under %v: %v to %v", policy, lambda, b.low, b.high)
		}
		for _, width := range []float64{1e-9, 0.01, 0.5} {
			if !p.path.open(b, lambda*(1-width), lambda*(1+width)) || !slices.Equal(p.path.rung, rung) || !near(p.path.load.value(), load) {
				t.Errorf("%v: a window of %v about %v ends at load %v, want %v", policy, width, lambda, p.path.load.value(), load)
			}
		}
	}
}

// Narrowing keeps few steps, or those of one worth, and with those that it took the state
// of sorted steps; what it keeps are all that lie between the window's new ends.
func TestNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, wait := range []bool{false, true} {
		for _, ties := range []bool{false, true} {
			for _, part := range []float64{0.001, 0.2, 0.5, 0.77, 0.999} {
				n := 9_000
				c := &columns{rungs: &rungs{bottom: 1 - slowest, top: 99}, key: make([]float64, n), ceiling: 1}
				c.weight = c.key
				w := &window{terms: c, goal: goal{wait: wait}, rung: make([]int32, n), low: 0, high: math.Inf(1)}
				for i := range n {
					if c.key[i] = 1 + r.Float64(); ties {
						c.key[i] = float64(1 + r.IntN(3))
					}
					w.steps = append(w.steps, step{c.ratio(i, 0), int32(i), 0})
				}
				w.load, w.wait = c.loads(0, w.rung), c.waits(0, w.rung)
				all, taken := slices.Clone(w.steps), int(part*float64(n))
				slices.SortFunc(all, func(a, b step) int { return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.channel, b.channel)) })
				w.goal.limit = float64(n + taken)
				if wait {
					left := w.wait
					for _, s := range all[:taken] {
						left.add(-c.waitOf(int(s.channel), 0) / 2)
					}
					w.goal.limit = left.value()
				}
				if w.narrow(); len(w.steps) > fewSteps && w.steps[0].ratio != w.steps[len(w.steps)-1].ratio {
					t.Fatalf("%d steps of %v to %v are left", len(w.steps), w.steps[0].ratio, w.steps[len(w.steps)-1].ratio)
				}
				var between []step
				for i := range n {
					if ratio := c.ratio(i, 0); ratio >= w.low && ratio < w.high {
						between = append(between, step{ratio, int32(i), 0})
					} else if took := w.rung[i] == 1; took != (ratio >= w.high) {
						t.Fatalf("a step worth %v is taken: %v, in a window of %v to %v", ratio, took, w.low, w.high)
					}
				}
				if !slices.Equal(between, w.steps) {
					t.Fatalf("%d steps kept, %d lie in the window", len(w.steps), len(between))
				}
				load, waits := w.load, w.wait
				fresh := totals{c.loads(0, w.rung), c.waits(0, w.rung)}
				if !near(load.value(), fresh.load.value()) || !near(waits.value(), fresh.wait.value()) {
					t.Fatalf("load %v, wait %v; afresh %v, %v", load.value(), waits.value(), fresh.load.value(), fresh.wait.value())
				}
				if !w.walk() {
					t.Fatal("the goal is not in the window")
				}
				if boundary := w.boundary(); boundary != all[taken] && !wait || wait && boundary.ratio != all[taken].ratio && boundary.ratio != all[taken-1].ratio {
					t.Fatalf("the boundary is %v, want %v", boundary, all[taken])
				}
			}
		}
	}
}

// Of all ratios about as many are above the pivot as below.
func TestPivot(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var w window
	for i := range 5_000 {
		w.steps = append(w.steps, step{ratio: r.Float64(), channel: int32(i)})
	}
	if got := w.pivot(); math.Abs(got-0.5) > 0.2 {
		t.Errorf("pivot %v of steps worth 0 to 1", got)
	}
	slices.SortFunc(w.steps, func(a, b step) int { return cmp.Compare(a.ratio, b.ratio) })
	if got := w.pivot(); math.Abs(got-0.484) > 0.02 {
		t.Errorf("pivot %v of sorted steps worth 0 to 1", got)
	}
}
