package honeycomb

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// besideOthers is a problem of three rows, of which one has no subscribers, beside one
// channel that stands in for others'.
func besideOthers(t *testing.T, c Config, others Outside) *Problem {
	t.Helper()
	c.Nodes, c.Interval = 4, time.Hour
	others.StandIns = StandIns{Key: []float64{5}, Cost: []float64{3}, Weight: []float64{15}}
	p, err := PrepareBeside(c, Channels{Subscribers: []float64{2, 0, 8}, MaxRate: []float64{0, 0, 2}}, others)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrepareBeside(t *testing.T) {
	var limit float64
	others := Outside{
		Sums: []OutsideSums{{Subscribers: 5, Auto: 9, FixedLoad: 3, FixedWait: 2}, {Subscribers: 1, Auto: 2, FixedLoad: 1, FixedWait: 4}},
		Part: 0.25, Correct: func(of float64) float64 { limit = of; return 0.8 },
	}
	// 25 for all, 0.8 of it with the correction, of which 4 are fixed: 16, the worthiest
	// steps first. The row whose highest rate is 2 and the stand-in have all of theirs.
	p := besideOthers(t, Config{Budget: 100}, others)
	s := p.Solve()
	if limit != 25 || s.Budget != 25 || p.loadLimit() != 16 {
		t.Errorf("corrected %v; budget %v; %v for channels that follow: want 25, 25, 16", limit, s.Budget, p.loadLimit())
	}
	if p.Rate(0) != 2 || p.Rate(1) != 0 || p.Rate(2) != 2 || p.path.rung[3] != 3 {
		t.Errorf("rates %v, %v, %v and rung %d: want 2, 0, 2, 3", p.Rate(0), p.Rate(1), p.Rate(2), p.path.rung[3])
	}
	first := 2 * (1 + dither*(unitHash(0)-0.5)) // the key of row 0
	want := &Solution{Objective: 900, Beyond: 900, Load: 4, Budget: 25, Lambda: first / 6 * 1800, Boundary: 0, Polled: 2, Feasible: true}
	if !near(s.Lambda, want.Lambda) {
		t.Errorf("λ %v, want %v", s.Lambda, want.Lambda)
	}
	want.Lambda = s.Lambda
	if s.Hosts != nil || s.Objective != want.Objective || s.Load != want.Load || s.Beyond != want.Beyond || s.Bound > s.Objective || s.Bound < 0.98*s.Objective ||
		s.Boundary != 0 || s.Polled != 2 || !s.Feasible {
		t.Errorf("%+v, want %+v", s, want)
	}
	if got := p.Totals(); got != (Totals{Subscribers: 10, Auto: 10, Lambda: s.Lambda / 1800, Limit: 25}) {
		t.Errorf("%+v", got)
	}
	// A boundary at the stand-in is not reported.
	others.Sums[0].FixedLoad = 5.5
	p = besideOthers(t, Config{Budget: 100}, others)
	if s := p.Solve(); s.Boundary != -1 || p.path.rung[3] != 2 || s.Lambda == 0 {
		t.Errorf("rung %d: %+v", p.path.rung[3], s)
	}
	// An automatic budget is that of all subscribers, whatever part is known.
	p = besideOthers(t, Config{}, others)
	if got := p.Solve().Budget; got != 21 {
		t.Errorf("automatic budget %v, want 21", got)
	}
	// Without a correction there is none, and what is fixed may be more than all.
	others.Correct, others.Sums[0].FixedLoad = nil, 24.5
	if p = besideOthers(t, Config{Budget: 100}, others); p.loadLimit() != smallest {
		t.Errorf("%v left for channels that follow", p.loadLimit())
	}
}

// The target is that of all subscribers, of whose wait a part is fixed.
func TestPrepareBesideFast(t *testing.T) {
	others := Outside{Sums: []OutsideSums{{Subscribers: 6, Auto: 6, FixedLoad: 4, FixedWait: 2}}, Part: 1, Correct: func(float64) float64 { return 0.75 }}
	p := besideOthers(t, Config{Policy: Fast, Target: 15 * time.Minute, Budget: 30}, others)
	if p.limit() != 8 || p.waitLimit() != 4 || p.loadLimit() != 26 {
		t.Errorf("target %v, of which %v for channels that follow; load %v: want 8, 4, 26", p.limit(), p.waitLimit(), p.loadLimit())
	}
	// 15/4, 2/4 and 8/2 are the shortest waits.
	if s := p.Solve(); !s.Unmet.Target || p.limit() != 8.25+2 || s.Objective != 6 || s.Load != 6 {
		t.Errorf("%v is in reach, want 10.25: %+v", p.limit(), s)
	}
	p = besideOthers(t, Config{Policy: Fast, Target: time.Hour, Budget: 30}, others)
	if s := p.Solve(); s.Unmet.Target || p.limit() != 32 || p.waitLimit() != 22 || p.path.wait.value() > 22 {
		t.Errorf("%v of %v: %+v", p.path.wait.value(), p.waitLimit(), s)
	}
}

func TestPrepareBesideRefuses(t *testing.T) {
	good, ch := Config{Nodes: 1, Interval: time.Hour, HostCap: 1}, Channels{Subscribers: []float64{1}, Host: []int32{7}}
	if _, err := PrepareBeside(Config{}, ch, Outside{}); !errors.Is(err, ErrConfig) {
		t.Errorf("no nodes: %v", err)
	}
	var bad *RowError
	if _, err := PrepareBeside(good, ch, Outside{}); !errors.As(err, &bad) || bad.Column != "host" {
		t.Errorf("host 7 of one row: %v", err)
	}
	if _, err := NewResponse(Config{}); !errors.Is(err, ErrConfig) {
		t.Errorf("a response without nodes: %v", err)
	}
}

func TestPlanned(t *testing.T) {
	p := besideOthers(t, Config{Budget: 100, Cost: Polls}, Outside{Part: 0.16})
	p.Solve()
	key := func(i uint64, weight float64) float64 { return weight * (1 + dither*(unitHash(i)-0.5)) }
	want := []Planned{
		{Row: 0, Subscribers: 2, Key: key(0, 2), Cost: 1, Weight: 2, Load: 2, Wait: 1},
		{Row: 2, Subscribers: 8, Key: key(2, 8), Cost: 1, Weight: 8, Load: 2, Wait: 4, Fixed: true}, // at its highest rate
	}
	if got := slices.Collect(p.Planned()); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for planned := range p.Planned() {
		if planned != want[0] {
			t.Errorf("the first is %+v", planned)
		}
		break
	}
}

// A channel follows the multiplier unless a bound of its own holds it.
func TestFixed(t *testing.T) {
	c := Config{Nodes: 6, Interval: time.Hour, Budget: 9}
	ch := Channels{Subscribers: []float64{1, 1, 1000, 1000, 4}, MinRate: []float64{0, 2, 0, 0, 2}, MaxRate: []float64{0, 0, 0, 1, 3}}
	others := Outside{Part: 1}
	for _, tc := range []struct {
		budget float64
		rates  []float64
		fixed  []bool
	}{
		{12, []float64{1, 2, 6, 1, 2}, []bool{false, true, false, true, true}},
		{13, []float64{1, 2, 6, 1, 3}, []bool{false, true, false, true, true}},
		{1e3, []float64{6, 6, 6, 1, 3}, []bool{false, false, false, true, true}},
	} {
		c.Budget = tc.budget
		p, err := PrepareBeside(c, ch, others)
		if err != nil {
			t.Fatal(err)
		}
		p.Solve()
		for i := range tc.rates {
			if p.Rate(i) != tc.rates[i] || p.fixed(i) != tc.fixed[i] {
				t.Errorf("budget %v, row %d: rate %v, fixed %v; want %v, %v", tc.budget, i, p.Rate(i), p.fixed(i), tc.rates[i], tc.fixed[i])
			}
		}
	}
}

// Owners give steps to the same part of equal channels: a constant of the protocol.
func TestDither(t *testing.T) {
	for x, want := range map[uint64]float64{0: 0.8833108082136426, 1: 0.43152799704850997, 2: 0.026433771592597743, 1e6: 0.8050512510101726} {
		if got := unitHash(x); got != want {
			t.Errorf("unitHash(%d) = %v, want %v", x, got, want)
		}
	}
	c := columns{key: repeated(3, 10), weight: []float64{4, 0, 4}}
	c.own()
	weight := c.weight[0]
	c.dither()
	for i, want := range []float64{10 + 0.3*(0.8833108082136426-0.5), 10 + 0.3*(0.43152799704850997-0.5), 10 + 0.3*(0.026433771592597743-0.5)} {
		if math.Abs(c.key[i]-want) > 1e-12 {
			t.Errorf("key %d is %v, want %v", i, c.key[i], want)
		}
	}
	if !slices.Equal(c.cost, []float64{1, 0, 1}) || c.weight[0] != weight {
		t.Errorf("costs %v, weights %v", c.cost, c.weight)
	}
}

// Keys that weights serve as are copied before they are dithered; costs that are there
// stay.
func TestOwn(t *testing.T) {
	c := columns{weight: []float64{4, 6}, cost: []float64{2, 3}}
	c.key = c.weight
	c.own()
	if c.key[0] = 9; c.weight[0] != 4 || !slices.Equal(c.cost, []float64{2, 3}) {
		t.Errorf("weights %v, costs %v", c.weight, c.cost)
	}
}

func TestResponse(t *testing.T) {
	r, err := NewResponse(Config{Nodes: 5, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := StandIns{Key: []float64{5, 1}, Cost: []float64{3, 2}, Weight: []float64{15, 2}}
	// At 0.6 a step from rate 2 to 3 is worth 5/6 to the one, one from 1 to 2 1/2 to the other.
	if load, wait := r.At(s, 0.6); load != 3*3+2 || wait != 15.0/3+2 {
		t.Errorf("load %v, wait %v; want 11, 7", load, wait)
	}
	if load, wait := r.At(s, 0.01); load != 3*5+2*5 || !near(wait, 15.0/5+2.0/5) {
		t.Errorf("load %v, wait %v; want 25, 3.4", load, wait)
	}
}

// The bound beside others is what the own channels' best rungs at the multiplier come to:
// as if each had looked at all of its rungs. Keys that were moved apart miss it a little.
func TestBoundBeside(t *testing.T) {
	missed := 0
	for seed := range uint64(60) {
		c, ch := seeded(seed, 150)
		ch.Host = nil
		r := rand.New(rand.NewPCG(seed, 21))
		p, err := PrepareBeside(c, ch, drawnOthers(r, c))
		if err != nil {
			t.Fatal(err)
		}
		s := p.Solve()
		if s.Lambda == 0 {
			continue
		}
		lambda, over := s.Lambda/p.unit(), 0.0
		for i := range ch.Len() {
			lo, hi := p.columns.bounds(i)
			if p.columns.weight[i] == 0 {
				continue
			}
			of := func(n int32) float64 { return p.columns.waitOf(i, n) + lambda*p.columns.loadOf(i, n) }
			best := of(lo)
			for n := lo; n <= hi; n++ {
				best = min(best, of(n))
			}
			over += of(p.path.rung[i]) - best
		}
		want := max(s.Objective-over/lambda, 0)
		if c.Policy != Fast {
			_, wait := p.ownSums()
			want = s.Objective * max(wait-over, 0) / wait
		}
		if math.Abs(s.Bound-want) > 1e-9*s.Objective {
			t.Errorf("seed %d: bound %v, want %v under %v", seed, s.Bound, want, s.Objective)
		}
		if over > 0 && s.Bound < s.Objective {
			missed++
		}
	}
	if missed < 5 {
		t.Errorf("%d solutions are above their bound", missed)
	}
}
