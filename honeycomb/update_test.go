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

// Beside channels of others an update is a full solve with the same others and the same
// correction.
func TestUpdateBesideEqualsSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "changes"), 9))
		others := drawnOthers(r, c)
		p, err := PrepareBeside(c, ch, others)
		if err != nil {
			t.Fatal(err)
		}
		p.Solve()
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			s, err := p.Update(change(r, ch, 1+r.IntN(3))...)
			if err != nil {
				t.Fatal(err)
			}
			full, err := PrepareBeside(c, ch, others)
			if err != nil {
				t.Fatal(err)
			}
			sameAs(t, ch, p, s, full)
		}
		if _, err := p.Update(ch.Len()); !errors.Is(err, ErrConfig) {
			t.Fatalf("a stand-in's row was updated: %v", err)
		}
	})
}

// drawnOthers are some channels outside, with loads like those of problems that drawn
// makes.
func drawnOthers(r *rand.Rand, c Config) Outside {
	o := Outside{Part: pick(r, 1, 0.5), Correct: func(float64) float64 { return 0.9 }}
	var sums OutsideSums
	for range 1 + r.IntN(100) {
		cost, weight := 1.0, math.Exp(r.Float64()*8)
		if c.Cost == Bytes {
			cost = math.Exp(r.Float64() * 12)
		}
		o.StandIns.Cost, o.StandIns.Weight = append(o.StandIns.Cost, cost), append(o.StandIns.Weight, weight)
		o.StandIns.Key = append(o.StandIns.Key, weight/cost)
		sums.Subscribers += weight
		sums.Auto += weight * cost
	}
	sums.FixedLoad, sums.FixedWait = sums.Auto/50, sums.Subscribers/50
	o.Sums = []OutsideSums{sums}
	return o
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
	sameAs(t, ch, p, s, full)
}

func sameAs(t fataler, ch Channels, p *Problem, s *Solution, full *Problem) {
	t.Helper()
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

// Rows may be named twice and in any order, and steps of equal worth lie at the window's
// ends.
func TestUpdateAmongTies(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 12))
		c, ch := seeded(seed, 200+int(seed%3)*700)
		p, _ := mustSolve(t, c, ch)
		for range 5 {
			rows := make([]int, 0, 7)
			for range 1 + r.IntN(3) {
				i := r.IntN(ch.Len())
				ch.Subscribers[i] = pick(r, 0.0, 1, 1, 2, 3, 5, 8, 400)
				rows = append(rows, i, r.IntN(ch.Len()))
			}
			rows = append(rows, rows[0])
			given := slices.Clone(rows)
			s, err := p.Update(rows...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows, given) {
				t.Fatalf("rows %v became %v", given, rows)
			}
			sameAsFull(t, c, ch, p, s)
		}
	}
}

// The limit divides a tie of all channels: what changes of one that has the step, that is
// next to have it or that is behind, moves the boundary.
func TestUpdateInTie(t *testing.T) {
	for _, hosts := range []bool{false, true} {
		const n = 300
		c := Config{Nodes: 10, Interval: time.Hour, Budget: 2.5 * n}
		ch := Channels{Subscribers: repeated(n, 1)}
		if hosts {
			ch.Host, c.HostCap = make([]int32, n), 45
			for i := range ch.Host {
				ch.Host[i] = int32(i/20) - 1 // the first without
			}
		}
		p, _ := mustSolve(t, c, ch)
		for _, change := range []struct {
			subscribers float64
			rows        []int
		}{
			{0.5, []int{150}}, {2, []int{151}}, {0.5, []int{7}}, {3, []int{299}}, {5, []int{39}}, {1, []int{150, 151}}, {1.0001, []int{200, 30}},
			{0.9999, []int{20}}, {5, []int{59, 79}}, {1, []int{59, 7}}, {0.2, []int{140, 160, 22}}, {1, []int{20, 22, 30, 39, 140}},
		} {
			for _, i := range change.rows {
				ch.Subscribers[i] = change.subscribers * (1 - 1e-5*float64(i%3))
			}
			if !p.amend(slices.Sorted(slices.Values(change.rows)), factorsOf(p, change.rows)) {
				t.Fatalf("hosts %v: a full solve for %v", hosts, change)
			}
			sameAsFull(t, c, ch, p, p.report(p.last))
		}
	}
}

