package sim

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptionsRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no channels":            func(o *Options) { o.Channels = 0 },
		"too many channels":      func(o *Options) { o.Channels = 1 << 40 },
		"no nodes":               func(o *Options) { o.Nodes = 0 },
		"too many nodes":         func(o *Options) { o.Nodes = 1 << 20 },
		"too few subscriptions":  func(o *Options) { o.Subscriptions = o.Channels - 1 },
		"too many subscriptions": func(o *Options) { o.Subscriptions = 1 << 40 },
		"too short":              func(o *Options) { o.Hours = 2 },
		"not a time":             func(o *Options) { o.Hours /= 0 * o.Hours },
		"too long":               func(o *Options) { o.Hours = 1e9 },
		"no interval":            func(o *Options) { o.Interval = 0 },
		"rare maintenance":       func(o *Options) { o.Maintenance = o.Interval - 1 },
		"no target":              func(o *Options) { o.Target = 0 },
	} {
		o := PaperOptions()
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Validate(); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := RunDeployment(t.Context(), o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: deployment: %v", name, err)
		}
	}
}

// Subscriptions are whole, all there, and fall as 1/√i.
func TestZipf(t *testing.T) {
	q := zipf(100_000, 5_000_000)
	var all float64
	for i, v := range q {
		all += v
		if v != float64(int(v)) || i > 0 && v > q[i-1] {
			t.Fatalf("channel %d has %v subscribers, the one before %v", i, v, q[max(i-1, 0)])
		}
	}
	if all != 5_000_000 {
		t.Errorf("%v subscriptions", all)
	}
	within(t, "100 times as popular", q[9]/q[99_999-10], 100, 0.02)
}

// The survey's shares: a tenth within the hour, half not in five days.
func TestSurveyShares(t *testing.T) {
	o := PaperOptions()
	o.Channels, o.Subscriptions = 20_000, 20_000
	u := newWorkload(o).updateInterval
	share := func(below float64) float64 {
		var n float64
		for _, v := range u {
			if v <= below {
				n++
			}
		}
		return n / float64(len(u))
	}
	within(t, "share within an hour", share(hour), 0.1, 0.05)
	within(t, "share within five days", share(5*24*hour), 0.5, 0.03)
	if slices.Min(u) < 600 || slices.Max(u) != week {
		t.Errorf("from %v to %v s", slices.Min(u), slices.Max(u))
	}
}

// Updates come in order, at their own rate or once a stratum, whichever is more.
func TestUpdates(t *testing.T) {
	o := PaperOptions()
	o.Channels, o.Subscriptions = 50, 50
	w := newWorkload(o)
	w.updateInterval[0] = 60
	const horizon = 300*stratum + stratum/3
	for c := range w.ids {
		updates := w.updates(nil, c, horizon)
		strata := map[time.Duration]bool{}
		for i, at := range updates {
			strata[at/stratum] = true
			if at < 0 || at >= horizon || i > 0 && at < updates[i-1] {
				t.Fatalf("channel %d: update %d at %v", c, i, at)
			}
		}
		if len(strata) < 300 {
			t.Errorf("channel %d: updates in %d strata of 300", c, len(strata))
		}
		if c == 0 {
			within(t, "updates of a channel that changes each minute", float64(len(updates)), horizon.Minutes(), 0.05)
		}
	}
}

// Probes are the same whoever asks, and a ramp's subscribers come evenly.
func TestRamp(t *testing.T) {
	o := DeploymentOptions()
	w := newWorkload(o)
	d := w.ramp(Arriving)
	var half, all float64
	for c := range w.ids {
		half += d.at(c, Arriving/2)
		all += d.at(c, Arriving)
		if d.at(c, d.first(c)) < 1 || d.first(c) > 0 && d.at(c, d.first(c)-1) != 0 {
			t.Fatalf("channel %d has %v subscribers at its first's arrival", c, d.at(c, d.first(c)))
		}
	}
	if all != 150_000 {
		t.Errorf("%v subscriptions at the end", all)
	}
	within(t, "subscriptions in the middle", half, all/2, 0.01)
}

// What a command says runs the same system again, with other times too.
func TestCommand(t *testing.T) {
	o := PaperOptions()
	if line := o.command("table2"); line != "corona sim table2 --channels 100000 --nodes 1024 --subscriptions 5000000 --hours 6 --seed 1" {
		t.Error(line)
	}
	o.Interval, o.Floor, o.Maintenance = 20*time.Second, 4*time.Second, 20*time.Second
	if line := o.command("table2"); !strings.HasSuffix(line, "--seed 1 --interval 20s --floor 4s --maintenance 20s") {
		t.Error(line)
	}
	o.Floor = time.Minute
	if err := o.Validate(); !errors.Is(err, ErrOptions) {
		t.Errorf("a floor beyond the interval: %v", err)
	}
}

// With a floor below the interval a node polls as many times more often.
func TestFloor(t *testing.T) {
	o := Options{Channels: 64, Nodes: 5, Subscriptions: 64 * 12, Hours: 1, Seed: 1, Interval: 20 * time.Second,
		Maintenance: 20 * time.Second, Target: time.Second}
	for floor, load := range map[time.Duration]float64{0: 5, 5 * time.Second: 12} {
		o.Floor = floor
		rows, _, err := RunOurs(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if ours := rows[0]; len(rows) != 5 || ours.Scheme != "lite" || ours.Ladder != ownLadder || math.Abs(ours.Load/load-1) > 0.02 {
			t.Errorf("floor %s: %s %s polls %.2f; want %.0f", floor, ours.Scheme, ours.Ladder, ours.Load, load)
		}
	}
}
