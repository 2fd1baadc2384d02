package sim

import (
	"math"
	"testing"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// At any rate, with equal costs and no caps, the square root is the optimum;
// nowhere is a rule of thumb better than lite, or over the budget.
func TestHeuristics(t *testing.T) {
	o := small()
	h, err := RunHeuristics(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Rows) != 8*6 {
		t.Fatalf("%d rows", len(h.Rows))
	}
	for _, r := range h.Rows {
		switch {
		case r.Scheme == "legacy":
			within(t, "legacy", r.Detection, 900, 1e-9)
		case r.Scheme == "fast":
			if r.Spent > fastCeiling+1e-9 || r.Detection > 30.01 && r.Spent < fastCeiling-0.1 {
				t.Errorf("%s: fast waits %v s for %v of the budget", r.setting(), r.Detection, r.Spent)
			}
		case r.AboveOptimum < -1e-3 || r.Spent > 1+1e-9:
			t.Errorf("%s: %s is %v above the optimum, for %v of the budget", r.setting(), r.Scheme, r.AboveOptimum, r.Spent)
		}
		plain := r.Ladder == ownLadder && r.Sizes == "equal" && !r.HostCaps
		if plain && r.Scheme == "square-root" && math.Abs(r.AboveOptimum) > 0.002 {
			t.Errorf("square root is %v above the optimum", r.AboveOptimum)
		}
		if plain && r.Scheme == "proportional" {
			within(t, "proportional, above the optimum", r.AboveOptimum, 0.125, 0.15)
		}
		if r.Sizes == "real" && !r.HostCaps && r.Scheme == "square-root" && r.AboveOptimum < 0.1 {
			t.Errorf("%s: the square root is only %v above the optimum", r.setting(), r.AboveOptimum)
		}
	}
}

// Hosts with a cap stay under it, whatever the rule.
func TestHeuristicsKeepCaps(t *testing.T) {
	o := small()
	w := newWorkload(o)
	for _, s := range []setting{{ladder: honeycomb.Any(), caps: true}, {ladder: honeycomb.Any(), caps: true, real: true}} {
		trial := newTrial(o, w, s)
		trial.config.HostCap = 100
		for _, rule := range crowdRules {
			rates := trial.shared(rule.share)
			var polls [crowdedHosts]float64
			for c, host := range trial.channels.Host {
				if host >= 0 && host < crowdedHosts {
					polls[host] += rates[c]
				}
			}
			for host, sum := range polls {
				if sum > 100+1e-9 {
					t.Errorf("%s: host %d gets %v polls of 100", rule.name, host, sum)
				}
			}
		}
	}
}

// The deployment: load follows subscriptions, ours detects sooner than the
// paper's at about the same load.
func TestDeployment(t *testing.T) {
	o := DeploymentOptions()
	o.Channels, o.Subscriptions = 1500, 30_000
	d, err := RunDeployment(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	legacy, paper, ours := d.Schemes[0], d.Schemes[1], d.Schemes[2]
	within(t, "legacy's wait", legacy.Detection, 900, 0.02)
	within(t, "legacy's polls a minute", legacy.PollsPerMinute, 1000, 0.001)
	within(t, "the paper's polls a minute", paper.PollsPerMinute, 1000, 0.1)
	within(t, "our polls a minute", ours.PollsPerMinute, 1000, 0.1)
	if !(ours.Detection < paper.Detection/2) || !(paper.Detection < legacy.Detection/3) {
		t.Errorf("waits: legacy %v, paper's %v, ours %v", legacy.Detection, paper.Detection, ours.Detection)
	}
	// In the first quarter of an hour a sixth arrives, and polls once.
	within(t, "polls a minute at first", legacy.Points[0].PollsPerMinute, 30_000.0/6/15, 0.05)
	o.Hours = 2.5
	if _, err := RunDeployment(t.Context(), o); err == nil {
		t.Error("2.5 hours are over when it has settled")
	}
}

// Each figure has its series, as long as each other, and the page shows them.
func TestFigures(t *testing.T) {
	o := small()
	o.Channels, o.Subscriptions, o.Nodes = 200, 8_000, 20
	f, err := RunFigures(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, figure := range f.Figures {
		if figure.Number != 3+i || len(figure.Plot.Series) < 3 {
			t.Errorf("figure %d is number %d with %d series", i, figure.Number, len(figure.Plot.Series))
		}
		for _, s := range figure.Plot.Series {
			if len(s.X) == 0 || len(s.X) != len(s.Y) {
				t.Errorf("figure %d, %s: %d and %d numbers", figure.Number, s.Name, len(s.X), len(s.Y))
			}
		}
	}
	if all := f.Spread[0]; all.Pollers != 20 || all.Messages != 19 || all.MostHops > 3 {
		t.Errorf("an update gets to 20 nodes like this: %+v", all)
	}
	if page := f.Report(); len(page.Sections) != 8 {
		t.Errorf("%d sections", len(page.Sections))
	}
}
