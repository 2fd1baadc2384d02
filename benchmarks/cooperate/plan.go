//go:build linux

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// sample is what the living nodes together plan at an instant.
type sample struct {
	at              time.Duration
	led             float64 // part of the subscribers whose ranges a node leads that says what it plans
	polls           float64 // planned, per interval
	budget          float64 // what the subscribers that there were would cause alone
	detection       float64 // planned wait, seconds, over subscribers
	bound           float64
	solve           float64 // milliseconds that the latest solve of the node that answers took
	capacity, unmet bool    // a node is not able to carry its part, or to keep its limits
}

// sampleOf is what a node's status says that the nodes plan together, which is of those that
// answer it.
func sampleOf(status *api.Status, places []place) sample {
	says := make(map[string]bool)
	for _, m := range status.Cluster.Members {
		says[m.Name] = m.PollsPerS != nil
	}
	led := make([]bool, channel.Buckets)
	for _, of := range status.Cluster.Ranges {
		for b := int(of.From); b <= int(of.To); b++ {
			led[b] = says[of.Leader]
		}
	}
	weight, all := 0.0, 0.0
	for _, p := range places {
		all += float64(p.subscribers)
		if led[p.id.Bucket()] {
			weight += float64(p.subscribers)
		}
	}
	return sample{
		led: weight / all, polls: status.Load.PlannedPollsPerInterval, detection: status.Detection.PlannedS, bound: status.Detection.BoundS,
		solve: status.Optimiser.SolveMs, capacity: status.Optimiser.Capacity != nil, unmet: !status.Optimiser.Feasible,
	}
}

// planner watches what the nodes plan.
type planner struct {
	mu      sync.Mutex
	samples []sample
	longest []float64 // planned gap of each channel, seconds
}

// watch samples the nodes' plans each second until the context ends, and what they plan for
// each channel now and then.
func (r *run) watch(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var listed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r.sample(ctx)
		if time.Since(listed) > listEvery {
			_, _ = r.list(ctx) // a node may just be dead
			listed = time.Now()
		}
	}
}

const listEvery = 10 * time.Second

// sample asks a living node what all plan.
func (r *run) sample(ctx context.Context) {
	for _, node := range r.living() {
		before := r.mostSubscribed()
		status, err := node.Status(ctx)
		if err != nil {
			continue // it may just have died
		}
		s := sampleOf(&status, r.places)
		after := r.mostSubscribed()
		s.at, s.budget = r.origin.now(), float64(max(before, after))
		r.plan.mu.Lock()
		defer r.plan.mu.Unlock()
		r.plan.samples = append(r.plan.samples, s)
		return
	}
}

// list asks a living node for all channels, by number.
func (r *run) list(ctx context.Context) (all []api.Channel, err error) {
	node := r.living()[0]
	all = make([]api.Channel, len(r.places))
	found := 0
	for ch, err := range r.clients[node.Index].Channels(ctx) {
		if err != nil {
			return nil, err
		}
		if n, known := r.told.number[ch.ID]; known {
			all[n] = ch
			found++
			r.plan.note(n, ch.PollIntervalS)
		}
	}
	if found != len(all) {
		return nil, fmt.Errorf("%s lists %d channels of %d", node.Name, found, len(all))
	}
	return all, nil
}

func (p *planner) note(number int, gap float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest[number] = max(p.longest[number], gap)
}

// gap is the longest one that was planned between two polls of a channel.
func (p *planner) gap(number int) time.Duration {
	return time.Duration(p.longest[number] * float64(time.Second))
}

// over returns the means of a span's samples in which all ranges are led.
func (p *planner) over(of span) (mean sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0.0
	for _, s := range p.samples {
		if !of.has(s.at) || !s.whole() {
			continue
		}
		n++
		mean.polls += (s.polls - mean.polls) / n
		mean.detection += (s.detection - mean.detection) / n
		mean.bound += (s.bound - mean.bound) / n
		mean.capacity = mean.capacity || s.capacity
		mean.unmet = mean.unmet || s.unmet
	}
	return mean
}

// whole reports that each range is led.
func (s sample) whole() bool { return s.led > 1-1e-9 }

// most is the highest sum of planned polls to the budget that stood for two samples of a span,
// so that none of a range that has just changed hands counts twice.
func (p *planner) most(of span) (part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 1; i < len(p.samples); i++ {
		if of.has(p.samples[i-1].at) && of.has(p.samples[i].at) {
			part = max(part, min(p.samples[i-1].part(), p.samples[i].part()))
		}
	}
	return part
}

// slowest is the longest solve that a node said in a span, in milliseconds.
func (p *planner) slowest(of span) (solve float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.samples {
		if of.has(s.at) {
			solve = max(solve, s.solve)
		}
	}
	return solve
}

// part is of the budget.
func (s sample) part() float64 { return s.polls / max(s.budget, 1) }
