// Package run carries a scenario out: origins and sinks in this process, nodes as its
// children, subscriptions, a warm-up, the measured window with its events, and the time in
// which what was published may still arrive. It ends in a [result.Result], also when it is
// interrupted, and leaves no process behind.
package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/entries"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// Options say how to run a scenario.
type Options struct {
	Scenario *scenario.Scenario
	Out      string         // folder of the results, which holds nothing yet
	Binary   string         // the program that nodes are started from
	Progress func(Progress) // called each second; nil: not called

	lose func() bool // of tests: whether an update that arrives is lost at the sink; nil: none is
}

// Outcome is what a run found.
type Outcome struct {
	Result *result.Result
	Series []track.Point
	Nodes  []NodePoint
	Plots  track.Plots
	Window [2]float64 // seconds of the run
	Waits  [2]float64 // planned mean and bound, in milliseconds: of subscribers

	Profiles []*Profile // in the order of nodes and kinds
}

// ErrInput is a scenario that this machine cannot run, or a target that is none.
var ErrInput = errors.New("cannot run")

// ErrNode is a node that could not be reached, or ended by itself.
var ErrNode = errors.New("node")

// run is one that is under way.
type run struct {
	Options
	settings truth.Settings
	begun    time.Time
	limit    time.Duration // the longest that it may take

	places     []int32 // numbers, at the origin, of the channels that are subscribed to
	origin     *loadgen.Origin
	tracker    *track.Tracker
	cluster    *cluster
	subscriber *subscriber
	plans      plans
	told       []channelTold   // by a node, at the end of the window; nil: not known
	auditor    *auditor        // nil: nothing is audited
	follower   *follower       // nil: rates are not followed
	singles    *singles        // nil: none are made
	entries    *entries.Ledger // of recorded documents; nil: the channels are synthetic
	raw        *rawFile
	profiled   []*Profile
	sampler    *sampler

	background *background
	result     *result.Result
	before     loadgen.Stats // what the origins did before the window
	phase      phase
}

// Run runs a scenario. The context's end cuts it short. An error means that there is no
// result, or that a node ended by itself while it was probed.
func Run(ctx context.Context, o Options) (outcome *Outcome, err error) {
	r, err := prepare(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	err = r.phases(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	var ended error
	if err == nil {
		r.phase.enter("probe", 0)
		if err := r.probe(ctx); err != nil && ctx.Err() == nil { // the figures of the window are there
			r.result.Failed = append(r.result.Failed, "probe: "+err.Error())
		}
		ended = r.cluster.alive()
	}
	outcome, err = r.finish(ctx)
	return outcome, errors.Join(err, ended)
}

// prepare checks what can be checked before anything starts.
func prepare(o Options) (*run, error) {
	r := &run{Options: o, result: &result.Result{Scenario: o.Scenario.Name, Seed: o.Scenario.Seed}, cluster: &cluster{scenario: o.Scenario, binary: o.Binary, folder: o.Out}}
	if err := r.checkDescriptors(); err != nil {
		return nil, err
	}
	var err error
	if len(o.Scenario.Target) == 0 {
		if r.settings, err = truth.ParseArgs(o.Scenario.Nodes.Args, o.Scenario.Nodes.Count); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	return r, result.Make(o.Out)
}

// phases leads from the first subscription to the end of the time in which what was
// published may arrive.
func (r *run) phases(ctx context.Context) error {
	for _, step := range []struct {
		name string
		long time.Duration // as planned; 0: as long as it takes
		do   func(context.Context) error
	}{
		{"ramp", r.Scenario.Subscriptions.Ramp, r.subscribe},
		{"fill", 0, r.fill},
		{"warm-up", r.Scenario.Warmup, r.warmup},
		{"window", r.Scenario.Duration, r.window},
		{"drain", 0, r.drain},
	} {
		r.phase.enter(step.name, step.long)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := r.background.failed(); err != nil {
			return err
		}
	}
	return nil
}

// start opens origins and sinks, and starts nodes.
func (r *run) start(ctx context.Context) error {
	r.begun = time.Now()
	r.background = newBackground()
	var err error
	if r.raw, err = newRawFile(filepath.Join(r.Out, result.Raw)); err != nil {
		return err
	}
	first, second := r.startWorld, r.startNodes
	if len(r.Scenario.Target) > 0 {
		first, second = r.findTargets, r.startWorld // which judges by what they were told to optimise
	}
	if err := first(ctx); err != nil {
		return err
	}
	if err := second(ctx); err != nil {
		return err
	}
	r.sampler = newSampler(r)
	r.background.run(r.sampler.loop)
	r.background.run(r.tell)
	return nil
}

// close ends what runs in this process, and every child.
func (r *run) close() (err error) {
	if r.background != nil {
		err = r.background.stop()
	}
	err = errors.Join(err, r.cluster.close())
	if r.raw != nil {
		err = errors.Join(err, r.raw.Close())
	}
	return err
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
