package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// The kinds of contestants.
const (
	kindNode       = "node"
	kindLoop       = "loop"
	kindWrk        = "wrk"
	kindPrometheus = "prometheus"
)

// result is what was measured.
type result struct {
	Date       time.Time   `json:"date"`
	Options    string      `json:"options"`
	Samples    []sample    `json:"samples"`
	Summary    []summary   `json:"summary"`    // of the rounds
	Missing    []string    `json:"missing"`    // programs
	Targets    []sample    `json:"targets"`    // with -prometheus
	Changes    *sample     `json:"changes"`    // with -changes: requests are versions
	Thresholds []threshold `json:"thresholds"` // of the parts that ran
}

func (r *result) begin(o options) {
	r.Date, r.Options = time.Now().UTC(), fmt.Sprintf("%+v", o)
}

// sample is one window of one contestant.
type sample struct {
	Name        string  `json:"name"`
	Kind        string  `json:"kind"`
	Round       int     `json:"round"`   // from 1
	Targets     int     `json:"targets"` // with -prometheus
	Requests    float64 `json:"requests"`
	Rate        float64 `json:"requests_per_s"`
	CPU         float64 `json:"cpu_s"`
	PerRequest  float64 `json:"cpu_us_per_request"`
	Connections int     `json:"connections"`
	Resident    int64   `json:"resident_bytes"` // 0: not measured
	OriginBusy  float64 `json:"origin_busy"`    // cores
	Limited     bool    `json:"limited"`        // by the origin
}

// busyMost is the share of a core from which on an origin limits those that ask.
const busyMost = 0.9

func newSample(name string, requests float64, took, cpu, origin time.Duration) sample {
	busy := origin.Seconds() / took.Seconds()
	return sample{
		Name: name, Requests: requests, Rate: requests / took.Seconds(), CPU: cpu.Seconds(), PerRequest: cpu.Seconds() * 1e6 / requests,
		OriginBusy: busy, Limited: busy > busyMost,
	}
}

func (s sample) String() string {
	limited := ""
	if s.Limited {
		limited = " limited"
	}
	return fmt.Sprintf("%-19s %8.0f/s %8.2f µs  %4d connections  origin %.2f%s", s.Name, s.Rate, s.PerRequest, s.Connections, s.OriginBusy, limited)
}

// summary is a contestant over all rounds: medians of the turns that count, or of all, with
// Limited set, where these are fewer than half. A turn counts when the origin limited neither
// it nor the node in the same round.
type summary struct {
	sample
	Ratio float64 `json:"ratio"` // its processor time for a request to the node's in the same round
	Turns int     `json:"turns"` // that count
}

// summarise returns the contestants by kind and name.
func summarise(samples []sample) (all []summary) {
	byName, nodes := make(map[string][]sample), make(map[int]sample)
	for _, s := range samples {
		byName[s.Name] = append(byName[s.Name], s)
		if s.Kind == kindNode {
			nodes[s.Round] = s
		}
	}
	for _, turns := range byName {
		counted := slices.DeleteFunc(slices.Clone(turns), func(s sample) bool { return s.Limited || nodes[s.Round].Limited })
		m := summary{sample: turns[0], Turns: len(counted)}
		m.Round = 0
		if m.Limited = 2*len(counted) < len(turns); m.Limited {
			counted = turns
		}
		for into, value := range map[*float64]func(s sample) float64{
			&m.Requests:   func(s sample) float64 { return s.Requests },
			&m.Rate:       func(s sample) float64 { return s.Rate },
			&m.CPU:        func(s sample) float64 { return s.CPU },
			&m.PerRequest: func(s sample) float64 { return s.PerRequest },
			&m.OriginBusy: func(s sample) float64 { return s.OriginBusy },
			&m.Ratio:      func(s sample) float64 { return s.PerRequest / nodes[s.Round].PerRequest },
		} {
			*into = median(counted, value)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b summary) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return all
}

func median(turns []sample, value func(s sample) float64) float64 {
	values := make([]float64, len(turns))
	for i, s := range turns {
		values[i] = value(s)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// threshold is a limit that is held or not.
type threshold struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"` // at least
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
	Why   string  `json:"why,omitempty"` // of a value that does not count
}

func atLeast(name string, limit, value float64) threshold {
	return threshold{Name: name, Limit: limit, Value: value, OK: value >= limit}
}

// judgeSaturation compares the node with the cheapest of each kind that the origin did not
// limit.
func (r *result) judgeSaturation() {
	r.Summary = summarise(r.Samples)
	for _, kind := range []struct {
		name  string
		limit float64
	}{{kindWrk, 0.6}, {kindLoop, 0.75}} {
		if t, measured := judge(r.Summary, kind.name, kind.limit); measured {
			r.Thresholds = append(r.Thresholds, t)
		}
	}
}

func judge(all []summary, kind string, limit float64) (t threshold, measured bool) {
	t = threshold{Name: kind + " to node, µs a request", Limit: limit, Why: "(limited by the origin)"}
	for _, s := range all {
		if s.Kind != kind {
			continue
		}
		measured = true
		if !s.Limited && (t.Why != "" || s.Ratio < t.Value) {
			t = atLeast(t.Name, limit, s.Ratio)
		}
	}
	return t, measured
}

// judgeTargets compares nodes with Prometheus: processor at the larger number of targets, and
// memory from the smaller to the larger. Targets has few, many of nodes, few, many of it.
func (r *result) judgeTargets() {
	few, many, fewHere, manyHere := r.Targets[0], r.Targets[1], r.Targets[2], r.Targets[3]
	node, prometheus := slope(few, many), slope(fewHere, manyHere)
	r.Thresholds = append(r.Thresholds,
		atLeast("prometheus to node, µs a poll", 2.7, manyHere.PerRequest/many.PerRequest),
		atLeast(fmt.Sprintf("prometheus to node, bytes a target (%.0f to %.0f)", prometheus, node), 75, prometheus/node))
}

// slope returns the resident bytes for each target more.
func slope(few, many sample) float64 {
	return float64(many.Resident-few.Resident) / float64(many.Targets-few.Targets)
}

// held says whether something was judged and nothing missed.
func (r *result) held() bool {
	return len(r.Thresholds) > 0 && !slices.ContainsFunc(r.Thresholds, func(t threshold) bool { return !t.OK })
}

func (r *result) print(w io.Writer) {
	rounds := make(map[int][]sample)
	for _, s := range r.Samples {
		rounds[s.Round] = append(rounds[s.Round], s)
	}
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		fmt.Fprintf(w, "round %d\n", round)
		for _, s := range rounds[round] {
			fmt.Fprintln(w, " ", s)
		}
	}
	if len(r.Summary) > 0 {
		fmt.Fprintln(w, "medians of the turns that count, how many these are, and processor time for a request to the node's")
	}
	for _, s := range r.Summary {
		fmt.Fprintf(w, "  %s  %d turns  %.2f\n", s.sample, s.Turns, s.Ratio)
	}
	for _, s := range r.Targets {
		fmt.Fprintf(w, "%6d targets: %s  %d MiB\n", s.Targets, s, s.Resident>>20)
	}
	if r.Changes != nil {
		fmt.Fprintln(w, "versions:", r.Changes)
	}
	for _, t := range r.Thresholds {
		verdict := map[bool]string{true: "ok", false: "MISSED"}[t.OK]
		fmt.Fprintf(w, "%-6s %s: %.2f, want %g at least %s\n", verdict, t.Name, t.Value, t.Limit, t.Why)
	}
	for _, program := range r.Missing {
		fmt.Fprintf(w, "left out: %s (Debian package %s)\n", program, program)
	}
}
