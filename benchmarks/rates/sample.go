package main

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// sample is channels of all popularities, and what the node explains of their rates,
// look by look.
type sample struct {
	places []*place
	rates  [][]float64 // by look, then by channel: polls per interval
	by     map[string]int
}

// sample takes every so many-th channel.
func (s *scenario) sample() *sample {
	n := min(s.sampled, len(s.places))
	chosen := &sample{}
	for i := range n {
		chosen.places = append(chosen.places, &s.places[i*len(s.places)/n])
	}
	return chosen
}

// look asks the node for the rates that stand.
func (c *sample) look(ctx context.Context, s *scenario) error {
	now := make([]float64, len(c.places))
	c.by = make(map[string]int)
	for i, p := range c.places {
		why, err := s.client.Explain(ctx, p.id)
		var problem *api.Problem
		if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
			continue // it has ended: all its subscribers have left
		}
		if err != nil {
			return err
		}
		now[i] = why.Rate
		c.by[why.DecidedBy]++
	}
	c.rates = append(c.rates, now)
	return nil
}

// rates compares what was explained of single channels with what the origin saw.
type rates struct {
	Sampled   int            `json:"sampled"`
	Off       int            `json:"off"`        // with other polls than explained, by more than slack
	WorstURL  string         `json:"worst_url"`  // the farthest off
	WorstHave float64        `json:"worst_have"` // polls
	WorstWant float64        `json:"worst_want"`
	Changed   int            `json:"changed"` // had more than one rate
	Least     float64        `json:"least_rate"`
	Most      float64        `json:"most_rate"`
	DecidedBy map[string]int `json:"decided_by"` // at the end
}

// Polls of a constant rate differ from rate times time by less than one. Each change
// of a rate may move that by another, and what was explained is looked at once an
// interval.
const (
	slackPolls = 2.5
	slackShare = 0.02
)

func (c *sample) compare(from, to reading, interval time.Duration) rates {
	r := rates{Sampled: len(c.places), Least: math.Inf(1), DecidedBy: c.by}
	length := to.originAt.Sub(from.originAt).Seconds() / interval.Seconds()
	worst := 0.0
	for i, p := range c.places {
		want, changed := c.expected(i)
		want *= length
		have := to.origin[p.url] - from.origin[p.url]
		if changed {
			r.Changed++
		}
		beyond := math.Abs(have-want) - slackPolls - slackShare*want
		if beyond > 0 {
			r.Off++
		}
		if away := math.Abs(have - want); away >= worst {
			worst, r.WorstURL, r.WorstHave, r.WorstWant = away, p.url, have, want
		}
		last := c.rates[len(c.rates)-1][i]
		r.Least, r.Most = min(r.Least, last), max(r.Most, last)
	}
	return r
}

// expected is the mean of the rates that were explained, and whether they changed.
func (c *sample) expected(i int) (mean float64, changed bool) {
	for k := 1; k < len(c.rates); k++ {
		mean += (c.rates[k-1][i] + c.rates[k][i]) / 2
		changed = changed || c.rates[k][i] != c.rates[k-1][i]
	}
	return mean / float64(len(c.rates)-1), changed
}
