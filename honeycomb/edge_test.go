package honeycomb

import (
	"math"
	"slices"
	"testing"
	"time"
)

func repeated(n int, values ...float64) []float64 {
	c := make([]float64, n)
	for i := range c {
		c[i] = values[i%len(values)]
	}
	return c
}

// Where all channels are alike the limit divides a tie of them all: the first
// rows get the step.
func TestOneGreatTie(t *testing.T) {
	const n = 100_000 // sampled
	config := Config{Nodes: 10, Interval: time.Hour, Budget: 2.5 * n}
	p, s := mustSolve(t, config, Channels{Subscribers: repeated(n, 7)})
	for i := range n {
		want := 2.0
		if i < n/2 {
			want = 3
		}
		if p.Rate(i) != want {
			t.Fatalf("row %d: rate %v, want %v", i, p.Rate(i), want)
		}
	}
	if s.Load != s.Budget || s.Bound < s.Objective*(1-1e-12) || s.Boundary != n/2 {
		t.Errorf("%+v", s)
	}
}

func TestHugeAndTinyWeights(t *testing.T) {
	const n = 1000
	for _, cost := range []Cost{Polls, Bytes} {
		config := Config{Nodes: 100, Interval: time.Hour, Cost: cost}
		ch := Channels{Subscribers: repeated(n, 1e-100, 1e100, 1), SizeBytes: repeated(n, 1e100, 1e-100, 0, 1)}
		if cost == Polls {
			config.Budget = 3 * n
		}
		p, s := mustSolve(t, config, ch)
		if s.Bound > s.Objective || s.Load > s.Budget || math.IsNaN(s.Objective) || math.IsNaN(s.Lambda) {
			t.Errorf("%v: %+v", cost, s)
		}
		for i := range n {
			if ch.Subscribers[i] == 1e100 && p.Rate(i) < 7 {
				t.Fatalf("%v: row %d with all subscribers: rate %v", cost, i, p.Rate(i))
			}
		}
	}
}

func TestNoSubscribers(t *testing.T) {
	for _, policy := range []Policy{Lite, Fast} {
		config := Config{Policy: policy, Nodes: 3, Interval: time.Hour, Target: time.Second}
		p, s := mustSolve(t, config, Channels{Subscribers: []float64{0, 0}, MinRate: []float64{1, 2}})
		if p.Rate(0) != 0 || p.Rate(1) != 0 || s.Load != 0 || s.Objective != 0 || !s.Feasible || s.Polled != 0 {
			t.Errorf("%v: %+v", policy, s)
		}
	}
}

func TestLimitsThatNothingMeets(t *testing.T) {
	four := Channels{Subscribers: repeated(4, 10)}
	for _, tc := range []struct {
		name   string
		config Config
		ch     Channels
		unmet  Unmet
		rates  []float64
	}{
		{"budget under a poll each", Config{Budget: 2}, four, Unmet{}, repeated(4, 0.5)},
		{"budget under all rates", Config{Budget: 0.01}, four, Unmet{Budget: true}, repeated(4, 1.0/48)},
		{"capacity goes before auto", Config{Capacity: 8}, four, Unmet{}, repeated(4, 2)},
		{"target under all rates", Config{Policy: Fast, Target: time.Second}, four, Unmet{Target: true}, repeated(4, 10)},
		{"target under the budget", Config{Policy: Fast, Target: time.Minute, Budget: 8}, four, Unmet{Target: true}, repeated(4, 2)},
		{"target without a step", Config{Policy: Fast, Target: time.Hour}, four, Unmet{}, repeated(4, 1)},
		{"cap under a poll each", Config{HostCap: 1},
			Channels{Subscribers: repeated(4, 10), Host: []int32{0, 0, 1, -1}}, Unmet{}, []float64{0.5, 0.5, 1, 10}},
		{"wishes go before a poll each", Config{HostCap: 1.5},
			Channels{Subscribers: []float64{1, 1e6}, Host: []int32{0, 0}, MinRate: []float64{1, 0}}, Unmet{}, []float64{1, 0.5}},
		{"wishes go before a poll each of all", Config{Budget: 1.6},
			Channels{Subscribers: []float64{1, 1e6}, MinRate: []float64{1, 0}}, Unmet{}, []float64{1, 0.5}},
		{"cap under all rates", Config{HostCaps: []float64{0.01}},
			Channels{Subscribers: repeated(2, 10), Host: []int32{0, 0}}, Unmet{Hosts: 1}, repeated(2, 1.0/48)},
		{"origin's word before a poll each", Config{},
			Channels{Subscribers: repeated(2, 10), MaxRate: []float64{0.4, 0}}, Unmet{}, []float64{1.0 / 3, 10}},
		{"origin's word before ours", Config{},
			Channels{Subscribers: repeated(2, 10), MaxRate: []float64{3, 0}, MinRate: []float64{5, 0}}, Unmet{Channels: 1}, []float64{3, 10}},
		{"no rung between bounds", Config{},
			Channels{Subscribers: repeated(2, 10), MaxRate: []float64{1.8, 0}, MinRate: []float64{1.2, 0}}, Unmet{Channels: 1}, []float64{1, 10}},
		{"wish over the ladder", Config{},
			Channels{Subscribers: repeated(2, 10), MinRate: []float64{99, 0}}, Unmet{Channels: 1}, []float64{10, 10}},
		{"word under the ladder", Config{},
			Channels{Subscribers: repeated(2, 10), MaxRate: []float64{0.001, 0}}, Unmet{Channels: 1}, []float64{1.0 / 48, 10}},
		{"wishes go after the budget", Config{Budget: 4},
			Channels{Subscribers: repeated(2, 10), MinRate: []float64{9, 0}}, Unmet{Channels: 1}, []float64{2, 2}},
	} {
		tc.config.Nodes, tc.config.Interval = 10, time.Hour
		p, s := mustSolve(t, tc.config, tc.ch)
		var rates []float64
		for i := range tc.ch.Len() {
			rates = append(rates, p.Rate(i))
		}
		if !slices.Equal(rates, tc.rates) || s.Unmet != tc.unmet || s.Feasible != (tc.unmet == Unmet{}) {
			t.Errorf("%s: rates %v, want %v; %+v, want %+v", tc.name, rates, tc.rates, s.Unmet, tc.unmet)
		}
	}
}

