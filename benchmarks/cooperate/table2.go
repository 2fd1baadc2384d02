//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/sim"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// tableHours is how long the simulator measures: four probes of each channel.
const tableHours = 1

// tableRun measures each policy on nodes of its own, beside the simulator's Table 2.
func (o *options) tableRun(ctx context.Context, program, folder string) (*result, error) {
	simulation := o.simulation(tableHours)
	rows, command, err := sim.RunOurs(ctx, simulation)
	if err != nil {
		return nil, err
	}
	res, places := newResult(o), o.placesOf(simulation)
	res.ChangesPerS = changesOf(places)
	res.note("the simulator's: %s", command)
	logf("simulated")
	for _, simulated := range rows {
		of := *o
		if o.policy != "" && o.policy != simulated.Scheme {
			continue
		}
		of.policy = simulated.Scheme
		err := of.with(ctx, o.nodes, places, program, filepath.Join(folder, of.policy), func(ctx context.Context, r *run) error {
			return r.row(ctx, res, simulated)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.policy, err)
		}
	}
	return res, nil
}

// policyArgs are what nodes are told of the policy.
func (o *options) policyArgs() []string {
	switch o.policy {
	case "":
		return nil
	case honeycomb.Fast.String():
		return []string{"--policy", o.policy, "--target", o.target.String()}
	}
	return []string{"--policy", o.policy}
}

// row measures one policy.
func (r *run) row(ctx context.Context, res *result, simulated sim.Row) error {
	if err := r.fill(ctx); err != nil {
		return err
	}
	logf("%s: each of %d channels has content; settling", r.policy, len(r.places))
	pause(ctx, 2*r.maintenance)
	all, err := r.list(ctx)
	if err != nil {
		return err
	}
	rates := make([]float64, len(all))
	for n, ch := range all {
		rates[n] = ch.Rate
	}
	of, err := r.observe(ctx, r.window)
	if err != nil {
		return err
	}
	polls := r.origin.polled()
	b := beside{
		Name: r.policy, KnownOff: r.knownOff(all), PlanUpdateS: r.perUpdate(r.places, rates), SimS: simulated.Detection, SimPlannedS: simulated.DetectionModel, BoundS: simulated.Bound,
		SimPerUpdate: simulated.DetectionPerUpdate, SimLoad: simulated.Load, SimPlanned: simulated.LoadModel,
	}
	left := b.measured(r, r.places, polls, of)
	logf("%s", b)
	res.noteLoads(r, &found{rates: rates, polls: polls, calm: spending{span: of}})
	res.judgeBeside(b)
	res.most(r.policy+": subscribers whose channel is not polled any more", left, 0)
	if r.policy == honeycomb.Fast.String() {
		// A target that binds is met with less than the budget, and is why it is not less.
		res.most("fast: planned wait off the target", off(b.PlannedS, r.target.Seconds()), 0.02)
		res.most("fast: planned polls, to the budget", b.Planned*float64(r.channels)/float64(r.subscriptions), 0.95)
	}
	res.kept(r, r.policy, polls)
	return nil
}

// knownOff is by what part the nodes' update intervals are off the truth, in the mean.
func (r *run) knownOff(all []api.Channel) float64 {
	sum := 0.0
	for n, ch := range all {
		sum += off(ch.UpdateIntervalS, r.places[n].updateS)
	}
	return sum / float64(len(all))
}
