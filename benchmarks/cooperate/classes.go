//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
)

// class is channels whose polls wait for the same.
type class struct {
	name          string
	channels      int
	planned, made float64 // polls in an interval
}

// classes compares planned and made polls of channels whose host is at its cap, of those
// whose pollers are at the floor, and of the others, within a span.
func (r *run) classes(rates []float64, polls []poll, of span) []class {
	hosts := make(map[int]float64)
	for n, rate := range rates {
		hosts[r.places[n].host] += rate
	}
	atCap := 0.95 * float64(r.interval) / float64(r.gap)
	all := []class{{name: "hosts at their cap"}, {name: "pollers at the floor"}, {name: "others"}}
	kind := make([]int, len(rates))
	for n, rate := range rates {
		floors := rate * float64(r.floor) / float64(r.interval)
		switch {
		case hosts[r.places[n].host] >= atCap:
			kind[n] = 0
		case math.Abs(floors-math.Round(floors)) < 0.01 && floors > 0.5:
			kind[n] = 1
		default:
			kind[n] = 2
		}
		all[kind[n]].channels++
		all[kind[n]].planned += rate
	}
	for _, p := range polls {
		if of.has(p.at) {
			all[kind[p.channel]].made += float64(r.interval) / float64(of.length())
		}
	}
	return all
}

// noteLoads says which channels were polled less than planned while all was calm.
func (r *result) noteLoads(run *run, f *found) {
	var parts []string
	for _, c := range run.classes(f.rates, f.polls, f.calm.span) {
		parts = append(parts, fmt.Sprintf("%s: %d channels, %.0f of %.0f", c.name, c.channels, c.made, c.planned))
	}
	r.note("%spolls made in an interval, of those planned: %s", policyOf(run.options), strings.Join(parts, "; "))
}

// policyOf begins a note in a run of several policies.
func policyOf(o *options) string {
	if o.policy == "" {
		return ""
	}
	return o.policy + ": "
}
