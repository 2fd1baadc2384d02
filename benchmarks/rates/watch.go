package main

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// watch follows the load second by second, and the rate of one channel if there is
// one.
type watch struct {
	s            *scenario
	place        *place // nil: none
	begun        time.Time
	rate         float64
	rise, change time.Duration // when the rate first rose, and last changed; since begun
	points       []point
}

// point is the load at an instant.
type point struct {
	at      time.Time
	polls   float64 // so far
	planned float64 // polls per interval
	over    float64 // part by which the plan is over its budget
}

const (
	lookEvery  = 100 * time.Millisecond
	pointEvery = 500 * time.Millisecond
)

// until watches until a time.
func (w *watch) until(ctx context.Context, end time.Time) error {
	for time.Now().Before(end) {
		if len(w.points) == 0 || time.Since(w.points[len(w.points)-1].at) >= pointEvery {
			if err := w.note(ctx); err != nil {
				return err
			}
		}
		if err := w.look(ctx); err != nil {
			return err
		}
		if err := pause(ctx, min(lookEvery, time.Until(end))); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) look(ctx context.Context) error {
	if w.place == nil {
		return nil
	}
	why, err := w.s.client.Explain(ctx, w.place.id)
	if err != nil || why.Rate == w.rate {
		return err
	}
	w.change = time.Since(w.begun)
	if why.Rate > w.rate && w.rise == 0 {
		w.rise = w.change
	}
	w.rate = why.Rate
	return nil
}

func (w *watch) note(ctx context.Context) error {
	status, err := w.s.client.Status(ctx)
	if err != nil {
		return err
	}
	m, err := scrape.Read(ctx, w.s.nodeURL)
	if err != nil {
		return err
	}
	next := point{at: time.Now(), polls: m.Sum("corona_engine_polls_total"), planned: status.Load.PlannedPollsPerInterval}
	if o := status.Optimiser; o.Budget > 0 {
		next.over = max(o.Planned/o.Budget-1, 0)
	}
	w.points = append(w.points, next)
	return nil
}

// course is how the load went.
type course struct {
	Seconds  float64 `json:"s"`
	Polls    float64 `json:"polls"`
	Planned  float64 `json:"planned_polls"`       // over the same time
	Busiest  float64 `json:"busiest"`             // most polls in a twelfth of an interval, to what was planned for it
	OverPlan float64 `json:"planned_over_budget"` // most part by which the plan was over its budget
}

// course sums up what was noted.
func (w *watch) course(interval time.Duration) course {
	var c course
	if len(w.points) < 2 {
		return c
	}
	planned := make([]float64, len(w.points)) // so far
	for i, p := range w.points {
		c.OverPlan = max(c.OverPlan, p.over)
		if i > 0 {
			before := w.points[i-1]
			planned[i] = planned[i-1] + (before.planned+p.planned)/2*p.at.Sub(before.at).Seconds()/interval.Seconds()
		}
	}
	first, last := w.points[0], w.points[len(w.points)-1]
	c.Seconds, c.Polls, c.Planned = last.at.Sub(first.at).Seconds(), last.polls-first.polls, planned[len(planned)-1]
	for from, to := 0, 0; to < len(w.points); to++ {
		for w.points[to].at.Sub(w.points[from].at) >= max(interval/12, 2*time.Second) {
			c.Busiest = max(c.Busiest, (w.points[to].polls-w.points[from].polls)/(planned[to]-planned[from]))
			from++
		}
	}
	return c
}

// settled returns when the plan came to stay within a hundredth of its last value,
// since begun.
func (w *watch) settled() time.Duration {
	last := w.points[len(w.points)-1].planned
	for i := len(w.points) - 1; i >= 0; i-- {
		if off(w.points[i].planned, last) > 0.01 {
			return w.points[min(i+1, len(w.points)-1)].at.Sub(w.begun)
		}
	}
	return 0
}
