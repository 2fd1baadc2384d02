package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// Lateness is counted from slots and hosts' gaps, and a slot without a poll is
// missed.
func TestLateness(t *testing.T) {
	const url = "http://127.0.0.1:9100/feed"
	o := options{interval: 10 * time.Second, gap: time.Second}
	from := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	k, due := slots(url, o.interval).Next(from)
	at := func(slot int, late time.Duration) originaudit.Exchange {
		return originaudit.Exchange{Host: "127.0.0.1:9100", Target: "/feed", Arrived: slots(url, o.interval).Due(k + int64(slot)).Add(late)}
	}
	neighbour := at(2, 0)
	neighbour.Target = "/other"
	// Slot 3 is not taken; slot 2 waits for its neighbour; slot 4 is late by itself.
	log := originaudit.Log{at(0, 0), at(1, 10*time.Millisecond), neighbour, at(2, 1200*time.Millisecond), at(4, 300*time.Millisecond)}
	l := latenessOf(log, map[string]bool{url: true}, o, from, due.Add(50*time.Second))
	if l.Polls != 4 || l.Missed != 1 || l.P50Ms != 10 || l.MaxMs != 1200 {
		t.Errorf("%+v; want 4 polls, one slot missed", l)
	}
	if l.OwnP50Ms != 10 || l.OwnP99Ms != 200 {
		t.Errorf("own lateness %v and %v; want what was not the gap's", l.OwnP50Ms, l.OwnP99Ms)
	}
}

// A twentieth of the hosts each is slow, dead and refusing, a fiftieth harmful.
func TestDiagnose(t *testing.T) {
	count := make(map[health]int)
	for _, state := range diagnose(500, rand.New(rand.NewPCG(1, 0))) {
		count[state]++
	}
	for state, want := range map[health]int{healthy: 415, slow: 25, dead: 25, refusing: 25, harmful: 10} {
		if count[state] != want {
			t.Errorf("%d hosts are %s, want %d", count[state], state, want)
		}
	}
	small := diagnose(10, rand.New(rand.NewPCG(1, 0)))
	count = make(map[health]int)
	for _, state := range small {
		count[state]++
	}
	for state := slow; state <= harmful; state++ {
		if count[state] != 1 {
			t.Errorf("of ten hosts %d are %s", count[state], state)
		}
	}
}

// What is not met is said.
func TestThresholds(t *testing.T) {
	well := outcome{Lateness: lateness{P99Ms: 100}, RSSMaxBytes: 100 << 20}
	sick := well
	if r := newResult(options{}, well, sick); !r.held() {
		t.Errorf("%+v", r.Thresholds)
	}
	for name, change := range map[string]func(*outcome){
		"violations":         func(o *outcome) { o.Violations = map[string]int{"floor at healthy": 1} },
		"lateness_p99_ratio": func(o *outcome) { o.Lateness.P99Ms = 121 },
		"missed_slots_more":  func(o *outcome) { o.Lateness.Missed = 1 },
		"rss_max_more_bytes": func(o *outcome) { o.RSSMaxBytes += 65 << 20 },
	} {
		sick := well
		change(&sick)
		r := newResult(options{}, well, sick)
		for _, threshold := range r.Thresholds {
			if threshold.OK == (threshold.Name == name) {
				t.Errorf("%s: %+v", name, threshold)
			}
		}
		if r.held() {
			t.Errorf("%s: held", name)
		}
	}
}
