package honeycomb

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawn is a problem of some dozens of channels, or of enough that the search
// samples; too large for brute force.
func drawn(t *rapid.T) (Config, Channels) {
	n := rapid.IntRange(1, 200).Draw(t, "channels")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	c := Config{
		Policy:   rapid.SampledFrom([]Policy{Lite, Fast, Fair, FairSqrt, FairLog}).Draw(t, "policy"),
		Ladder:   rapid.SampledFrom([]Ladder{Any(), Prefix(16), Geometric(1.3)}).Draw(t, "ladder"),
		Cost:     rapid.SampledFrom([]Cost{Polls, Bytes}).Draw(t, "cost"),
		Nodes:    rapid.IntRange(1, 300).Draw(t, "nodes"),
		Interval: 30 * time.Minute,
		Floor:    5 * time.Minute,
		Target:   time.Duration(rapid.IntRange(1, 900).Draw(t, "target")) * time.Second,
	}
	ch := Channels{Subscribers: make([]float64, n), SizeBytes: make([]float64, n), UpdateInterval: make([]float64, n)}
	for i := range n {
		ch.Subscribers[i] = math.Floor(math.Exp(r.Float64() * 8))
		ch.SizeBytes[i] = math.Floor(math.Exp(r.Float64() * 12))
		ch.UpdateInterval[i] = math.Exp(r.Float64() * 14)
	}
	if rapid.Bool().Draw(t, "hosts") {
		ch.Host = make([]int32, n)
		for i := range ch.Host {
			ch.Host[i] = int32(r.IntN(max(n/10, 1)))
		}
		c.HostCap = float64(rapid.IntRange(1, 200).Draw(t, "cap"))
	}
	if rapid.Bool().Draw(t, "budget") {
		c.Budget = rapid.Float64Range(1, 20).Draw(t, "each") * float64(n)
		if c.Cost == Bytes {
			c.Budget *= 10_000
		}
	}
	if rapid.Bool().Draw(t, "bounds") {
		ch.MinRate, ch.MaxRate = column(r, n, 0, 0, 0.5, 2), column(r, n, 0, 0, 3, 20)
	}
	return c, ch
}

func solved(t *rapid.T, c Config, ch Channels) (*Problem, *Solution) {
	p, err := Prepare(c, ch)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Solve()
}

func TestLimitsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		p, s := solved(t, c, ch)
		var load float64
		polls := map[int32]float64{}
		for i := range ch.Len() {
			rate := p.Rate(i)
			load += p.columns.costOf(i) * rate
			if ch.Host != nil {
				polls[ch.Host[i]] += rate
			}
			if ch.MaxRate != nil && ch.MaxRate[i] > 0 && rate > ch.MaxRate[i] {
				t.Fatalf("row %d: rate %v over its bound %v", i, rate, ch.MaxRate[i])
			}
		}
		if !s.Unmet.Budget && load > s.Budget*(1+1e-12) {
			t.Fatalf("load %v over budget %v: %+v", load, s.Budget, s)
		}
		if math.Abs(load-s.Load) > 1e-9*load {
			t.Fatalf("load %v reported as %v", load, s.Load)
		}
		for h, n := range polls {
			if s.Unmet.Hosts == 0 && c.HostCap > 0 && n > c.HostCap*(1+1e-12) {
				t.Fatalf("host %d: %v polls over cap %v", h, n, c.HostCap)
			}
		}
		if detection, _ := p.Detection(); c.Policy == Fast && !s.Unmet.Target && detection > c.Target.Seconds()*(1+1e-12) {
			t.Fatalf("detection %v over target %v", detection, c.Target)
		}
	})
}

func TestBoundIsUnderObjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		p, s := solved(t, c, ch)
		if s.Bound > s.Objective {
			t.Fatalf("bound %v over objective %v", s.Bound, s.Objective)
		}
		if s.Unmet.Budget || s.Unmet.Target {
			return
		}
		gap := s.Objective - s.Bound
		if gap > allowance(p, s)*(1+1e-6)+1e-9*s.Objective {
			t.Fatalf("gap %v over one step per constraint, %v: %+v", gap, allowance(p, s), s)
		}
		if left := leftOver(p, s); s.Unmet.Hosts == 0 && gap > left+1e-9*s.Objective {
			t.Fatalf("gap %v over what the limits left unused, %v: %+v", gap, left, s)
		}
	})
}

