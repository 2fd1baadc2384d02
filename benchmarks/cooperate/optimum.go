//go:build linux

package main

import (
	"math"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// plannedPart is the part of a host's cap that nodes plan with; the rest is for first polls,
// retries and redirects.
const plannedPart = 0.95

// optimum is what one solve of all channels gives, with the subscribers that places say.
type optimum struct {
	wait float64 // seconds, mean over subscribers
	load float64 // polls per interval
}

// solveAll solves policy lite for all channels at once, for so many nodes.
func (o *options) solveAll(places []place, nodes int) (best optimum, err error) {
	config := honeycomb.Config{
		Policy: honeycomb.Lite, Ladder: honeycomb.Any(), Nodes: nodes, Interval: o.interval, Floor: o.floor,
		HostCap: plannedPart * float64(o.interval) / float64(o.gap),
	}
	var all honeycomb.Channels
	for _, p := range places {
		all.Subscribers = append(all.Subscribers, float64(p.subscribers))
		all.Host = append(all.Host, int32(p.host))
	}
	problem, err := honeycomb.Prepare(config, all)
	if err != nil {
		return best, err
	}
	problem.Solve()
	rates := make([]float64, len(places))
	for n := range rates {
		rates[n] = problem.Rate(n)
	}
	best.wait, best.load = o.plannedWait(places, rates)
	return best, nil
}

// plannedWait is the mean wait of a change, in seconds, at rates in polls per interval, evenly
// spaced, weighted by subscribers; and the sum of the rates. It is infinite where a channel
// with subscribers is not polled.
func (o *options) plannedWait(places []place, rates []float64) (wait, load float64) {
	crowd := 0.0
	for n, p := range places {
		load += rates[n]
		if p.subscribers == 0 {
			continue
		}
		if rates[n] <= 0 {
			wait = math.Inf(1)
		}
		crowd += float64(p.subscribers)
		wait += float64(p.subscribers) * o.interval.Seconds() / (2 * rates[n])
	}
	return wait / max(crowd, 1), load
}
