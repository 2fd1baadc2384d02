package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	observe := func(p loadgen.Poll) { r.tracker.Poll(p) }
	// The address is a random one of 127.0.0.0/8, so that runs beside each other do not
	// meet; connections go out from 127.0.0.1.
	listen := fmt.Sprintf("127.%d.%d.1:0", 64+rand.IntN(64), rand.IntN(128))
	origin, err := loadgen.NewOrigin(originConfig(s, listen, observe))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	listeners, err := origin.Listen(ctx)
	if err != nil {
		return err
	}
	r.origin = origin
	if ca := origin.CA(); ca != nil {
		if err := os.WriteFile(r.caFile(), ca, 0o644); err != nil {
			return err
		}
	}
	r.tracker = track.New(track.Config{
		Schedule: origin, Channels: origin.Channels(), Hosts: s.Origins.Hosts, Begin: r.begun, Longest: r.limit,
		Floor: r.settings.Floor, Nodes: max(len(s.Target), s.Nodes.Count), Raw: r.raw,
	})
	r.background.run(func(ctx context.Context) error { return origin.Serve(ctx, listeners...) })
	r.crowd = newCrowd(s)
	r.webhooks, err = sink.NewWebhooks(ctx, "127.0.0.1:0", r.crowd.manners, r.arrived)
	if err != nil {
		return err
	}
	r.background.run(r.webhooks.Serve)
	return nil
}

// caFile holds the certificate of the origins' authority, where there is one.
func (r *run) caFile() string { return filepath.Join(r.Out, "origins-ca.pem") }

func originConfig(s *scenario.Scenario, listen string, observe func(loadgen.Poll)) loadgen.Config {
	o := &s.Origins
	return loadgen.Config{
		Listen: listen, Hosts: o.Hosts, Channels: o.Channels, Seed: s.Seed, Speedup: o.Speedup, TLS: o.TLS,
		Still: o.Changes.Kind == scenario.Never, Daily: o.Changes.Kind == scenario.Daily, History: o.Changes.File, Observe: observe,
		Faults: loadgen.Faults{
			P50: o.Latency.P50, P99: o.Latency.P99, Errors: float64(o.Errors), Dead: float64(o.Dead), LyingClock: float64(o.LyingClock),
			Slow: float64(o.Slow.Share), SlowFor: o.Slow.For, Throttled: float64(o.Throttled.Share), ThrottledFor: o.Throttled.For,
		},
	}
}

// arrived takes a webhook of a subscription, if that is known.
func (r *run) arrived(id string, a sink.Arrival) bool {
	number, known := r.crowd.number(id)
	if known && !r.loses() {
		r.tracker.Deliver(number, track.Update{Version: a.Version, Revisions: a.Revisions, At: a.At})
	}
	return known
}

func (r *run) loses() bool { return r.lose != nil && r.lose() }

// streamed takes an update that a stream brought for a subscription.
func (r *run) streamed(number int, a sink.Arrival) {
	if !r.loses() {
		r.tracker.Deliver(number, track.Update{Version: a.Version, Revisions: a.Revisions, At: a.At})
	}
}
