package honeycomb

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// After any series of changes the rates are those of a full solve.
func TestUpdateEqualsSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		p, _ := solved(t, c, ch)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "changes"), 8))
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			rows := change(r, ch, 1+r.IntN(3))
			s, err := p.Update(rows...)
			if err != nil {
				t.Fatal(err)
			}
			sameAsFull(t, c, ch, p, s)
		}
	})
}

// change spoils some rows of every kind and returns them.
func change(r *rand.Rand, ch Channels, n int) []int {
	var rows []int
	for range n {
		i := r.IntN(ch.Len())
		rows = append(rows, i)
		ch.Subscribers[i] = pick(r, ch.Subscribers[i]+1, ch.Subscribers[i]+1, math.Floor(ch.Subscribers[i]/2), 0, 1, 1000*ch.Subscribers[i])
		ch.UpdateInterval[i] *= pick(r, 1, 0.5, 3)
		ch.SizeBytes[i] *= pick(r, 1, 1.1)
		if ch.MaxRate != nil {
			ch.MaxRate[i] = pick(r, 0.0, 2, 30)
		}
	}
	return rows
}

// fataler is a test, or rapid's.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func sameAsFull(t fataler, c Config, ch Channels, p *Problem, s *Solution) {
	t.Helper()
	full, err := Prepare(c, ch)
	if err != nil {
		t.Fatal(err)
	}
	want := full.Solve()
	for i := range ch.Len() {
		if p.Rate(i) != full.Rate(i) {
			t.Fatalf("row %d: rate %v, a full solve's %v\n%+v\n%+v", i, p.Rate(i), full.Rate(i), s, want)
		}
	}
	near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }
	same := near(s.Objective, want.Objective) && near(s.Load, want.Load) && near(s.Budget, want.Budget) && near(s.Lambda, want.Lambda)
	if !same || s.Boundary != want.Boundary || s.Unmet != want.Unmet || s.Polled != want.Polled || len(s.Hosts) != len(want.Hosts) {
		t.Fatalf("%+v\na full solve's %+v", s, want)
	}
}

// Small changes must not be answered by full solves.
func TestUpdateStaysInItsWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, tc := range map[string]struct {
		config Config
		ch     Channels
	}{
		"lite":    {Config{}, channels(20_000)},
		"fast":    {Config{Policy: Fast, Target: 30 * time.Second}, channels(20_000)},
		"fair":    {Config{Policy: Fair, Cost: Bytes}, mixed(20_000)},
		"hosts":   {Config{HostCap: 1800}, mixed(20_000)},
		"ceiling": {Config{Budget: 1e12}, channels(20_000)},
		"floor":   {Config{Policy: Fast, Target: time.Hour}, channels(20_000)},
	} {
		tc.config.Nodes, tc.config.Interval = 200, 30*time.Minute
		p, _ := mustSolve(t, tc.config, tc.ch)
		for range 20 {
			i := r.IntN(tc.ch.Len())
			tc.ch.Subscribers[i]++
			if !p.amend([]int{i}, []factors{p.factors(i)}) {
				t.Fatalf("%s: a full solve for one subscriber more", name)
			}
		}
		sameAsFull(t, tc.config, tc.ch, p, p.report(p.last))
	}
}

func TestUpdateFromNothing(t *testing.T) {
	config := Config{Nodes: 4, Interval: time.Hour}
	ch := Channels{Subscribers: []float64{0, 0, 5}}
	p, err := Prepare(config, ch)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range [][]float64{{0, 0, 5}, {0, 0, 0}, {1, 0, 0}, {1, 9, 0}} {
		copy(ch.Subscribers, q)
		s, err := p.Update(0, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		sameAsFull(t, config, ch, p, s)
	}
}

func TestUpdateRefused(t *testing.T) {
	config, ch := Config{Nodes: 4, Interval: time.Hour}, Channels{Subscribers: []float64{3, 4}}
	p, before := mustSolve(t, config, ch)
	if _, err := p.Update(2); !errors.Is(err, ErrConfig) {
		t.Errorf("row 2 of 2: %v", err)
	}
	ch.Subscribers[1] = math.NaN()
	var bad *RowError
	if _, err := p.Update(0, 1); !errors.As(err, &bad) || bad.Row != 1 {
		t.Errorf("NaN: %v", err)
	}
	ch.Subscribers[1] = 4
	after, err := p.Update(1)
	if err != nil || after.Objective != before.Objective {
		t.Errorf("%+v, %v; before %+v", after, err, before)
	}
}

func TestMerge(t *testing.T) {
	rungs, err := paperConfig().rungs()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(0, 9), 0, 20).Draw(t, "ratios")
		from := rapid.IntRange(0, len(ratios)).Draw(t, "from")
		w := &window{terms: &columns{rungs: rungs}, rung: make([]int32, 20)}
		for i, ratio := range ratios {
			w.steps = append(w.steps, step{ratio, int32(i), 0})
		}
		slices.SortFunc(w.steps[:from], w.before)
		slices.SortFunc(w.steps[from:], w.before)
		w.merge(from)
		if !slices.IsSortedFunc(w.steps, w.before) || len(w.steps) != len(ratios) {
			t.Fatalf("%v", w.steps)
		}
	})
}
