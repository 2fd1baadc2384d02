package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// singles are subscriptions that are made one by one in the window, when their time has come
// and whatever became of those before, by clients that ask the next node after a refusal. Each
// has a key, and is ended once it is acknowledged. Nothing reads them.
type singles struct {
	run *run

	mu struct {
		sync.Mutex
		taken []taken
		lost  int   // that were not acknowledged or not ended
		err   error // why, the first
	}
}

// taken is a subscription that was acknowledged, or given up.
type taken struct {
	due  time.Time
	took time.Duration // since then
}

// Of a single subscription: how long a node may take to answer before the next one is asked, and
// how long it is asked for in all.
const (
	answerWithin = 5 * time.Second
	singleWithin = time.Minute
)

// makeSingles makes single subscriptions, if the scenario wants them, until it is stopped.
func (r *run) makeSingles(ctx context.Context, begin, end time.Time) (stop func()) {
	rate := r.Scenario.Subscriptions.Singles
	if rate == 0 {
		return func() {}
	}
	s := &singles{run: r}
	r.singles = s
	making, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		random := rand.New(rand.NewPCG(r.Scenario.Seed, 1))
		for n := range int(end.Sub(begin).Seconds() * float64(rate)) {
			due := begin.Add(time.Duration(n) * time.Second / time.Duration(rate))
			if pause(making, due) != nil {
				return
			}
			place := r.places[random.IntN(len(r.places))]
			running.Go(func() { s.make(ctx, n, int(place), due) })
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// make makes a subscription, and ends it.
func (s *singles) make(ctx context.Context, n, channel int, due time.Time) {
	ctx, cancel := context.WithDeadline(ctx, due.Add(singleWithin))
	defer cancel()
	request := api.SubscribeRequest{URL: s.run.origin.URL(channel), Sink: api.Sink{Type: api.SinkSSE}, Key: "loadgen single " + strconv.Itoa(n)}
	var made api.Subscription
	err := s.ask(ctx, n, func(ctx context.Context, client *api.Client) (err error) {
		made, err = client.Subscribe(ctx, request)
		return err
	})
	took := time.Since(due)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subscribeWithin)
		defer cancel()
		err = s.ask(ctx, n, func(ctx context.Context, client *api.Client) error { return client.Unsubscribe(ctx, made.ID) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.taken = append(s.mu.taken, taken{due, took})
	if err != nil {
		s.mu.lost++
		if s.mu.err == nil {
			s.mu.err = err
		}
	}
}

// ask asks one node after the other until one does what it is asked for.
func (s *singles) ask(ctx context.Context, turn int, do func(context.Context, *api.Client) error) error {
	clients := s.run.cluster.clients
	for ; ; turn++ {
		once, cancel := context.WithTimeout(ctx, answerWithin)
		err := do(once, clients[turn%len(clients)])
		cancel()
		var problem *api.Problem
		if err == nil || ctx.Err() != nil || errors.As(err, &problem) && !problem.Retryable {
			return err
		}
		if pause(ctx, time.Now().Add(retryPause/4)) != nil {
			return err
		}
	}
}

// tellSingles tells how long single subscriptions took: those that were due while an event lasted, or
// up to calmAfter later, apart from the others.
func (r *run) tellSingles() {
	s := r.singles
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := r.sampler.window()
	all, calm, beside := track.NewHistogram(), track.NewHistogram(), track.NewHistogram()
	for _, t := range s.mu.taken {
		all.Record(t.took)
		of := calm
		if besideEvent(r.result.Events, t.due.Sub(from)) {
			of = beside
		}
		of.Record(t.took)
	}
	out := &result.Singles{Spread: all.Spread(), Calm: calm.Spread(), Beside: beside.Spread(), Failed: s.mu.lost}
	if out.Calm.P99 > 0 {
		out.BesideOverCalm = out.Beside.P99 / out.Calm.P99
	}
	r.result.Singles = out
	if s.mu.err != nil {
		r.note("single subscriptions: %d were not made, or not ended, within %s: %v", s.mu.lost, singleWithin, s.mu.err)
	}
}

func besideEvent(events []result.Event, at time.Duration) bool {
	for _, e := range events {
		if s := at.Seconds(); s >= e.AtS && s < e.AtS+e.TookS+calmAfter.Seconds() {
			return true
		}
	}
	return false
}
