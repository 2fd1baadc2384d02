package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// desertion is what became of many subscriptions' ending at once.
type desertion struct {
	Ended    int     `json:"ended"`
	EndingS  float64 `json:"ending_s"`
	SettledS float64 `json:"settled_s"` // from the last end until the plan is within 1 % of where it stays
	Course   course  `json:"course"`    // of the interval after
	Window   window  `json:"window"`    // the interval after that
	Plan     plan    `json:"plan"`      // afterwards
}

// desert ends a share of all subscriptions.
func (s *scenario) desert(ctx context.Context) (*desertion, error) {
	random := rand.New(rand.NewPCG(s.seed, 1))
	random.Shuffle(len(s.subscriptions), func(i, j int) {
		s.subscriptions[i], s.subscriptions[j] = s.subscriptions[j], s.subscriptions[i]
	})
	ending := s.subscriptions[:int(s.options.leave*float64(len(s.subscriptions)))]
	d := &desertion{Ended: len(ending)}
	logf("%d subscriptions end", len(ending))
	begun := time.Now()
	if err := s.unsubscribe(ctx, ending); err != nil {
		return nil, err
	}
	w := &watch{s: s, begun: time.Now()}
	d.EndingS = w.begun.Sub(begun).Seconds()
	if err := w.until(ctx, w.begun.Add(s.interval)); err != nil {
		return nil, err
	}
	d.SettledS, d.Course = w.settled().Seconds(), w.course(s.interval)
	var err error
	if d.Window, _, err = s.window(ctx, 1); err != nil {
		return nil, err
	}
	d.Plan, err = s.check(ctx)
	return d, err
}

// unsubscribe ends subscriptions, many at a time; it returns the first failure.
func (s *scenario) unsubscribe(ctx context.Context, ending []subscription) (failure error) {
	const clients = 16
	var waiting sync.WaitGroup
	var once sync.Once
	next := make(chan string)
	for range clients {
		waiting.Go(func() {
			for id := range next {
				if err := s.client.Unsubscribe(ctx, id); err != nil {
					once.Do(func() { failure = err })
				}
			}
		})
	}
	for _, one := range ending {
		next <- one.id
	}
	close(next)
	waiting.Wait()
	return failure
}