// leftOver is what the limits left unused, at their multipliers, in objective:
// all that the dual of a state that is best at those multipliers differs by.
func leftOver(p *Problem, s *Solution) float64 {
	_, wait := p.ownSums()
	left := s.Lambda * (s.Budget - s.Load)
	if p.config.Policy == Fast {
		left = (p.waitTarget() - wait) * p.unit()
	}
	for _, h := range s.Hosts {
		left += h.Mu * (h.Cap - h.Polls)
	}
	if p.config.Policy != Fast {
		return left / p.subscribers.value()
	}
	if s.Lambda == 0 {
		return 0
	}
	return left / s.Lambda
}

func TestMoreBudgetIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		if c.Policy == Fast {
			c.Policy = Lite
		}
		_, auto := solved(t, c, ch)
		c.Budget = auto.Budget * rapid.Float64Range(0.3, 1).Draw(t, "less")
		before, less := solved(t, c, ch)
		c.Budget *= rapid.Float64Range(1, 2).Draw(t, "more")
		p, more := solved(t, c, ch)
		if p.released != before.released {
			return // under another set of lower bounds
		}
		// With caps of hosts and unequal costs a boundary may fall worse.
		room := 0.0
		if c.Cost == Bytes && c.HostCap > 0 {
			room = allowance(p, more)
		}
		if more.Objective > less.Objective*(1+1e-12)+room {
			t.Fatalf("budget %v: %v; budget %v: %v", less.Budget, less.Objective, more.Budget, more.Objective)
		}
	})
}

func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		_, s := solved(t, c, ch)
		order := rapid.Permutation(rangeOf(ch.Len())).Draw(t, "order")
		_, other := solved(t, c, permuted(ch, order))
		if math.Abs(s.Objective-other.Objective) > 1e-9*s.Objective || s.Feasible != other.Feasible {
			t.Fatalf("%+v\n%+v", s, other)
		}
	})
}

func rangeOf(n int) []int {
	r := make([]int, n)
	for i := range r {
		r[i] = i
	}
	return r
}

func permuted(ch Channels, order []int) Channels {
	return Channels{
		Subscribers: reorder(ch.Subscribers, order), SizeBytes: reorder(ch.SizeBytes, order),
		UpdateInterval: reorder(ch.UpdateInterval, order), Host: reorder(ch.Host, order),
		MinRate: reorder(ch.MinRate, order), MaxRate: reorder(ch.MaxRate, order),
	}
}

func reorder[T any](c []T, order []int) []T {
	if c == nil {
		return nil
	}
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = c[from]
	}
	return out
}

func TestRateIsFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, ch := drawn(t)
		c.Ladder = Any()
		c.Budget = rapid.Float64Range(1, 1000).Draw(t, "budget")
		p, _ := solved(t, c, ch)
		for i := range ch.Len() {
			polls, intervals := Fraction(p.Rate(i))
			if float64(polls)/float64(intervals) != p.Rate(i) {
				t.Fatalf("rate %v as %d/%d", p.Rate(i), polls, intervals)
			}
			if w := c.Width(p.Rate(i)); p.Rate(i) > 0 && (w < 1 || w > c.Nodes || float64(w) < p.Rate(i)*5/30) {
				t.Fatalf("rate %v has width %d of %d", p.Rate(i), w, c.Nodes)
			}
		}
	})
}

