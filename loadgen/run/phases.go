package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// fillLimit is how long the first polls of all channels may take.
func (r *run) fillLimit() time.Duration {
	return time.Minute + 2*r.settings.Interval + time.Duration(r.Scenario.Origins.Channels)*time.Second/500
}

func (r *run) startNodes(ctx context.Context) error {
	err := r.cluster.start(ctx)
	r.result.Version = r.cluster.version
	return err
}

// findTargets finds the targets, and what they were told to optimise.
func (r *run) findTargets(ctx context.Context) error {
	if err := r.cluster.connect(ctx, r.Scenario.Target); err != nil {
		return err
	}
	r.result.Version = r.cluster.version
	r.note("nodes that the generator did not start: nothing is known of their processors and memory; the plan is by nodes.args")
	settings, err := settingsOf(ctx, r.cluster.clients[0])
	if err == nil && settings.Interval > 0 {
		settings.Nodes = len(r.cluster.clients)
		r.settings = settings
	}
	return err
}

// subscribe makes all subscriptions.
func (r *run) subscribe(ctx context.Context) error {
	if err := r.cluster.awaitLeads(ctx); err != nil {
		return err
	}
	r.sampler.beginFill()
	err := r.subscriber.ramp(ctx)
	r.sampler.fill(&r.result.Fill, r.subscriber.crowd.total())
	for i := range r.subscriber.refused {
		r.result.Fill.Refused += int64(r.subscriber.refused[i].Load())
	}
	return err
}

// fill waits until each channel that can be has been sent to a node once.
func (r *run) fill(ctx context.Context) error {
	want, begun := int64(0), time.Now()
	for channel, q := range r.subscriber.crowd.subscribers() {
		if q > 0 && r.origin.Well(r.origin.HostOf(channel)) {
			want++
		}
	}
	for r.tracker.Filled() < want {
		if time.Since(begun) > r.fillLimit() {
			r.note("%d of %d channels had no content when the warm-up began, %s after the subscriptions", want-r.tracker.Filled(), want, r.fillLimit())
			break
		}
		if err := errors.Join(r.cluster.alive(), pause(ctx, time.Now().Add(100*time.Millisecond))); err != nil {
			return err
		}
	}
	r.sampler.filled(&r.result.Fill, time.Since(begun), len(r.places))
	return nil
}

// note says what of the figures cannot be known.
func (r *run) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (r *run) warmup(ctx context.Context) error {
	if err := r.solve(ctx, time.Now()); err != nil {
		return err
	}
	return pause(ctx, time.Now().Add(r.Scenario.Warmup))
}

// window measures. What is meant to happen in it happens beside.
func (r *run) window(ctx context.Context) error {
	defer gatherGarbage()()
	begin := time.Now()
	end := begin.Add(r.Scenario.Duration)
	r.before = r.origin.Stats()
	r.tracker.SetWindow(begin, end)
	r.sampler.begin(begin, end)
	taken := r.takeProfiles(ctx)
	defer taken()
	followed := r.follow(ctx)
	defer followed()
	ended := r.makeSingles(ctx, begin, end)
	defer ended()
	err := r.events(ctx, begin)
	err = errors.Join(err, pause(ctx, end), r.cluster.alive())
	if now := time.Now(); now.Before(end) {
		r.tracker.CutWindow(now)
		r.sampler.cut(now)
	}
	return errors.Join(err, r.cluster.disk(&r.result.Disk))
}

// drainAfter is how long what was sent to nodes last may take to arrive.
const drainAfter = 15 * time.Second

func (r *run) drainLimit() time.Duration {
	longest := r.settings.Interval
	if plan := r.plans.latest(); plan != nil {
		longest = time.Duration(slices.Max(plan.Longest) * float64(time.Second))
	}
	// A throttled host refuses for a third of this time and is polled in the rest of it at least
	// once, however much longer than it asks for a node lets it be.
	return 2*longest + drainAfter + 3*r.Scenario.Origins.Throttled.For
}

// drain waits until all changes of the window have arrived, as long as they may take.
func (r *run) drain(ctx context.Context) error {
	r.readChannels(ctx)
	for begun, every := time.Now(), time.Second; time.Since(begun) < r.drainLimit(); {
		if err := r.cluster.alive(); err != nil {
			return err
		}
		looked := time.Now()
		r.judgeEntries()
		if e := r.result.Entries; r.tracker.Waiting() == 0 && (e == nil || e.Missing == 0) {
			return nil
		}
		every = max(time.Second, 10*time.Since(looked)) // a look takes time with many channels
		if err := pause(ctx, time.Now().Add(min(every, 10*time.Second))); err != nil {
			return err
		}
	}
	return nil
}
