//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// tableHours is how long the simulator measures: eight probes of each channel.
const tableHours = 2

// tableRun measures each policy on nodes of its own, beside the simulator's Table 2.
func (o *options) tableRun(ctx context.Context, program, folder string) (*result, error) {
	simulation := o.simulation(tableHours)
	table, err := sim.RunTable2(ctx, simulation)
	if err != nil {
		return nil, err
	}
	res, places := newResult(o), o.placesOf(simulation)
	res.ChangesPerS = changesOf(places)
	res.note("the simulator's: %s", table.Command)
	for _, policy := range tablePolicies {
		of := *o
		of.policy = policy.String()
		err := of.with(ctx, o.nodes, places, program, filepath.Join(folder, of.policy), func(ctx context.Context, r *run) error {
			return r.row(ctx, res, rowOf(table, policy))
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", policy, err)
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

// rowOf is the simulator's row of a policy, our way.
func rowOf(table *sim.Table2, policy honeycomb.Policy) sim.Row {
	ours := honeycomb.Any().String()
	i := slices.IndexFunc(table.Rows, func(r sim.Row) bool { return r.Scheme == policy.String() && r.Ladder == ours })
	return table.Rows[i]
}

// row measures one policy.
func (r *run) row(ctx context.Context, res *result, simulated sim.Row) error {
	if err := r.fill(ctx); err != nil {
		return err
	}
	logf("%s: each of %d channels has content; settling", r.policy, len(r.places))
	pause(ctx, 2*r.maintenance)
	known, err := r.knownOff(ctx)
	if err != nil {
		return err
	}
	of, err := r.observe(ctx, r.window)
	if err != nil {
		return err
	}
	polls := r.origin.polled()
	b := beside{
		Name: r.policy, KnownOff: known, SimS: simulated.Detection, SimPlannedS: simulated.DetectionModel, BoundS: simulated.Bound,
		SimPerUpdate: simulated.DetectionPerUpdate, SimLoad: simulated.Load, SimPlanned: simulated.LoadModel,
	}
	left := b.measured(r, r.places, polls, of)
	logf("%s", b)
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

// knownOff is by what part the nodes' update intervals are off the truth, in the median.
func (r *run) knownOff(ctx context.Context) (float64, error) {
	all, err := r.list(ctx)
	if err != nil {
		return 0, err
	}
	errors := make([]float64, len(all))
	for n, ch := range all {
		errors[n] = off(ch.UpdateIntervalS, r.places[n].updateS)
	}
	slices.Sort(errors)
	return errors[len(errors)/2], nil
}
