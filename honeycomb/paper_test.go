package honeycomb

import (
	"math"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb/internal/workload"
)

// The paper's workload: 1,024 nodes, 100,000 channels, 5,000,000 subscriptions
// by Zipf with exponent 0.5, a polling interval of 30 minutes.
func paperWorkload() (Config, Channels) {
	return paperConfig(), Channels{Subscribers: workload.Zipf(100_000, 0.5, 5_000_000)}
}

func mustSolve(t *testing.T, c Config, ch Channels) (*Problem, *Solution) {
	t.Helper()
	p, err := Prepare(c, ch)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Solve()
}

func TestPaperWorkloadLite(t *testing.T) {
	config, ch := paperWorkload()
	for _, tc := range []struct {
		ladder Ladder
		want   float64 // seconds
	}{{Any(), 16.03}, {Prefix(16), 40.36}} {
		config.Ladder = tc.ladder
		_, s := mustSolve(t, config, ch)
		if math.Abs(s.Objective-tc.want) > 0.005*tc.want || !s.Feasible {
			t.Errorf("ladder %v: %.3f s, want %v; %+v", tc.ladder, s.Objective, tc.want, s)
		}
		if s.Load > s.Budget || s.Load < s.Budget*0.999 {
			t.Errorf("ladder %v: load %v of %v", tc.ladder, s.Load, s.Budget)
		}
	}
}

// At whole rates there is nothing left between the optimum and the bound of
// rates that need not be whole.
func TestPaperWorkloadIsAtTheContinuousBound(t *testing.T) {
	config, ch := paperWorkload()
	_, s := mustSolve(t, config, ch)
	var q, roots float64
	for _, v := range ch.Subscribers {
		q += v
		roots += math.Sqrt(v)
	}
	bound := config.Interval.Seconds() / 2 * roots * roots / (q * q)
	if s.Bound < bound || s.Objective > bound*1.001 {
		t.Errorf("objective %v, dual bound %v, continuous bound %v", s.Objective, s.Bound, bound)
	}
}

func TestPaperWorkloadFast(t *testing.T) {
	config, ch := paperWorkload()
	config.Policy, config.Target = Fast, 30*time.Second
	for _, tc := range []struct {
		ladder Ladder
		budget float64
		want   float64 // polls per interval and channel
	}{{Any(), 0, 26.7}, {Prefix(16), 1e9, 58.75}} {
		config.Ladder, config.Budget = tc.ladder, tc.budget
		p, s := mustSolve(t, config, ch)
		polls := s.Load / 100_000
		t.Logf("ladder %v: %.3f polls per interval and channel", tc.ladder, polls)
		if detection, _ := p.Detection(); detection > 30 || detection < 29.9 || !s.Feasible {
			t.Errorf("ladder %v: %v s, want 30; %+v", tc.ladder, detection, s)
		}
		if tc.ladder == Any() && math.Abs(polls-tc.want) > 0.05 {
			t.Errorf("ladder %v: %.2f polls per interval and channel, want %v", tc.ladder, polls, tc.want)
		}
	}
}

// With equal costs and no bounds, polling in proportion to √q is lite's optimum;
// in proportion to q, or all alike, is worse by an eighth.
func TestHeuristics(t *testing.T) {
	config, ch := paperWorkload()
	_, s := mustSolve(t, config, ch)
	for _, tc := range []struct {
		name  string
		share func(q float64) float64
		want  float64
	}{
		{"square root", math.Sqrt, s.Objective},
		{"proportional", func(q float64) float64 { return q }, 18.0},
		{"uniform", func(float64) float64 { return 1 }, 18.0},
	} {
		got := shared(config, ch, tc.share)
		if math.Abs(got-tc.want) > 0.005*tc.want {
			t.Errorf("%s: %.3f s, want %.3f", tc.name, got, tc.want)
		}
	}
}

// shared returns the mean wait when rates are whole numbers in proportion to a
// function of the subscribers, rounded so that their sum is the budget.
func shared(config Config, ch Channels, share func(q float64) float64) float64 {
	var shares, budget float64
	for _, q := range ch.Subscribers {
		shares += share(q)
		budget += q
	}
	var wait, exact, given float64
	for _, q := range ch.Subscribers {
		exact += share(q) / shares * budget
		rate := max(math.Round(exact-given), 1)
		given += rate
		wait += q * mean(config.Interval, rate)
	}
	return wait / budget
}
