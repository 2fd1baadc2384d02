package main

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/scrape"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

// restartAll stops the node and starts it, kills it and starts it.
func (s *scenario) restartAll(ctx context.Context) (*restart, error) {
	r := &restart{}
	begun := time.Now()
	if err := s.node.Stop(); err != nil {
		return nil, err
	}
	r.StopS = time.Since(begun).Seconds()
	logf("stopped in %.1f s", r.StopS)
	var err error
	if r.StartS, err = s.startAgain(ctx); err != nil {
		return nil, err
	}
	if r.PeakPollsPerS, err = s.peak(ctx); err != nil {
		return nil, err
	}
	if r.StartRSS, err = process.Resident(s.node.PID()); err != nil {
		return nil, err
	}
	if err := s.node.Kill(); err != nil {
		return nil, err
	}
	r.KilledStartS, err = s.startAgain(ctx)
	return r, err
}

// startAgain returns how long it takes until the node serves.
func (s *scenario) startAgain(ctx context.Context) (float64, error) {
	begun := time.Now()
	if err := s.node.Start(); err != nil {
		return 0, err
	}
	err := child.AwaitURL(ctx, s.nodeURL+"/readyz", s.node)
	logf("started in %.1f s", time.Since(begun).Seconds())
	return time.Since(begun).Seconds(), err
}

// peak returns the polls of the busiest second of a minute.
func (s *scenario) peak(ctx context.Context) (peak float64, err error) {
	last, err := s.polls(ctx)
	if err != nil {
		return 0, err
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		from := time.Now()
		if err := pause(ctx, time.Second); err != nil {
			return 0, err
		}
		now, err := s.polls(ctx)
		if err != nil {
			return 0, err
		}
		peak = max(peak, (now-last)/time.Since(from).Seconds())
		last = now
	}
	return peak, nil
}

// polls returns how many polls have ended.
func (s *scenario) polls(ctx context.Context) (float64, error) {
	m, err := scrape.Read(ctx, s.nodeURL)
	if err != nil {
		return 0, err
	}
	return m.Sum("corona_engine_polls_total"), nil
}
