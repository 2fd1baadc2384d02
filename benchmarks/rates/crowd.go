package main

import (
	"context"
	"time"
)

// crowd is what became of a flash crowd: one channel whose subscribers multiply.
type crowd struct {
	URL         string     `json:"url"`
	Subscribers [2]int     `json:"subscribers"` // before, after
	WithinS     float64    `json:"within_s"`
	Rate        [2]float64 `json:"rate"`
	FirstRiseS  float64    `json:"first_rise_s"`  // from the first subscriptions to the first higher rate
	LastChangeS float64    `json:"last_change_s"` // from the beginning until the rate stood
	OriginPolls float64    `json:"origin_polls"`  // per interval, over the interval after the crowd
	Course      course     `json:"course"`        // from the beginning to an interval after the end
	Plan        plan       `json:"plan"`          // afterwards
}

// flash lets a crowd come to the channel in the middle, evenly over time, and watches
// it for an interval more.
func (s *scenario) flash(ctx context.Context) (*crowd, error) {
	p := &s.places[len(s.places)/2]
	c := &crowd{URL: p.url, WithinS: s.crowdWithin.Seconds()}
	c.Subscribers[0] = p.subscribers
	why, err := s.client.Explain(ctx, p.id)
	if err != nil {
		return nil, err
	}
	c.Rate[0] = why.Rate
	logf("a crowd comes to %s", p.url)
	w := &watch{s: s, place: p, begun: time.Now(), rate: why.Rate}
	const steps = 30
	for k := range steps {
		more := c.Subscribers[0] * (s.options.crowd - 1)
		if err := s.subscribe(ctx, p, more*(k+1)/steps-more*k/steps); err != nil {
			return nil, err
		}
		if err := w.until(ctx, w.begun.Add(s.crowdWithin*time.Duration(k+1)/steps)); err != nil {
			return nil, err
		}
	}
	return c, s.after(ctx, w, c)
}

// after watches an interval more and sums up.
func (s *scenario) after(ctx context.Context, w *watch, c *crowd) error {
	from, err := s.read(ctx)
	if err != nil {
		return err
	}
	if err := w.until(ctx, time.Now().Add(s.interval)); err != nil {
		return err
	}
	to, err := s.read(ctx)
	if err != nil {
		return err
	}
	c.Subscribers[1], c.Rate[1] = w.place.subscribers, w.rate
	c.FirstRiseS, c.LastChangeS = w.rise.Seconds(), w.change.Seconds()
	c.OriginPolls = (to.origin[c.URL] - from.origin[c.URL]) * s.interval.Seconds() / to.originAt.Sub(from.originAt).Seconds()
	c.Course = w.course(s.interval)
	c.Plan, err = s.check(ctx)
	return err
}
