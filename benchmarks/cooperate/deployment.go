//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// moment is a quarter of an hour of the simulator's deployment, beside the nodes' part of an
// interval that it stands for. Loads are polls per interval and channel.
type moment struct {
	AtS     float64 `json:"at_s"` // when it ends
	WaitS   float64 `json:"wait_s"`
	SimS    float64 `json:"sim_wait_s"`
	Load    float64 `json:"load"`
	SimLoad float64 `json:"sim_load"`
}

// deploymentHours is how long the simulator deploys: until all has settled, and two hours more.
const deploymentHours = 4.5

// deploymentRun lets subscriptions arrive as in the paper's deployment, as many times faster as
// the nodes' interval is shorter than the simulator's.
func (o *options) deploymentRun(ctx context.Context, program, folder string) (*result, error) {
	simulation := o.simulation(deploymentHours)
	scale := float64(sim.DeploymentOptions().Interval) / float64(o.interval)
	for _, d := range []*time.Duration{&simulation.Interval, &simulation.Floor, &simulation.Maintenance, &simulation.Target} {
		*d = time.Duration(float64(*d) * scale).Round(time.Second)
	}
	deployed, err := sim.RunDeployment(ctx, simulation)
	if err != nil {
		return nil, err
	}
	res, places := newResult(o), o.placesOf(simulation)
	for n := range places {
		places[n].updateS /= scale
	}
	res.ChangesPerS = changesOf(places)
	res.note("the simulator's: %s; its times are divided by %g here", deployed.Command, scale)
	err = o.with(ctx, o.nodes, places, program, folderOf(folder, o.nodes), func(ctx context.Context, r *run) error {
		return r.deploy(ctx, res, simulation, ours(deployed), scale)
	})
	return res, err
}

// ours is the simulator's deployment our way.
func ours(d *sim.Deployment) sim.DeploymentScheme {
	ladder := honeycomb.Any().String()
	return d.Schemes[slices.IndexFunc(d.Schemes, func(s sim.DeploymentScheme) bool { return s.Ladder == ladder })]
}

// deploy lets all arrive, and measures once they have and two maintenance intervals have passed.
func (r *run) deploy(ctx context.Context, res *result, of sim.Options, simulated sim.DeploymentScheme, scale float64) error {
	arrivals := of.Arrivals()
	var due []coming
	for n, times := range arrivals {
		for i := range times {
			times[i] = time.Duration(float64(times[i]) / scale)
			due = append(due, coming{at: times[i], place: n})
		}
	}
	r.listen(ctx)
	began := r.origin.now()
	if err := r.arrive(ctx, due); err != nil {
		return err
	}
	logf("%d subscriptions have arrived; settling", len(due))
	if err := r.filled(ctx); err != nil {
		return err
	}
	pause(ctx, began+time.Duration(float64(sim.Arriving)/scale)+2*r.maintenance-r.origin.now())
	measured, err := r.observe(ctx, r.window)
	if err != nil {
		return err
	}
	polls := r.origin.polled()
	perInterval := of.Interval.Minutes() / float64(r.channels)
	b := beside{
		Name: "deployment", SimS: simulated.Detection / scale, SimPlannedS: simulated.DetectionModel / scale,
		SimLoad: simulated.PollsPerMinute * perInterval, SimPlanned: float64(r.subscriptions) / float64(r.channels),
	}
	best, err := r.solveAll(r.places, r.nodes)
	if err != nil {
		return err
	}
	b.BoundS = best.wait
	left := b.measured(r, r.places, polls, measured)
	b.PerUpdateS = 0
	res.judgeBeside(b)
	res.most("subscribers whose channel is not polled any more", left, 0)
	res.kept(r, "deployment", polls)
	res.course(r, arrivals, polls, simulated, span{began, measured.to}, scale)
	return nil
}

// course puts each part of the deployment beside the simulator's.
func (r *result) course(run *run, arrivals [][]time.Duration, polls []poll, simulated sim.DeploymentScheme, of span, scale float64) {
	times, now, from := newTimeline(len(run.places), polls), slices.Clone(run.places), of.from
	for _, point := range simulated.Points {
		to := of.from + time.Duration(point.Hours*float64(time.Hour)/scale)
		if to > of.to {
			return
		}
		for n := range now {
			now[n].subscribers, _ = slices.BinarySearch(arrivals[n], (from+to)/2-of.from)
		}
		wait, _ := times.waits(now, from, to)
		perChannel := 1 / float64(len(now))
		r.Moments = append(r.Moments, moment{
			AtS: (to - of.from).Seconds(), WaitS: wait.Seconds(), SimS: point.Detection / scale,
			Load:    float64(within(polls, span{from, to})) * float64(run.interval) / float64(to-from) * perChannel,
			SimLoad: point.PollsPerMinute * run.interval.Minutes() * scale * perChannel,
		})
		from = to
	}
}

func printMoments(w io.Writer, moments []moment) {
	if len(moments) > 0 {
		fmt.Fprintf(w, "%6s %9s %9s %9s %9s\n", "until", "wait", "sim", "polls", "sim")
	}
	for _, m := range moments {
		fmt.Fprintf(w, "%5.0fs %8.3fs %8.3fs %9.2f %9.2f\n", m.AtS, m.WaitS, m.SimS, m.Load, m.SimLoad)
	}
}