func TestBadRowsAreNamed(t *testing.T) {
	set := func(column func(*Channels) *[]float64, v float64) func(*Channels) {
		return func(ch *Channels) { (*column(ch))[2] = v }
	}
	subscribers := func(ch *Channels) *[]float64 { return &ch.Subscribers }
	sizes := func(ch *Channels) *[]float64 { return &ch.SizeBytes }
	updates := func(ch *Channels) *[]float64 { return &ch.UpdateInterval }
	least := func(ch *Channels) *[]float64 { return &ch.MinRate }
	most := func(ch *Channels) *[]float64 { return &ch.MaxRate }
	for _, tc := range []struct {
		name, column string
		spoil        func(*Channels)
	}{
		{"negative", "subscribers", set(subscribers, -1)},
		{"NaN", "subscribers", set(subscribers, math.NaN())},
		{"infinite", "subscribers", set(subscribers, math.Inf(1))},
		{"huge", "subscribers", set(subscribers, 1e101)},
		{"negative", "size_bytes", set(sizes, -1)},
		{"NaN", "size_bytes", set(sizes, math.NaN())},
		{"NaN", "update_interval_s", set(updates, math.NaN())},
		{"negative", "update_interval_s", set(updates, -5)},
		{"NaN", "min_rate", set(least, math.NaN())},
		{"negative", "max_rate", set(most, -0.5)},
		{"out of range", "host", func(ch *Channels) { ch.Host[2] = 1 << 30 }},
	} {
		for _, policy := range []Policy{Lite, Fair} {
			ch := Channels{
				Subscribers: []float64{1, 2, 3, 4}, SizeBytes: []float64{1, 1, 1, 1}, UpdateInterval: []float64{60, 60, 60, 60},
				Host: []int32{0, 0, 1, -1}, MinRate: make([]float64, 4), MaxRate: make([]float64, 4),
			}
			tc.spoil(&ch)
			_, err := Prepare(Config{Policy: policy, Nodes: 10, Interval: time.Hour, HostCap: 5}, ch)
			var bad *RowError
			if !errors.As(err, &bad) || bad.Row != 2 || bad.Column != tc.column {
				t.Errorf("%s %s, %v: %v", tc.name, tc.column, policy, err)
			}
		}
	}
}

func TestBadConfigs(t *testing.T) {
	good := Config{Nodes: 10, Interval: time.Hour}
	if _, err := Prepare(good, Channels{}); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Config){
		"policy":             func(c *Config) { c.Policy = 9 },
		"cost":               func(c *Config) { c.Cost = 9 },
		"nodes":              func(c *Config) { c.Nodes = 0 },
		"interval":           func(c *Config) { c.Interval = time.Millisecond },
		"floor over":         func(c *Config) { c.Floor = 2 * time.Hour },
		"floor negative":     func(c *Config) { c.Floor = -1 },
		"target":             func(c *Config) { c.Policy = Fast },
		"budget":             func(c *Config) { c.Budget = math.NaN() },
		"capacity":           func(c *Config) { c.Capacity = -1 },
		"cap":                func(c *Config) { c.HostCap = math.Inf(1) },
		"caps":               func(c *Config) { c.HostCaps = []float64{1, -1} },
		"ladder":             func(c *Config) { c.Ladder = Prefix(1) },
		"ladder falls":       func(c *Config) { c.Ladder = Geometric(0.5) },
		"ladder NaN":         func(c *Config) { c.Ladder = Geometric(math.NaN()) },
		"column too short":   func(c *Config) { c.Cost = Bytes },
		"column not present": func(c *Config) { c.Policy = Fair },
	} {
		config := good
		spoil(&config)
		if _, err := Prepare(config, Channels{Subscribers: []float64{1}}); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{"lite", "fast", "fair", "fair-sqrt", "fair-log"} {
		if p, err := ParsePolicy(s); err != nil || p.String() != s {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
	for _, s := range []string{"polls", "bytes"} {
		if c, err := ParseCost(s); err != nil || c.String() != s {
			t.Errorf("%q: %v, %v", s, c, err)
		}
	}
	for _, s := range []string{"any", "prefix:16", "geometric:1.5"} {
		if l, err := ParseLadder(s); err != nil || l.String() != s {
			t.Errorf("%q: %v, %v", s, l, err)
		}
	}
	for _, s := range []string{"", "prefix", "prefix:1", "prefix:2.5", "geometric:1", "geometric:NaN", "any:1"} {
		if l, err := ParseLadder(s); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v, %v", s, l, err)
		}
	}
	if _, err := ParsePolicy("Lite"); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	if _, err := ParseCost("byte"); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