func factorsOf(p *Problem, rows []int) (all []factors) {
	for _, i := range slices.Sorted(slices.Values(rows)) {
		all = append(all, p.factors(i))
	}
	return all
}

// Where another limit ends the solve after a change, or other floors hold, it is solved
// again.
func TestUpdateBeyondItsLimit(t *testing.T) {
	const n = 40
	all := func(values ...float64) []float64 { return repeated(n, values...) }
	hosts := make([]int32, n)
	for i := range hosts {
		hosts[i] = int32(i / 2)
	}
	for name, tc := range map[string]struct {
		config Config
		ch     Channels
		change func(ch Channels)
		differ func(p *Problem) bool // what the change is to lead to
	}{
		"floors fit again": {Config{Budget: n - 0.5}, Channels{Subscribers: all(1)},
			func(ch Channels) { ch.Subscribers[0] = 0 }, func(p *Problem) bool { return p.released == keepAll }},
		"floors fit no longer": {Config{Budget: n - 1}, Channels{Subscribers: append(all(1)[1:], 0)},
			func(ch Channels) { ch.Subscribers[n-1] = 1 }, func(p *Problem) bool { return p.released == keepOwn }},
		"floors meet a target no longer": {Config{Policy: Fast, Target: 33 * time.Minute, Budget: 1e3}, Channels{Subscribers: all(1), MaxRate: append(all(0)[1:], 0.5)},
			func(ch Channels) { ch.Subscribers[n-1] = 30 }, func(p *Problem) bool { return p.last.ending == inside }},
		"the budget ends it, not the target": {Config{Policy: Fast, Target: 10 * time.Minute, Budget: 2.5 * n}, Channels{Subscribers: append([]float64{1e4}, all(1)[1:]...)},
			func(ch Channels) { ch.Subscribers[0] = 1 }, func(p *Problem) bool { return p.last.unmet.Target }},
		"the target ends it, not the budget": {Config{Policy: Fast, Target: 10 * time.Minute, Budget: 2.5 * n}, Channels{Subscribers: all(1)},
			func(ch Channels) { ch.Subscribers[0] = 1e4 }, func(p *Problem) bool { return p.path.goal.wait && p.last.ending == inside }},
		"a host reaches its cap": {Config{Cost: Bytes, Budget: 4 * n, HostCap: 9}, Channels{Subscribers: all(1, 2), SizeBytes: all(1), Host: hosts},
			func(ch Channels) { ch.Subscribers[0] = 90 }, func(p *Problem) bool { return p.last.certified }},
		"a bound lets a host reach its cap": {Config{Budget: 8 * n, HostCap: 12}, Channels{Subscribers: all(1), Host: hosts, MaxRate: all(3)},
			func(ch Channels) { ch.MaxRate[0], ch.MaxRate[1] = 10, 10 }, func(p *Problem) bool { return p.Rate(0) == 6 && p.Rate(1) == 6 }},
		"a wish is more than a host's cap": {Config{Budget: 8 * n, HostCap: 5}, Channels{Subscribers: all(1), Host: hosts, MinRate: all(0, 1)},
			func(ch Channels) { ch.MinRate[0] = 6 }, func(p *Problem) bool { return p.report(p.last).Unmet.Channels == 1 }},
	} {
		tc.config.Nodes, tc.config.Interval = 10, time.Hour
		p, _ := mustSolve(t, tc.config, tc.ch)
		if tc.differ(p) {
			t.Errorf("%s: before the change", name)
		}
		tc.change(tc.ch)
		s, err := p.Update(0, 1, n-1)
		if err != nil {
			t.Fatal(err)
		}
		if sameAsFull(t, tc.config, tc.ch, p, s); !tc.differ(p) {
			t.Errorf("%s: not after the change: %+v", name, s)
		}
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
	if _, err := p.Update(-1); !errors.Is(err, ErrConfig) {
		t.Errorf("row −1: %v", err)
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
