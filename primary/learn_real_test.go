//go:build !race

package primary

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// history is a recorded channel: what it showed, and from when on.
type history struct {
	cores []*deltas.Core
	from  []time.Time
}

// readHistory extracts a recorded history; what cannot be read is not in it.
func readHistory(t *testing.T, folder string) (h history) {
	t.Helper()
	trace, err := loadgen.ReadTraceFile(filepath.Join(folder, "trace.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	first := firstCapture(t, folder)
	for _, capture := range trace.Captures {
		core, err := deltas.Extract(deltas.Document{Body: capture.Body, ContentType: trace.ContentType, URL: feedURL})
		if err == nil {
			h.cores, h.from = append(h.cores, core), append(h.from, first.Add(capture.At))
		}
	}
	return h
}

// firstCapture returns when a history begins, from its labels: a heading, then a
// line for each capture, of its number and its time.
func firstCapture(t *testing.T, folder string) time.Time {
	t.Helper()
	labels, err := os.ReadFile(filepath.Join(folder, "labels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var n, seconds int64
	if _, err := fmt.Fscanf(bytes.NewReader(labels[bytes.IndexByte(labels, '\n')+1:]), "%d\t%d", &n, &seconds); err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0)
}

// truth is all that is published when every capture is seen.
func (h history) truth() (published []time.Time) {
	l := &life{}
	for i, core := range h.cores {
		l.poll(h.from[i], core)
	}
	return l.published
}

// mean returns the mean interval between changes at an instant, of those that fade
// as a history does.
func mean(published []time.Time, now time.Time) time.Duration {
	changes := 0.0
	for _, at := range published[1:] {
		if !at.After(now) {
			changes += honeycomb.Faded(now.Sub(at).Seconds())
		}
	}
	interval := honeycomb.FadedSpan(now.Sub(published[0]).Seconds()) / changes
	return time.Duration(min(max(interval, honeycomb.ShortestInterval), honeycomb.LongestInterval) * float64(time.Second))
}

// polled returns the last estimate of polls so far apart, and how far those of the
// last three quarters of the history are off, as a mean factor; and the least polls
// in 30 minutes.
func (h history) polled(published []time.Time, gap time.Duration) (estimate time.Duration, factor, least float64) {
	l, shown, sum, n := &life{}, 0, 0.0, 0
	first, last := h.from[0], h.from[len(h.from)-1]
	for at := first; !at.After(last); at = at.Add(gap) {
		for shown+1 < len(h.from) && !h.from[shown+1].After(at) {
			shown++
		}
		l.poll(at, h.cores[shown])
		if at.Sub(first) < last.Sub(first)/4 {
			continue
		}
		estimate = l.interval(at)
		sum += math.Abs(math.Log(float64(estimate) / float64(mean(published, at))))
		n++
	}
	return estimate, math.Exp(sum / float64(n)), l.least(last)
}

// lost returns the part of the entries of a history that polls so far apart never
// see: they come and go between two.
func (h history) lost(gap time.Duration) float64 {
	all, seen := make(map[uint64]bool), make(map[uint64]bool)
	due := h.from[0]
	for i, core := range h.cores {
		for _, id := range core.Identities() {
			all[id] = true
		}
		if i+1 < len(h.from) && !h.from[i+1].After(due) {
			continue // replaced before the next poll
		}
		for _, id := range core.Identities() {
			seen[id] = true
		}
		if i+1 < len(h.from) {
			due = due.Add((h.from[i+1].Sub(due)/gap + 1) * gap)
		}
	}
	return 1 - float64(len(seen))/float64(max(len(all), 1))
}

// The error of estimates on recorded histories, against all that their captures
// would have published (DESIGN.md, "What is learned").
func TestLearnRecordedHistories(t *testing.T) {
	const folder = "../../shared/data/traces"
	if testing.Short() {
		t.Skip("recorded histories take a minute")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no recorded histories: %v", err)
	}
	for _, tc := range []struct {
		name   string
		most   float64 // factor by which estimates may be off, of polls each 30 minutes
		unseen float64 // part of the entries that come and go between polls at the least rate
	}{
		{"bbc-home-uk", 1.25, 0.3}, {"bbc-world-asia", 1.25, 0.3}, // front pages: entries leave as others matter more
		{"covid-pa-raw", 1.15, 0}, {"covid-pa-clean", 1.15, 0}, {"covid-pa-extract", 1.2, 0},
		{"github-status-atom", 1.1, 0.01}, {"github-tos-html", 1.05, 0}, {"nyt-battleground-html", 1.35, 0},
		{"producthunt-daily", 1.1, 0.01}, {"rust-blog-atom", 1.1, 0.02},
		{"hn-front-json", 1.6, 0.2}, // changes as regularly as it was captured, each 31 minutes
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := readHistory(t, filepath.Join(folder, tc.name))
			published := h.truth()
			for _, gap := range []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, day} {
				if h.from[len(h.from)-1].Sub(h.from[0]) < 20*gap {
					continue
				}
				estimate, factor, least := h.polled(published, gap)
				truth := mean(published, h.from[len(h.from)-1])
				t.Logf("%4d changes, polls each %7s: %8s, truth %8s; off by %.2f", len(published)-1, gap,
					estimate.Round(time.Minute), truth.Round(time.Minute), factor)
				if gap != 30*time.Minute {
					continue
				}
				unseen := 0.0
				if rare := time.Duration(float64(gap) / least); least > 0 {
					unseen = h.lost(rare)
					t.Logf("at the least rate, polls each %s: %.3f of the entries unseen", rare.Round(time.Minute), unseen)
				}
				if factor > tc.most || unseen > tc.unseen {
					t.Errorf("polls each %s: off by %.2f, %.3f of the entries unseen", gap, factor, unseen)
				}
			}
		})
	}
}
