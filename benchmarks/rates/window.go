package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// reading is what node and origin tell at an instant.
type reading struct {
	status   api.Status
	node     float64 // polls so far, as the node counts them
	nodeAt   time.Time
	origin   map[string]float64 // requests so far by URL, as the origin counts them
	requests float64            // all of them
	originAt time.Time
}

func (s *scenario) read(ctx context.Context) (r reading, err error) {
	if r.status, err = s.client.Status(ctx); err != nil {
		return r, err
	}
	m, err := scrape.Read(ctx, s.nodeURL)
	if err != nil {
		return r, err
	}
	r.node, r.nodeAt = m.Sum("corona_engine_polls_total"), time.Now()
	return r, s.readOrigin(ctx, &r)
}

func (s *scenario) readOrigin(ctx context.Context, r *reading) error {
	list, err := get(ctx, s.originURL+"/_polls")
	if err != nil {
		return err
	}
	defer list.Body.Close()
	r.origin, r.originAt = make(map[string]float64, len(s.places)), time.Now()
	for lines := json.NewDecoder(list.Body); ; {
		var line struct {
			URL   string  `json:"url"`
			Polls float64 `json:"polls"`
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("origin's polls: %w", err)
		}
		r.origin[line.URL] = line.Polls
		r.requests += line.Polls
	}
}

// window is what was measured over whole intervals.
type window struct {
	Intervals []interval `json:"intervals"`
	Planned   float64    `json:"planned_polls"` // means per interval
	Measured  float64    `json:"measured_polls"`
	Origin    float64    `json:"origin_polls"`
}

// interval is one of them; loads are per interval, of the length that it really had.
type interval struct {
	Planned  float64 `json:"planned_polls"` // mean of both ends
	Measured float64 `json:"measured_polls"`
	Origin   float64 `json:"origin_polls"`
}

// window measures a number of intervals, and how often sampled channels are polled.
func (s *scenario) window(ctx context.Context, intervals int) (w window, r rates, err error) {
	sample := s.sample()
	if err := sample.look(ctx, s); err != nil {
		return w, r, err
	}
	first, err := s.read(ctx)
	if err != nil {
		return w, r, err
	}
	last := first
	for k := range intervals {
		if err := pause(ctx, time.Until(first.nodeAt.Add(time.Duration(k+1)*s.interval))); err != nil {
			return w, r, err
		}
		next, err := s.read(ctx)
		if err != nil {
			return w, r, err
		}
		w.add(s.between(last, next))
		if err := sample.look(ctx, s); err != nil {
			return w, r, err
		}
		last = next
	}
	return w, sample.compare(first, last, s.interval), nil
}

// between is what happened from one reading to another.
func (s *scenario) between(from, to reading) interval {
	tau := s.interval.Seconds()
	one := interval{
		Planned:  (from.status.Load.PlannedPollsPerInterval + to.status.Load.PlannedPollsPerInterval) / 2,
		Measured: (to.node - from.node) * tau / to.nodeAt.Sub(from.nodeAt).Seconds(),
		Origin:   (to.requests - from.requests) * tau / to.originAt.Sub(from.originAt).Seconds(),
	}
	logf("per interval %.0f polls planned, %.0f measured, %.0f at the origin", one.Planned, one.Measured, one.Origin)
	return one
}

func (w *window) add(one interval) {
	n := float64(len(w.Intervals))
	w.Intervals = append(w.Intervals, one)
	w.Planned = (w.Planned*n + one.Planned) / (n + 1)
	w.Measured = (w.Measured*n + one.Measured) / (n + 1)
	w.Origin = (w.Origin*n + one.Origin) / (n + 1)
}

// off is by what part a value is off what it should be.
func off(value, want float64) float64 {
	if want == 0 {
		return math.Abs(value)
	}
	return math.Abs(value/want - 1)
}
