// Package sim repeats the evaluation of the paper, "Corona: A High Performance
// Publish-Subscribe System for the World Wide Web" (NSDI 2006), sections 3.3, 4
// and 5, in virtual time, and puts this project's own way of doing it beside it.
//
// Everything follows from a seed, byte for byte. What is simulated are decisions
// (who polls what from when) and updates; polls are arithmetic, asked for where
// an update needs one. DESIGN.md says what is modelled and what is not.
package sim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Options say how large a simulation is. Times are virtual.
type Options struct {
	Channels      int
	Nodes         int // each with an egress address of its own
	Subscriptions int
	Hours         float64
	Seed          uint64
	Interval      time.Duration // τ
	Floor         time.Duration // of our pollers; 0: the interval. The paper's poll once an interval
	Maintenance   time.Duration // between two maintenance phases of a node or a range
	Target        time.Duration // of policy fast

	// Costs are those that beyond reckons with, and needs.
	Costs *costs.File

	// Progress, when not nil, is told now and then how much is done. It may be
	// called from several goroutines at once.
	Progress func(done, total int)
}

// PaperOptions are those of the paper's simulations (section 5.1).
func PaperOptions() Options {
	return Options{
		Channels: 100_000, Nodes: 1024, Subscriptions: 5_000_000, Hours: 6, Seed: 1,
		Interval: 30 * time.Minute, Maintenance: time.Hour, Target: 30 * time.Second,
	}
}

// ErrOptions is in the chain of every error about [Options].
var ErrOptions = errors.New("bad simulation")

// Limits that keep a slip of the pen from taking all memory.
const (
	mostChannels      = 2_000_000
	mostNodes         = 1 << 14
	mostSubscriptions = 1 << 30
	mostHours         = 24 * 7
)

// Validate says what is wrong with options.
func (o Options) Validate() error {
	switch {
	case o.Channels < 1 || o.Channels > mostChannels:
		return fmt.Errorf("%w: %d channels, want 1 to %d", ErrOptions, o.Channels, mostChannels)
	case o.Nodes < 1 || o.Nodes > mostNodes:
		return fmt.Errorf("%w: %d nodes, want 1 to %d", ErrOptions, o.Nodes, mostNodes)
	case o.Subscriptions < o.Channels || o.Subscriptions > mostSubscriptions:
		return fmt.Errorf("%w: %d subscriptions, want one a channel at least and %d at most", ErrOptions, o.Subscriptions, mostSubscriptions)
	case o.Interval < time.Second || o.Maintenance < o.Interval:
		return fmt.Errorf("%w: maintenance each %v at an interval of %v", ErrOptions, o.Maintenance, o.Interval)
	case !(o.Hours <= mostHours) || o.horizon() < o.settled()+o.Interval:
		return fmt.Errorf("%w: %v hours, want %v (two maintenance intervals and an interval) to %d", ErrOptions, o.Hours, (o.settled() + o.Interval).Hours(), mostHours)
	case o.Floor < 0 || o.Floor > o.Interval:
		return fmt.Errorf("%w: a floor of %v at an interval of %v", ErrOptions, o.Floor, o.Interval)
	case o.Target <= 0:
		return fmt.Errorf("%w: target %v", ErrOptions, o.Target)
	}
	return nil
}

// horizon is when a simulation ends.
func (o Options) horizon() time.Duration { return time.Duration(o.Hours * float64(time.Hour)) }

// settled is when measuring begins: figures are of the time after two
// maintenance intervals.
func (o Options) settled() time.Duration { return 2 * o.Maintenance }

// rounds is how many maintenance phases each node or range goes through.
func (o Options) rounds() int {
	return int((o.horizon() + o.Maintenance - 1) / o.Maintenance)
}

// config is the optimiser's configuration for a policy and a ladder. Budgets
// follow the subscribers.
func (o Options) config(policy honeycomb.Policy, ladder honeycomb.Ladder) honeycomb.Config {
	return honeycomb.Config{Policy: policy, Ladder: ladder, Nodes: o.Nodes,
		Interval: o.Interval, Floor: cmp.Or(o.Floor, o.Interval), Target: o.Target}
}

// command is what runs an experiment with these options again.
func (o Options) command(experiment string) string {
	line := fmt.Sprintf("corona sim %s --channels %d --nodes %d --subscriptions %d --hours %g --seed %d",
		experiment, o.Channels, o.Nodes, o.Subscriptions, o.Hours, o.Seed)
	usual := PaperOptions()
	if experiment == "deployment" {
		usual = DeploymentOptions()
	}
	for _, given := range []struct {
		flag        string
		time, usual time.Duration
	}{
		{"interval", o.Interval, usual.Interval}, {"floor", o.Floor, usual.Floor},
		{"maintenance", o.Maintenance, usual.Maintenance}, {"target", o.Target, usual.Target},
	} {
		if given.time != given.usual {
			line += fmt.Sprintf(" --%s %s", given.flag, given.time)
		}
	}
	return line
}

const never = time.Duration(1<<63 - 1)
