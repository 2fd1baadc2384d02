package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// slack is what a detection may take beyond the interval: the poll itself, the
// commit and the delivery, on a machine that replays and receives as well.
const slack = 500 * time.Millisecond

// report prints what became of every history and says whether all is well.
func (s *scenario) report(began map[string]map[int]time.Time) bool {
	held := true
	for _, h := range s.histories {
		url := s.originURL + h.path
		for _, receiver := range []struct {
			name string
			got  *arrivals
		}{{"webhook", s.webhook}, {"stream", s.stream}} {
			updates := receiver.got.of(url)
			v := judge(h, updates, began[url])
			fmt.Printf("%-22s %-8s %s\n", h.name, receiver.name, v.text(h, len(updates), s.interval+slack))
			held = held && v.holds(s.interval+slack)
		}
		s.print(url)
	}
	fmt.Printf("repeats: webhook %d, stream %d\n", s.webhook.repeats, s.stream.repeats)
	return held
}

// verdict is how a receiver fared with a history.
type verdict struct {
	missing, twice []string
	unreadable     int // updates without entries and without a diff
	disorder       int // updates whose version is not above the one before
	waits          []time.Duration
}

func judge(h *history, updates []arrival, began map[int]time.Time) verdict {
	var v verdict
	arrived := make(map[string]int)
	last := uint64(0)
	for _, a := range updates {
		if a.update.Version <= last {
			v.disorder++
		}
		last = a.update.Version
		if a.update.Diff == "" && len(a.update.Entries.Added) == 0 {
			v.unreadable++
		}
		for _, entry := range a.update.Entries.Added {
			arrived[entry.ID]++
			if n, fresh := h.fresh[entry.ID]; fresh && arrived[entry.ID] == 1 && !began[n].IsZero() {
				v.waits = append(v.waits, a.at.Sub(began[n]))
			}
		}
	}
	for id := range h.fresh {
		if arrived[id] == 0 {
			v.missing = append(v.missing, id)
		}
	}
	for id, times := range arrived {
		if times > 1 {
			v.twice = append(v.twice, id)
		}
	}
	slices.Sort(v.waits)
	return v
}

func (v verdict) holds(within time.Duration) bool {
	late := len(v.waits) > 0 && v.waits[len(v.waits)-1] > within
	return len(v.missing)+len(v.twice)+v.unreadable+v.disorder == 0 && !late
}

func (v verdict) text(h *history, updates int, within time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d captures, %d updates", h.captures, updates)
	if h.feed {
		fmt.Fprintf(&b, "; %d new entries: %d missing, %d twice", len(h.fresh), len(v.missing), len(v.twice))
	}
	if n := len(v.waits); n > 0 {
		fmt.Fprintf(&b, "; waited p50 %s, p99 %s, max %s (allowed %s)", v.waits[n/2].Round(time.Millisecond),
			v.waits[n*99/100].Round(time.Millisecond), v.waits[n-1].Round(time.Millisecond), within)
	}
	for _, fault := range []struct {
		what string
		ids  []string
	}{{"missing", v.missing}, {"twice", v.twice}} {
		if len(fault.ids) > 0 {
			fmt.Fprintf(&b, "\n  %s: %s", fault.what, strings.Join(fault.ids[:min(5, len(fault.ids))], " "))
		}
	}
	if v.unreadable+v.disorder > 0 {
		fmt.Fprintf(&b, "\n  %d updates say nothing, %d out of order", v.unreadable, v.disorder)
	}
	return b.String()
}

// print shows some updates for a person to read.
func (s *scenario) print(url string) {
	updates := s.stream.of(url)
	for _, a := range updates[max(0, len(updates)-s.show):] {
		fmt.Printf("  version %d, %d added, %d changed, %d removed, delta of %d bytes\n", a.update.Version,
			len(a.update.Entries.Added), len(a.update.Entries.Changed), len(a.update.Entries.Removed), a.update.DeltaBytes)
		for line := range strings.Lines(a.update.Diff[:min(len(a.update.Diff), 1500)]) {
			fmt.Print("    ", line)
		}
		fmt.Println()
	}
}