func TestRungs(t *testing.T) {
	for _, tc := range []struct {
		ladder       Ladder
		nodes        int
		floor        time.Duration
		above, below []float64
	}{
		{Any(), 2, 20 * time.Minute, []float64{2, 3, 4, 5, 6}, []float64{0.5, 1.0 / 3}},
		{Prefix(16), 1024, time.Minute, []float64{4, 64, 1024}, []float64{0.5, 1.0 / 3}},
		{Prefix(16), 100, 0, []float64{6.25, 100}, []float64{0.5}},
		{Prefix(16), 1, 0, nil, []float64{0.5}},
		{Geometric(2), 10, 0, []float64{2, 4, 8}, []float64{0.5, 0.25, 0.125}},
		{Geometric(1.5), 10, 0, []float64{2, 3, 5, 8}, []float64{0.5, 1.0 / 3, 0.25}},
	} {
		config := Config{Ladder: tc.ladder, Nodes: tc.nodes, Interval: time.Hour, Floor: tc.floor}
		r, err := config.rungs()
		if err != nil {
			t.Fatal(err)
		}
		var above []float64
		for n := int32(1); n <= r.top; n++ {
			above = append(above, r.at(n))
		}
		if !slices.Equal(above, tc.above) {
			t.Errorf("%v: above 1 are %v, want %v", tc.ladder, above, tc.above)
		}
		for k, want := range tc.below {
			if got := r.at(int32(-1 - k)); tc.ladder.kind != geometricLadder && got != want {
				t.Errorf("%v: rung %d is %v, want %v", tc.ladder, -1-k, got, want)
			}
		}
		checkRungs(t, tc.ladder, r)
	}
}

// checkRungs compares the closed forms with looking at every rung.
func checkRungs(t *testing.T, l Ladder, r *rungs) {
	t.Helper()
	for x := 1e-6; x < 1e7; x *= 1.0137 {
		want := r.bottom
		for want < r.top && r.at(want)*r.at(want+1) <= x {
			want++
		}
		if got := min(max(r.choice(x), r.bottom), r.top); got != want {
			t.Fatalf("%v: choice(%v) is rung %d, want %d", l, x, got, want)
		}
		least, most := r.top, r.bottom
		for n := r.bottom; n <= r.top; n++ {
			if r.at(n) >= x {
				least = min(least, n)
			}
			if r.at(n) <= x {
				most = max(most, n)
			}
		}
		if r.atLeast(x) != least || r.atMost(x) != most {
			t.Fatalf("%v: at least %v: %d, want %d; at most: %d, want %d", l, x, r.atLeast(x), least, r.atMost(x), most)
		}
	}
	for n := r.bottom; n < r.top; n++ {
		if got, want := r.between(n), r.at(n)*r.at(n+1); math.Abs(got/want-1) > 1e-15 {
			t.Fatalf("%v: between(%d) = %v, want %v", l, n, got, want)
		}
		if rate := r.at(n); r.atLeast(rate) != n || r.atMost(rate) != n {
			t.Fatalf("%v: rung %d of rate %v is found at %d, %d", l, n, rate, r.atLeast(rate), r.atMost(rate))
		}
	}
}

func TestExplain(t *testing.T) {
	config := Config{Nodes: 10, Interval: time.Hour, Budget: 10, HostCap: 3}
	ch := Channels{Subscribers: []float64{100, 100, 1, 0}, Host: []int32{-1, 0, -1, -1}}
	p, s := mustSolve(t, config, ch)
	free, capped, least := p.Explain(0), p.Explain(1), p.Explain(2)
	if free.Rate != 6 || free.Last < s.Lambda || free.Next > s.Lambda || free.Most != 10 || free.Weight != 100 {
		t.Errorf("free: %+v at %v", free, s.Lambda)
	}
	if capped.Rate != 3 || capped.Most != 3 || capped.Next != 0 || capped.Last < s.Lambda+s.Hosts[0].Mu {
		t.Errorf("at its host's cap: %+v, %+v", capped, s)
	}
	if least.Rate != 1 || least.Last != 0 || least.Next > s.Lambda || least.Cost != 1 {
		t.Errorf("at the least: %+v at %v", least, s.Lambda)
	}
	if none := p.Explain(3); none != (Explanation{}) {
		t.Errorf("without subscribers: %+v", none)
	}
}
