package run

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/loadgen/rates"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// follower asks a node, all through the window, what it says of its rates.
type follower struct {
	run    *run
	client *api.Client
	sample []int // numbers of channels, at the origin
	crowds []int // those that crowds come to, by event; -1: another event

	mu struct {
		sync.Mutex
		points []rates.Point
		looks  []rates.Look
		crowds [][]rates.Look // by event
		events []happening
		err    error // the first
	}
}

// happening is an event of the scenario that is done.
type happening struct {
	index int
	rates.Event
}

// mostSampled is how many channels are looked at one by one.
const mostSampled = 200

func newFollower(r *run) *follower {
	f := &follower{run: r, client: r.cluster.clients[0]}
	n := min(mostSampled, len(r.places))
	for i := range n {
		f.sample = append(f.sample, int(r.places[i*len(r.places)/n]))
	}
	for _, e := range r.Scenario.Events {
		number := -1
		if e.Do == scenario.Crowd {
			number = int(r.places[e.Channel])
		}
		f.crowds = append(f.crowds, number)
	}
	f.mu.crowds = make([][]rates.Look, len(f.crowds))
	return f
}

// follow follows the node, if the scenario wants that, until it is stopped or the context ends.
func (r *run) follow(ctx context.Context) (stop func()) {
	if !r.Scenario.Rates {
		return func() {}
	}
	f := newFollower(r)
	r.follower = f
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { f.loop(ctx) })
	return func() {
		cancel()
		following.Wait()
	}
}

// How often the node is asked: for the rate of a crowd's channel, for its load; and twice an
// interval for the rates of the sample.
const (
	crowdEvery = 100 * time.Millisecond
	pointEvery = 500 * time.Millisecond
)

func (f *follower) loop(ctx context.Context) {
	var point, look time.Time // when the next is due
	for next := time.Now(); pause(ctx, next) == nil; next = next.Add(max(crowdEvery, time.Since(next))) {
		for i, number := range f.crowds {
			if number >= 0 {
				now, err := f.look(ctx, []int{number})
				f.keep(ctx, err, func() { f.mu.crowds[i] = append(f.mu.crowds[i], now) })
			}
		}
		if !next.Before(point) {
			point = next.Add(pointEvery)
			now, err := f.point(ctx)
			f.keep(ctx, err, func() { f.mu.points = append(f.mu.points, now) })
		}
		if !next.Before(look) {
			look = next.Add(f.run.settings.Interval / 2)
			now, err := f.look(ctx, f.sample)
			f.keep(ctx, err, func() { f.mu.looks = append(f.mu.looks, now) })
		}
	}
}

// keep notes what was told, or the first error until the context ended.
func (f *follower) keep(ctx context.Context, err error, note func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		note()
	case f.mu.err == nil && ctx.Err() == nil:
		f.mu.err = err
	}
}

// look asks for the rates of channels. One that has ended has none.
func (f *follower) look(ctx context.Context, channels []int) (l rates.Look, err error) {
	l = rates.Look{At: time.Now(), Rates: make([]float64, len(channels)), Polls: make([]float64, len(channels))}
	for i, n := range channels {
		l.Polls[i] = float64(f.run.origin.Polls(n))
	}
	for i, n := range channels {
		why, err := f.client.Explain(ctx, channel.IDOf(f.run.origin.URL(n)))
		var problem *api.Problem
		if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return l, err
		}
		l.Rates[i] = why.Rate
	}
	return l, nil
}

// point asks for the load.
func (f *follower) point(ctx context.Context) (p rates.Point, err error) {
	status, err := f.client.Status(ctx)
	if err != nil {
		return p, err
	}
	m, err := scrape.Read(ctx, f.run.cluster.nodes[0].url)
	return rates.Point{
		At: time.Now(), Polls: m.Sum("corona_engine_polls_total"), Requests: float64(f.run.origin.Stats().Requests),
		Planned: status.Load.PlannedPollsPerInterval, Load: status.Optimiser.Planned, Budget: status.Optimiser.Budget,
	}, err
}

// happened notes an event, the i-th of the scenario, that began at an instant and is done.
func (f *follower) happened(i int, begun time.Time) {
	if f == nil {
		return
	}
	if do := f.run.Scenario.Events[i].Do; do != scenario.Crowd && do != scenario.Leave {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.events = append(f.mu.events, happening{i, rates.Event{Begin: begun, End: time.Now()}})
}

// compareRates compares what the node said of its rates with what the origins were asked.
func (r *run) compareRates() {
	f := r.follower
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err != nil {
		r.note("rates: the node did not always answer: %v", f.mu.err)
	}
	from, to := r.sampler.window()
	record := rates.Record{
		Interval: r.settings.Interval, From: from, To: to, Load: r.plans.load,
		Points: f.mu.points, Looks: f.mu.looks,
	}
	for _, h := range f.mu.events {
		h.Crowd = f.mu.crowds[h.index]
		record.Events = append(record.Events, h.Event)
	}
	r.result.Rates = record.Judge()
}
