package main

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/originaudit"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// lateness is how long after its slot each poll of the healthy channels arrived,
// and of which slots none did. Slots are computed from the URL alone, at one poll an
// interval: what a plain feed reader may do and what channels have whose origin does
// not ask for less. What a poll waited for its host's gap is part of it, except in
// the figures called own.
type lateness struct {
	Polls    int     `json:"polls"`
	Missed   int     `json:"missed_slots"`
	P50Ms    float64 `json:"p50_ms"`
	P90Ms    float64 `json:"p90_ms"`
	P99Ms    float64 `json:"p99_ms"`
	MaxMs    float64 `json:"max_ms"`
	OwnP50Ms float64 `json:"own_p50_ms"`
	OwnP99Ms float64 `json:"own_p99_ms"`
}

// early is how far the origin's clock may show a poll before its slot: both read
// the same clock, at different instants.
const early = 5 * time.Millisecond

// latenessOf reads the log, which is in the order of arrival, between two instants.
func latenessOf(log originaudit.Log, healthy map[string]bool, o options, from, to time.Time) (l lateness) {
	var late, own []time.Duration
	taken := make(map[string]map[int64]bool)
	free := make(map[string]time.Time) // when the gap of a host is over
	for i := range log {
		e := &log[i]
		url, open := e.URL(), free[e.Host]
		free[e.Host] = e.Arrived.Add(o.gap)
		if !healthy[url] {
			continue
		}
		if taken[url] == nil {
			taken[url] = make(map[int64]bool)
		}
		k, due := slotOf(url, o.interval, e.Arrived)
		taken[url][k] = true
		if !e.Arrived.Before(from) && e.Arrived.Before(to) {
			wait := max(e.Arrived.Sub(due), 0)
			late = append(late, wait)
			own = append(own, max(min(wait, e.Arrived.Sub(open)), 0))
		}
	}
	for url := range healthy {
		l.Missed += missed(url, o.interval, taken[url], from, to)
	}
	l.Polls = len(late)
	l.P50Ms, l.P90Ms, l.P99Ms, l.MaxMs = quantile(late, 0.5), quantile(late, 0.9), quantile(late, 0.99), quantile(late, 1)
	l.OwnP50Ms, l.OwnP99Ms = quantile(own, 0.5), quantile(own, 0.99)
	return l
}

func slots(url string, interval time.Duration) overlay.Slots {
	return overlay.Slots{Interval: interval, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Phase: overlay.PhaseOf(channel.IDOf(url)), Width: 1}
}

// slotOf returns the slot that a request was for: its number, and when it was due.
func slotOf(url string, interval time.Duration, arrived time.Time) (k int64, due time.Time) {
	s := slots(url, interval)
	next, _ := s.Next(arrived.Add(early))
	return next - 1, s.Due(next - 1)
}

// missed counts the slots whose time passed between two instants and that no
// request was for.
func missed(url string, interval time.Duration, taken map[int64]bool, from, to time.Time) (n int) {
	s := slots(url, interval)
	for k, due := s.Next(from); due.Add(interval).Before(to); k, due = s.Next(due) {
		if !taken[k] {
			n++
		}
	}
	return n
}

// quantile returns a quantile in milliseconds, 0 of nothing.
func quantile(values []time.Duration, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return float64(values[int(q*float64(len(values)-1))]) / float64(time.Millisecond)
}
