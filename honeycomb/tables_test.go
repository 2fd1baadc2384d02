package honeycomb

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func randomTables(r *rand.Rand, channels, points int) Tables {
	t := Tables{Start: []int{0}}
	for range channels {
		cost := float64(r.IntN(3))
		for range 1 + r.IntN(points) {
			t.Cost = append(t.Cost, cost)
			t.Value = append(t.Value, float64(r.IntN(30))-5)
			cost += float64(1 + r.IntN(5))
		}
		t.Start = append(t.Start, len(t.Cost))
	}
	return t
}

// bestChoice tries all choices.
func bestChoice(t Tables, limit float64) (float64, bool) {
	best := math.Inf(1)
	var try func(i int, cost, value float64)
	try = func(i int, cost, value float64) {
		if i == len(t.Start)-1 {
			if cost <= limit {
				best = min(best, value)
			}
			return
		}
		for j := t.Start[i]; j < t.Start[i+1]; j++ {
			try(i+1, cost+t.Cost[j], value+t.Value[j])
		}
	}
	try(0, 0, 0)
	return best, !math.IsInf(best, 1)
}

func TestTablesAgainstBruteForce(t *testing.T) {
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 6))
		tables := randomTables(r, 1+r.IntN(5), 6)
		limit := float64(r.IntN(40))
		s, err := SolveTables(tables, limit)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := bestChoice(tables, limit)
		if ok != s.Feasible {
			t.Fatalf("seed %d: feasible %v, want %v", seed, s.Feasible, ok)
		}
		if !ok {
			continue
		}
		const rounding = 1e-9
		if s.Cost > limit || s.Value < want-rounding || s.Bound > want+rounding || s.Bound > s.Value {
			t.Fatalf("seed %d: best %v, limit %v: %+v", seed, want, limit, s)
		}
		if s.Value > want+(s.Value-s.Beyond)+rounding {
			t.Fatalf("seed %d: more than a step from the best, %v: %+v", seed, want, s)
		}
		checkChoice(t, tables, s)
	}
}

func checkChoice(t *testing.T, tables Tables, s *TableSolution) {
	t.Helper()
	var cost, value float64
	for i, j := range s.Choice {
		if j < 0 || j >= tables.Start[i+1]-tables.Start[i] {
			t.Fatalf("channel %d: point %d", i, j)
		}
		cost += tables.Cost[tables.Start[i]+j]
		value += tables.Value[tables.Start[i]+j]
	}
	if math.Abs(cost-s.Cost) > 1e-9 || math.Abs(value-s.Value) > 1e-9 {
		t.Fatalf("sums %v, %v are not those of %+v", cost, value, s)
	}
}

// The special case is the general one with its table written out.
func TestTablesAgreeWithLadders(t *testing.T) {
	config, ch := paperConfig(), workload(2000)
	for _, ladder := range []Ladder{Any(), Prefix(16), Geometric(2)} {
		config.Ladder, config.Nodes = ladder, 300
		p, s := mustSolve(t, config, ch)
		tables := Tables{Start: []int{0}}
		for _, q := range ch.Subscribers {
			for n := int32(0); n <= p.columns.rungs.top; n++ {
				tables.Cost = append(tables.Cost, p.columns.rungs.at(n))
				tables.Value = append(tables.Value, q/p.columns.rungs.at(n))
			}
			tables.Start = append(tables.Start, len(tables.Cost))
		}
		general, err := SolveTables(tables, s.Budget)
		if err != nil {
			t.Fatal(err)
		}
		if got := general.Value * p.unit() / p.subscribers.value(); math.Abs(got/s.Objective-1) > 1e-9 {
			t.Errorf("ladder %v: general %v, special %v", ladder, got, s.Objective)
		}
	}
}

func TestTablesRefused(t *testing.T) {
	good := func() Tables {
		return Tables{Start: []int{0, 2, 3}, Cost: []float64{1, 2, 1}, Value: []float64{3, 1, 2}}
	}
	for name, spoil := range map[string]func(*Tables){
		"no start":          func(t *Tables) { t.Start = nil },
		"start not at 0":    func(t *Tables) { t.Start[0] = 1 },
		"empty channel":     func(t *Tables) { t.Start[1] = 0 },
		"start past end":    func(t *Tables) { t.Start[1] = 9 },
		"end before points": func(t *Tables) { t.Start[2] = 2 },
		"values missing":    func(t *Tables) { t.Value = t.Value[:2] },
		"cost falls":        func(t *Tables) { t.Cost[1] = 0.5 },
		"cost stays":        func(t *Tables) { t.Cost[1] = 1 },
		"NaN":               func(t *Tables) { t.Value[2] = math.NaN() },
		"infinite":          func(t *Tables) { t.Cost[1] = math.Inf(1) },
	} {
		tables := good()
		spoil(&tables)
		if _, err := SolveTables(tables, 5); !errors.Is(err, ErrTables) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := SolveTables(good(), math.NaN()); !errors.Is(err, ErrTables) {
		t.Errorf("limit NaN: %v", err)
	}
	if _, err := SolveTables(good(), 5); err != nil {
		t.Error(err)
	}
}
