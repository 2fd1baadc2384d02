package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/descriptors"
	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// spare is how many descriptors a process needs beside listeners and streams: connections
// of nodes to origins and sinks.
const spare = 2000

// checkDescriptors refuses what needs more of them than there are.
func (r *run) checkDescriptors() error {
	limit, err := descriptors.Limit()
	if err != nil {
		return err
	}
	hosts, streams := r.Scenario.Origins.Hosts, r.Scenario.Subscriptions.Streams
	if need := uint64(hosts + streams + spare); need > limit {
		return fmt.Errorf("%w: origins.hosts %d and subscriptions.streams %d need %d descriptors, and the limit is %d (ulimit -n)", ErrInput, hosts, streams, need, limit)
	}
	return nil
}

// startWorld starts origins and the webhooks' server.
func (r *run) startWorld(ctx context.Context) error {
	s := r.Scenario
	r.limit = s.Subscriptions.Ramp + s.Warmup + s.Duration + r.fillLimit() + r.drainLimit() + 5*time.Minute
	channels := 0
	r.places, channels = s.Origins.Places()
	observe := func(p loadgen.Poll) { r.tracker.Poll(p) }
	// The address is a random one of 127.0.0.0/8, so that runs beside each other do not
	// meet; connections go out from 127.0.0.1.
	listen := fmt.Sprintf("127.%d.%d.1:0", 64+rand.IntN(64), rand.IntN(128))
	config := originConfig(s, listen, channels, observe)
	if s.Audit {
		r.auditor = new(auditor)
		config.Audit = r.auditor.hear
	}
	origin, err := loadgen.NewOrigin(config)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	listeners, err := origin.Listen(ctx)
	if err != nil {
		return err
	}
	r.origin = origin
	if ca := origin.CA(); ca != nil {
		r.cluster.authority = filepath.Join(r.Out, "origins-ca.pem")
		if err := os.WriteFile(r.cluster.authority, ca, 0o644); err != nil {
			return err
		}
	}
	var schedule track.Schedule = origin
	if len(s.Origins.Files) > 0 {
		schedule = recorded{origin}
		r.readEntries()
	}
	r.tracker = track.New(track.Config{
		Schedule: schedule, Channels: origin.Channels(), Hosts: s.Origins.Hosts, Begin: r.begun, Longest: r.limit,
		Floor: r.settings.Floor, Nodes: max(len(s.Target), s.Nodes.Count), Raw: r.raw,
	})
	r.background.run(func(ctx context.Context) error { return origin.Serve(ctx, listeners...) })
	r.subscriber = &subscriber{
		Subscriptions: &s.Subscriptions, crowd: newCrowd(s, r.places, channels), cluster: r.cluster,
		origin: origin, tracker: r.tracker, background: r.background, lose: r.lose, entries: r.entries, refused: make([]atomic.Int32, channels),
	}
	webhooks, err := sink.NewWebhooks(ctx, "127.0.0.1:0", r.subscriber.crowd.manners, r.subscriber.webhook)
	if err != nil {
		return err
	}
	r.subscriber.webhooks = webhooks
	r.background.run(webhooks.Serve)
	return nil
}

func originConfig(s *scenario.Scenario, listen string, channels int, observe func(loadgen.Poll)) loadgen.Config {
	o := &s.Origins
	var traces []loadgen.TraceConfig
	for i, file := range o.Files {
		traces = append(traces, loadgen.TraceConfig{File: file, Path: fmt.Sprintf("/trace-%d", i+1)})
	}
	if traces != nil {
		channels = 0
	}
	return loadgen.Config{
		Traces: traces, Step: o.Step,
		Listen: listen, Hosts: o.Hosts, Channels: channels, Seed: s.Seed, Speedup: o.Speedup, TLS: o.TLS,
		Still: o.Changes.Kind == scenario.Never, Daily: o.Changes.Kind == scenario.Daily, History: o.Changes.File, Observe: observe,
		Faults: loadgen.Faults{
			P50: o.Latency.P50, P99: o.Latency.P99, Errors: float64(o.Errors), Dead: float64(o.Dead), LyingClock: float64(o.LyingClock),
			Slow: float64(o.Slow.Share), SlowFor: o.Slow.For, Throttled: float64(o.Throttled.Share), ThrottledFor: o.Throttled.For,
			Sick: loadgen.Sick{Slow: float64(o.Sick.Slow), Hanging: float64(o.Sick.Hanging), Refusing: float64(o.Sick.Refusing), Harmful: float64(o.Sick.Harmful)},
		},
	}
}
