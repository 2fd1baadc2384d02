//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim"
)

// beside is what live nodes did beside what the simulator says. Times are seconds, loads
// polls per interval and channel.
type beside struct {
	Name         string  `json:"name"`
	WaitS        float64 `json:"wait_s"` // by the times of polls, over subscribers
	SimS         float64 `json:"sim_wait_s"`
	PlannedS     float64 `json:"planned_s"` // by the nodes' status
	SimPlannedS  float64 `json:"sim_planned_s"`
	BoundS       float64 `json:"bound_s"`                // of the simulator's load: no whole rates are sooner
	PerUpdateS   float64 `json:"per_update_s,omitempty"` // weighted by subscribers over update interval
	PlanUpdateS  float64 `json:"planned_per_update_s,omitempty"`
	SimPerUpdate float64 `json:"sim_per_update_s,omitempty"`
	Load         float64 `json:"load"`
	SimLoad      float64 `json:"sim_load"`
	Planned      float64 `json:"planned_load"`
	SimPlanned   float64 `json:"sim_planned_load"`
	KnownOff     float64 `json:"known_off,omitempty"` // mean error of the nodes' update intervals
}

// mostOffSim is by what part live figures may differ from the simulator's.
const mostOffSim = 0.10

func off(live, sim float64) float64 { return math.Abs(live/sim - 1) }

// judgeBeside compares waits and loads.
func (r *result) judgeBeside(b beside) {
	r.Beside = append(r.Beside, b)
	r.most(b.Name+": wait off the simulator's", off(b.WaitS, b.SimS), mostOffSim)
	r.most(b.Name+": polls off the simulator's", off(b.Load, b.SimLoad), mostOffSim)
}

// measured fills in what the nodes did in a span; places say the subscribers of the time.
func (b *beside) measured(r *run, places []place, polls []poll, of span) (left float64) {
	times, planned := newTimeline(len(places), polls), r.plan.over(of)
	wait, left := times.waits(places, of.from, of.to)
	b.WaitS, b.PlannedS = wait.Seconds(), planned.detection
	b.Planned = planned.polls / float64(len(places))
	b.Load = float64(within(polls, of)) * float64(r.interval) / float64(of.length()) / float64(len(places))
	sum, weight := 0.0, 0.0
	for n, p := range places {
		if wait, ok := times.wait(n, of.from, of.to); ok && p.updateS > 0 {
			sum += float64(p.subscribers) / p.updateS * wait.Seconds()
			weight += float64(p.subscribers) / p.updateS
		}
	}
	if weight > 0 {
		b.PerUpdateS = sum / weight
	}
	return left
}

// perUpdate is the mean planned wait weighted by subscribers over update interval, in seconds.
func (o *options) perUpdate(places []place, rates []float64) float64 {
	sum, weight := 0.0, 0.0
	for n, p := range places {
		sum += float64(p.subscribers) / p.updateS * o.interval.Seconds() / (2 * rates[n])
		weight += float64(p.subscribers) / p.updateS
	}
	return sum / weight
}

func within(polls []poll, of span) (n int) {
	for _, p := range polls {
		if of.has(p.at) {
			n++
		}
	}
	return n
}

// simulation is what the simulator is to run beside the nodes.
func (o *options) simulation(hours float64) sim.Options {
	return sim.Options{Channels: o.channels, Nodes: o.nodes, Subscriptions: o.subscriptions, Hours: hours, Seed: o.seed,
		Interval: o.interval, Floor: o.floor, Maintenance: o.maintenance, Target: o.target}
}

// placesOf are the channels of a simulation, on hosts.
func (o *options) placesOf(of sim.Options) []place {
	subscribers, updates := of.Workload()
	crowds := make([]int, len(subscribers))
	for n, q := range subscribers {
		crowds[n] = int(q)
	}
	places := o.spread(crowds)
	for n := range places {
		places[n].updateS = updates[n]
	}
	return places
}

// kept are the rules for pollers that hold whatever else is measured.
func (r *result) kept(run *run, name string, polls []poll) {
	r.Polls += len(polls)
	early, _ := run.origin.log.Early(run.floor)
	r.none(name+": polls of a channel by an address under the floor", early)
	r.none(name+": hosts over their cap", overCaps(run.places, polls, run.interval, int(run.interval/run.gap)))
	_, wrong := run.told.all()
	r.none(name+": streams with what cannot be", wrong)
}

// observe notes plans and lets channels change for a time, and until each channel has been
// polled after it.
func (r *run) observe(ctx context.Context, length time.Duration) (of span, err error) {
	watching, cease := context.WithCancel(ctx)
	defer cease()
	r.running.Go(func() { r.watch(watching) })
	r.origin.freeze(false)
	r.running.Go(func() { r.origin.change(watching, changesOf(r.places), r.seed) })
	of.from = r.origin.now()
	pause(ctx, length)
	of.to = r.origin.now()
	r.origin.freeze(true)
	longest := time.Duration(0)
	for n := range r.places {
		longest = max(longest, r.plan.gap(n))
	}
	pause(ctx, longest+time.Second)
	return of, ctx.Err()
}

// String is a line of the table under besideHeader.
func (b beside) String() string {
	return fmt.Sprintf("%-10s %8.3fs %8.3fs %6.1f%% %8.3fs %8.3fs %8.3fs %8.3fs %8.3fs %8.3fs %7.3f %7.3f %6.1f%% %7.3f %7.3f %6.2f%%",
		b.Name, b.WaitS, b.SimS, 100*(b.WaitS/b.SimS-1), b.PlannedS, b.SimPlannedS, b.BoundS, b.PerUpdateS, b.PlanUpdateS, b.SimPerUpdate,
		b.Load, b.SimLoad, 100*(b.Load/b.SimLoad-1), b.Planned, b.SimPlanned, 100*b.KnownOff)
}

func besideHeader() string {
	return fmt.Sprintf("%-10s %9s %9s %7s %9s %9s %9s %9s %9s %9s %7s %7s %7s %7s %7s %7s",
		"policy", "wait", "sim", "", "planned", "sim", "bound", "/update", "planned", "sim", "polls", "sim", "", "planned", "sim", "u off")
}
