//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// coming is a subscription that is to come.
type coming struct {
	at    time.Duration
	place int
}

// arrive subscribes at the times that are given, since now, a few at a time.
func (r *run) arrive(ctx context.Context, due []coming) error {
	slices.SortStableFunc(due, func(a, b coming) int { return int(a.at - b.at) })
	for began := r.origin.now(); len(due) > 0; pause(ctx, arriveEvery) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, _ := slices.BinarySearchFunc(due, r.origin.now()-began, func(a coming, at time.Duration) int { return int(a.at - at) })
		if n == 0 {
			continue
		}
		if err := r.subscribe(ctx, func(yield func(api.SubscribeRequest) bool) {
			for _, one := range due[:n] {
				if !yield(api.SubscribeRequest{URL: r.places[one.place].url, Sink: api.Sink{Type: api.SinkSSE}}) {
					return
				}
			}
		}); err != nil {
			return err
		}
		due = due[n:]
	}
	return nil
}

const arriveEvery = 100 * time.Millisecond

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
		if err := r.clients[r.living()[0].Index].Unsubscribe(ctx, ids[i].id); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
		r.went(ids[i])
	}
	return nil
}

func (r *run) went(one leaver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds[one.place] = slices.DeleteFunc(r.crowds[one.place], func(id string) bool { return id == one.id })
}
