package main

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// result is what the scenario found.
type result struct {
	Seed       uint64      `json:"seed"`
	Channels   int         `json:"channels"`
	Hosts      int         `json:"hosts"`
	IntervalS  float64     `json:"interval_s"`
	FloorS     float64     `json:"floor_s"`
	GapS       float64     `json:"gap_s"`
	MeasureS   float64     `json:"measure_s"`
	Kills      int         `json:"kills"`
	Runs       []outcome   `json:"runs"`
	Thresholds []threshold `json:"thresholds"`
}

// outcome is what one run found.
type outcome struct {
	Sick              bool                    `json:"sick"`
	Requests          int                     `json:"requests"`
	Statuses          map[string]int          `json:"statuses"` // of all answers; 0 for what was none
	Lateness          lateness                `json:"lateness"` // of healthy channels, at the origin, waits for the host included
	NodeLatenessP99Ms float64                 `json:"node_lateness_p99_ms"`
	RSSMaxBytes       int64                   `json:"rss_max_bytes"`
	HeapBytes         int64                   `json:"heap_bytes"`
	Kills             int                     `json:"kills"`
	Violations        map[string]int          `json:"violations"` // by kind and by the health of the host
	First             []originaudit.Violation `json:"first_violations"`
}

// threshold is a figure with its limit.
type threshold struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"`
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// The limits.
const (
	mostLater  = 1.2      // lateness p99 of healthy channels beside sick hosts, to that without
	mostMemory = 64 << 20 // bytes that sick hosts may add
	shown      = 40       // violations in the result
)

// judge fills in what the origin's log says.
func (out *outcome) judge(r *run, from, to time.Time) {
	log := r.world.Log()
	out.Requests, out.Kills = len(log), len(r.policy.Kills)
	out.Statuses, out.Violations = make(map[string]int), make(map[string]int)
	for i := range log {
		if !log[i].Answered.IsZero() {
			out.Statuses[fmt.Sprint(log[i].Said.Status)]++
		}
	}
	out.Lateness = latenessOf(log, r.healthy, r.options, from, to)
	found := originaudit.Audit(log, r.policy)
	for _, violation := range found {
		out.Violations[string(violation.Kind)+" at "+r.world.kindOf(violation.URL)]++
	}
	out.First = found[:min(len(found), shown)]
	logf("%d requests, %d violations %v; lateness %+v", len(log), len(found), out.Violations, out.Lateness)
}

func newResult(o options, runs ...outcome) result {
	r := result{Seed: o.seed, Channels: o.channels, Hosts: o.hosts, IntervalS: o.interval.Seconds(), FloorS: o.floor.Seconds(),
		GapS: o.gap.Seconds(), MeasureS: o.measure.Seconds(), Kills: o.kills, Runs: runs}
	broken := 0
	for _, run := range runs {
		for _, n := range run.Violations {
			broken += n
		}
	}
	r.demand("violations", 0, float64(broken))
	if len(runs) == 2 {
		well, sick := runs[0], runs[1]
		r.demand("lateness_p99_ratio", mostLater, sick.Lateness.P99Ms/max(well.Lateness.P99Ms, 1))
		r.demand("missed_slots_more", 0, float64(sick.Lateness.Missed-well.Lateness.Missed))
		r.demand("rss_max_more_bytes", mostMemory, float64(sick.RSSMaxBytes-well.RSSMaxBytes))
	}
	return r
}

// demand adds a threshold: a value that must not be larger than its limit.
func (r *result) demand(name string, limit, value float64) {
	r.Thresholds = append(r.Thresholds, threshold{name, limit, value, value <= limit})
}

func (r *result) held() bool {
	for _, t := range r.Thresholds {
		if !t.OK {
			return false
		}
	}
	return len(r.Thresholds) > 0
}
