package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// plans are the generator's, by time: there is another one after each crowd.
type plans struct {
	sync.Mutex
	all []planned
}

// planned is a plan from an instant on.
type planned struct {
	from time.Time
	*truth.Plan
}

// latest returns the latest plan, nil before the first.
func (p *plans) latest() *truth.Plan {
	p.Lock()
	defer p.Unlock()
	if len(p.all) == 0 {
		return nil
	}
	return p.all[len(p.all)-1].Plan
}

// mean returns the planned polls a second and the budget, in polls a second, over a time in
// which one plan follows the other.
func (p *plans) mean(from, to time.Time, interval time.Duration) (polls, budget float64) {
	p.Lock()
	defer p.Unlock()
	for i, plan := range p.all {
		begin, end := from, to
		if i > 0 && plan.from.After(from) {
			begin = plan.from
		}
		if i+1 < len(p.all) && p.all[i+1].from.Before(to) {
			end = p.all[i+1].from
		}
		if part := end.Sub(begin).Seconds() / to.Sub(from).Seconds(); part > 0 {
			polls += part * plan.PollsPerS
			budget += part * plan.Budget / interval.Seconds()
		}
	}
	return polls, budget
}

// load returns what the plan that holds at an instant takes per interval, in the budget's unit.
func (p *plans) load(at time.Time) (load float64) {
	p.Lock()
	defer p.Unlock()
	for i, plan := range p.all {
		if i == 0 || !plan.from.After(at) {
			load = plan.Load
		}
	}
	return load
}

// solve plans for the subscriptions that there are, from an instant on.
func (r *run) solve(ctx context.Context, from time.Time) error {
	channels := truth.Channels{Subscribers: r.subscriber.crowd.subscribers()}
	for n := range channels.Subscribers {
		channels.Interval = append(channels.Interval, r.origin.Interval(n).Seconds())
		channels.Host = append(channels.Host, int32(r.origin.HostOf(n)))
	}
	if r.settings.Cost == honeycomb.Bytes {
		var failed error
		for told, err := range r.cluster.channels(ctx, r.origin.URL, r.origin.Channels()) {
			if failed = err; err == nil {
				channels.Size = sizes(told)
				break
			}
		}
		if failed != nil {
			return fmt.Errorf("%w: sizes of channels: %w", ErrNode, failed)
		}
	}
	plan, err := truth.Solve(r.settings, channels)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	r.plans.Lock()
	r.plans.all = append(r.plans.all, planned{from, plan})
	r.plans.Unlock()
	r.tracker.SetPlan(from, plan.Gaps, plan.Longest)
	return nil
}

// sizes returns what polls of channels take, in bytes.
func sizes(told []channelTold) []float64 {
	sizes := make([]float64, len(told))
	for n, t := range told {
		sizes[n] = max(t.size, 1)
	}
	return sizes
}
