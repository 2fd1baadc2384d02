package truth

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func TestParseArgs(t *testing.T) {
	tests := []struct {
		args  string
		check func(Settings) bool
		err   string
	}{
		{"", func(s Settings) bool { return s.Interval == 30*time.Minute && s.Floor == 5*time.Minute }, ""},
		{"--interval 5s", func(s Settings) bool { return s.Floor == 5*time.Second }, ""},
		{"--interval=1m --floor 10s --unknown x --budget 50", func(s Settings) bool { return s.Floor == 10*time.Second && s.Budget == 50 }, ""},
		{"--interval 1m --host-gap 1s", func(s Settings) bool { return s.HostCap == 57 }, ""},
		{"--policy fast --target 10s", func(s Settings) bool { return s.Policy == honeycomb.Fast }, ""},
		{"--interval soon", nil, "interval"},
		{"--policy best", nil, "best"},
		{"--cost bytes", func(s Settings) bool { return s.Cost == honeycomb.Bytes }, ""},
		{"--host-parallel 3 --contact x", func(s Settings) bool { return s.Parallel == 3 && s.Contact == "x" }, ""},
		{"--budget x", nil, "budget"},
		{"--interval 1s --floor 2s", nil, "loor"},
	}
	for _, test := range tests {
		s, err := ParseArgs(strings.Fields(test.args), 1)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%q: error %v, want one with %q", test.args, err, test.err)
		case test.err == "" && (err != nil || !test.check(s)):
			t.Errorf("%q: %+v, %v", test.args, s, err)
		}
	}
}

func settings(t *testing.T, args string) Settings {
	t.Helper()
	s, err := ParseArgs(strings.Fields(args), 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Four channels with 16 subscribers and four with 1, whose budget is a poll for each
// subscriber: Σ 68 polls in 10 s, where the floor allows 10 for each.
func TestSolve(t *testing.T) {
	ch := Channels{Subscribers: []float64{16, 1, 16, 1, 16, 1, 16, 1, 0}, Interval: make([]float64, 9), Host: make([]int32, 9)}
	plan, err := Solve(settings(t, "--interval 10s --floor 1s"), ch)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Budget != 68 || plan.Gaps[0] != 1 || plan.Gaps[8] != 0 || math.Abs(plan.PollsPerS-6.8) > 1e-9 {
		t.Errorf("plan %+v", plan)
	}
	rates := make([]float64, 9)
	for i, gap := range plan.Gaps {
		if gap > 0 {
			rates[i] = 10 / gap
		}
	}
	if over := plan.OverBound(rates); over < 1 || over > 1.001 {
		t.Errorf("the plan itself is %g over the bound", over)
	}
	for i := range rates {
		rates[i] = 1
	}
	if over := plan.OverBound(rates); over < 2 {
		t.Errorf("a poll each per interval is only %g over the bound", over)
	}
}

// Which of two equal channels gets the last poll is left open.
func TestLongest(t *testing.T) {
	ch := Channels{Subscribers: []float64{1, 1, 1}, Interval: make([]float64, 3), Host: make([]int32, 3)}
	plan, err := Solve(settings(t, "--interval 10s --floor 1s --budget 4"), ch)
	if err != nil {
		t.Fatal(err)
	}
	for i, gap := range plan.Longest {
		if gap != 10 {
			t.Errorf("channel %d: longest gap %g, planned %g", i, gap, plan.Gaps[i])
		}
	}
}

func TestWaits(t *testing.T) {
	one := NewWaits([]float64{10})
	for q, want := range map[float64]float64{0.5: 5, 0.99: 9.9, 1: 10} {
		if got := one.Quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("one gap: quantile %g is %g, want %g", q, got, want)
		}
	}
	// Half of the changes wait up to 1, the others up to 3: at 1 all of the first and a
	// third of the second have come.
	two := NewWaits([]float64{3, 1})
	for q, want := range map[float64]float64{2.0 / 3: 1, 0.5: 0.75, 0.9: 2.4, 1: 3} {
		if got := two.Quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("two gaps: quantile %g is %g, want %g", q, got, want)
		}
	}
	if two.Mean() != 1 || NewWaits(nil).Quantile(0.5) != 0 {
		t.Errorf("mean %g", two.Mean())
	}
}
