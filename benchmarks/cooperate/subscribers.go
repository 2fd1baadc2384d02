//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// came notes a subscription that was acknowledged.
func (r *run) came(s *api.Subscription) {
	number := r.told.number[s.Channel]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds[number] = append(r.crowds[number], s.ID)
}

// subscribers returns the places with the subscriptions that there are now, and their sum.
func (r *run) subscribers() (now []place, sum int) {
	now = slices.Clone(r.places)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range now {
		now[n].subscribers = len(r.crowds[n])
		sum += now[n].subscribers
	}
	return now, sum
}

// mostSubscribed is how many subscriptions there may be now, with those that are not answered.
func (r *run) mostSubscribed() int {
	_, sum := r.subscribers()
	r.mu.Lock()
	defer r.mu.Unlock()
	return sum + r.asked
}

// ask counts subscriptions that are asked for, or takes back those that are answered.
func (r *run) ask(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked += n
}

// coming is a subscription that is to come.
type coming struct {
	at    time.Duration
	place int
	key   string // so that it may be asked for again
}

// atOnce are so many subscriptions to one channel that are to come now.
func atOnce(place, n int) []coming { return slices.Repeat([]coming{{place: place}}, n) }

// arrive subscribes at the times that are given, since now, a few at a time.
func (r *run) arrive(ctx context.Context, due []coming) error {
	slices.SortStableFunc(due, func(a, b coming) int { return int(a.at - b.at) })
	for i := range due {
		r.keys++
		due[i].key = fmt.Sprintf("coming-%d", r.keys)
	}
	for began := r.origin.now(); len(due) > 0; pause(ctx, arriveEvery) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, _ := slices.BinarySearchFunc(due, r.origin.now()-began, func(a coming, at time.Duration) int { return int(a.at - at) })
		if n == 0 {
			continue
		}
		left, err := r.welcome(ctx, due[:n])
		if err != nil {
			return err
		}
		due = slices.Concat(left, due[n:])
	}
	return nil
}

const arriveEvery = 100 * time.Millisecond

// welcome subscribes, and returns those that were told to try again: a range may just have no leader.
func (r *run) welcome(ctx context.Context, due []coming) (left []coming, err error) {
	answered := 0
	r.ask(len(due))
	defer func() { r.ask(-len(due)) }()
	for answer, err := range r.clients[0].Batch(ctx, func(yield func(api.SubscribeRequest) bool) {
		for _, one := range due {
			if !yield(api.SubscribeRequest{URL: r.places[one.place].url, Sink: api.Sink{Type: api.SinkSSE}, Key: one.key}) {
				return
			}
		}
	}) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("subscribe: %w", err)
		case answer.Error == nil:
			r.came(answer.Subscription)
		case answer.Error.Retryable:
			left = append(left, due[answered])
		default:
			return nil, fmt.Errorf("subscribe: %w", answer.Error)
		}
		answered++
	}
	return left, nil
}

// leave ends a part of all subscriptions, at random, at an even rate over a time; each channel keeps one.
func (r *run) leave(ctx context.Context, part float64, over time.Duration, random *rand.Rand) error {
	ids := r.leavers(part, random)
	var ending sync.WaitGroup
	errs := make(chan error, leaveTogether)
	for first := range leaveTogether {
		ending.Go(func() { errs <- r.end(ctx, ids, first, over) })
	}
	ending.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const leaveTogether = 8 // requests at a time

// leaver is a subscription that ends.
type leaver struct {
	place int
	id    string
}

// leavers draws a part of all subscriptions, but no channel's last.
func (r *run) leavers(part float64, random *rand.Rand) (chosen []leaver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for n, ids := range r.crowds {
		all += len(ids)
		for _, id := range ids[min(1, len(ids)):] {
			chosen = append(chosen, leaver{n, id})
		}
	}
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:min(int(part*float64(all)), len(chosen))]
}

// end ends each leaveTogether-th subscription when its turn comes.
func (r *run) end(ctx context.Context, ids []leaver, first int, over time.Duration) error {
	began := r.origin.now()
	for i := first; i < len(ids); i += leaveTogether {
		pause(ctx, began+over*time.Duration(i)/time.Duration(len(ids))-r.origin.now())
		if err := r.unsubscribe(ctx, ids[i].id); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
		r.went(ids[i])
	}
	return nil
}

// unsubscribe ends a subscription, however often it has to ask: a range may just have no leader.
func (r *run) unsubscribe(ctx context.Context, id string) error {
	for {
		err := r.clients[r.living()[0].Index].Unsubscribe(ctx, id)
		var problem *api.Problem
		switch {
		case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
			return nil // an attempt whose answer was lost
		case problem == nil || !problem.Retryable:
			return err
		}
		pause(ctx, arriveEvery)
	}
}

func (r *run) went(one leaver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds[one.place] = slices.DeleteFunc(r.crowds[one.place], func(id string) bool { return id == one.id })
}
