package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// fillLimit is how long the first polls of all channels may take.
func (r *run) fillLimit() time.Duration {
	return time.Minute + 2*r.settings.Interval + time.Duration(r.Scenario.Origins.Channels)*time.Second/500
}

// fill waits until each channel that can be has been sent to a node once.
func (r *run) fill(ctx context.Context) error {
	want := int64(0)
	for channel, q := range r.crowd.subscribers() {
		if q > 0 && !r.origin.Dead(r.origin.HostOf(channel)) {
			want++
		}
	}
	for begun := time.Now(); r.tracker.Filled() < want; {
		if time.Since(begun) > r.fillLimit() {
			r.note("%d of %d channels had no content when the warm-up began, %s after the subscriptions", want-r.tracker.Filled(), want, r.fillLimit())
			return nil
		}
		if err := errors.Join(r.alive(), pause(ctx, time.Now().Add(100*time.Millisecond))); err != nil {
			return err
		}
	}
	return nil
}

// note says what of the figures cannot be known.
func (r *run) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (r *run) warmup(ctx context.Context) error {
	if err := r.solve(time.Now()); err != nil {
		return err
	}
	return pause(ctx, time.Now().Add(r.Scenario.Warmup))
}

// solve plans for the subscriptions that there are, from an instant on.
func (r *run) solve(from time.Time) error {
	channels := truth.Channels{Subscribers: r.crowd.subscribers()}
	for n := range channels.Subscribers {
		channels.Interval = append(channels.Interval, r.origin.Interval(n).Seconds())
		channels.Host = append(channels.Host, int32(r.origin.HostOf(n)))
	}
	plan, err := truth.Solve(r.settings, channels)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	r.plan.Store(plan)
	r.tracker.SetPlan(from, plan.Gaps, plan.Longest)
	return nil
}

// window measures. What is meant to happen in it happens beside.
func (r *run) window(ctx context.Context) error {
	begin := time.Now()
	end := begin.Add(r.Scenario.Duration)
	r.before = r.origin.Stats()
	r.tracker.SetWindow(begin, end)
	r.sampler.begin(begin, end)
	taken := r.takeProfiles(ctx)
	defer taken()
	err := r.events(ctx, begin)
	err = errors.Join(err, pause(ctx, end), r.alive())
	if now := time.Now(); now.Before(end) {
		r.tracker.CutWindow(now)
		r.sampler.cut(now)
	}
	return err
}

// drainAfter is how long what was sent to nodes last may take to arrive.
const drainAfter = 15 * time.Second

func (r *run) drainLimit() time.Duration {
	longest := r.settings.Interval
	if plan := r.plan.Load(); plan != nil {
		longest = time.Duration(slices.Max(plan.Longest) * float64(time.Second))
	}
	return 2*longest + drainAfter
}

// drain waits until all changes of the window have arrived, as long as they may take.
func (r *run) drain(ctx context.Context) error {
	r.readRates(ctx)
	for begun, every := time.Now(), time.Second; time.Since(begun) < r.drainLimit(); {
		looked := time.Now()
		if r.tracker.Waiting() == 0 {
			return nil
		}
		every = max(time.Second, 10*time.Since(looked)) // a look takes time with many channels
		if err := pause(ctx, time.Now().Add(min(every, 10*time.Second))); err != nil {
			return err
		}
	}
	return nil
}
