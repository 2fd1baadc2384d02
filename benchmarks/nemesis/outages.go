//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// shared is endpoints that subscriptions of several channels have, in ranges that several
// nodes lead, and that fail at times: each by itself, over faults.
type shared struct {
	*run
	endpoints []*endpoint
}

// endpoint is one of them. It is used by one goroutine at a time.
type endpoint struct {
	*run
	name    string
	random  *rand.Rand
	records []*witness.SubscribeRecord // acknowledged
	next    int                        // the channel of the next subscription
	outage  *witness.Outage            // of 410, not revived yet; nil: none
}

const (
	sharedEndpoints = 3
	sharedAtFirst   = witness.FirstAnchored // subscriptions of each endpoint, one of each channel that is anchored by then; later ones revive it
	calmOutage      = 8 * time.Second       // of one endpoint, before all faults: it holds two steps of the schedule
	shortOutage     = 4 * time.Second       // the second step finds the endpoint working; after a longer one a test has to
	longOutage      = 30 * time.Second
	betweenOutages  = 8 * time.Second
)

// answers are how endpoints fail; 0 is without an answer.
var answers = []int{http.StatusInternalServerError, http.StatusServiceUnavailable, 0, http.StatusGone}

// newShared subscribes at the endpoints.
func newShared(ctx context.Context, r *run) *shared {
	s := &shared{run: r}
	for n := range sharedEndpoints {
		e := &endpoint{run: r, name: fmt.Sprintf("shared-%d", n+1), random: rand.New(rand.NewPCG(r.seed, uint64(n)+7<<32))}
		for range sharedAtFirst {
			e.subscribe(ctx)
		}
		s.endpoints = append(s.endpoints, e)
	}
	return s
}

// each runs a function for all endpoints at the same time.
func (s *shared) each(do func(e *endpoint)) {
	var all sync.WaitGroup
	for _, e := range s.endpoints {
		all.Go(func() { do(e) })
	}
	all.Wait()
}

// calm has one endpoint fail while nothing else goes wrong.
func (s *shared) calm(ctx context.Context) {
	e := s.endpoints[0]
	e.fail(ctx, answers[e.random.IntN(len(answers)-1)], calmOutage) // not given up
}

// work has endpoints fail now and then, until the context ends.
func (s *shared) work(ctx context.Context) {
	s.each(func(e *endpoint) {
		for ctx.Err() == nil {
			if witness.Pause(ctx, witness.UpTo(e.random, betweenOutages)); ctx.Err() != nil {
				return
			}
			length := witness.UpTo(e.random, shortOutage)
			if e.random.IntN(2) == 0 {
				length = shortOutage + witness.UpTo(e.random, longOutage-shortOutage)
			}
			e.fail(ctx, answers[e.random.IntN(len(answers))], length)
		}
	})
}

// mend has each endpoint work again, whatever became of what the outages were ended with:
// an outcome that was told late may have ended that.
func (s *shared) mend(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, mendWithin, fmt.Errorf("%w: %s: not within %s", errViolated, ruleMended, mendWithin))
	defer cancel()
	s.each(func(e *endpoint) {
		for ctx.Err() == nil {
			switch e.client.State(ctx, e.records[0]) {
			case "": // no answer
			case api.StateDisabled:
				e.revive(ctx)
			default:
				e.test(ctx)
				return
			}
			witness.Pause(ctx, time.Second)
		}
	})
	return context.Cause(ctx)
}

const mendWithin = time.Minute

// fail has the endpoint fail for a time, and then has it tried.
func (e *endpoint) fail(ctx context.Context, answer int, length time.Duration) {
	outage := e.sink.Fail(e.name, answer)
	witness.Pause(ctx, length)
	e.sink.Recover(outage)
	if answer == http.StatusGone {
		e.outage = outage
		e.revive(ctx)
		return
	}
	e.test(ctx)
}

// revive makes the subscription that has an endpoint that said 410 be asked again.
func (e *endpoint) revive(ctx context.Context) {
	e.subscribe(ctx)
	if e.outage != nil && ctx.Err() == nil {
		e.recorder.With(func(*witness.History) { e.outage.Revived = e.recorder.Now() })
	}
}

// subscribe makes another subscription, on the next of the channels that are anchored
// before anything else happens.
func (e *endpoint) subscribe(ctx context.Context) {
	record := e.workload.WishShared(e.next%witness.FirstAnchored, e.name)
	e.next++
	for e.client.Subscribe(ctx, record).Outcome != witness.Acked {
		if ctx.Err() != nil {
			return
		}
		witness.Pause(ctx, witness.RetryPause)
	}
	e.records = append(e.records, record)
}

// test sends a test message until that is acknowledged, which ends a streak of failures.
func (e *endpoint) test(ctx context.Context) {
	for ctx.Err() == nil && !e.client.Test(ctx, e.records[0]) {
		witness.Pause(ctx, witness.RetryPause)
	}
}
