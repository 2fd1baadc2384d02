package main

import (
	"context"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/scrape"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

// reading is what node and origin tell at an instant.
type reading struct {
	at            time.Time
	node          scrape.Metrics
	originCPU     time.Duration
	resident      int64
	writtenToDisk int64
}

func (s *scenario) read(ctx context.Context) (r reading, err error) {
	if r.node, err = scrape.Read(ctx, s.nodeURL); err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.originCPU, err = process.CPUTime(s.origin.PID()); err != nil {
		return r, err
	}
	if r.resident, err = process.Resident(s.node.PID()); err != nil {
		return r, err
	}
	r.writtenToDisk, err = process.Written(s.node.PID())
	return r, err
}

// window reads everything once a minute; what grew between the ends is the result.
func (s *scenario) window(ctx context.Context) (window, error) {
	first, err := s.read(ctx)
	if err != nil {
		return window{}, err
	}
	var minutes []minute
	last := first
	for left := s.measure; left > 0; left -= time.Minute {
		if err := pause(ctx, min(left, time.Minute)); err != nil {
			return window{}, err
		}
		next, err := s.read(ctx)
		if err != nil {
			return window{}, err
		}
		minutes = append(minutes, minuteOf(last, next))
		logf("%d MB, %.0f polls/s, lateness p99 ≤ %.1f ms", next.resident>>20,
			minutes[len(minutes)-1].PollsPerS, minutes[len(minutes)-1].LatenessP99Ms)
		last = next
	}
	w := windowOf(first, last)
	w.PlannedPerS = float64(s.channels) / s.interval.Seconds()
	w.Minutes = minutes
	return w, nil
}

func minuteOf(from, to reading) minute {
	grown := to.node.Since(from.node)
	return minute{
		RSSBytes:      to.resident,
		LatenessP99Ms: milliseconds(grown, 0.99),
		PollsPerS:     grown.Sum("corona_engine_polls_total") / to.at.Sub(from.at).Seconds(),
	}
}

func windowOf(from, to reading) window {
	grown := to.node.Since(from.node)
	seconds := to.at.Sub(from.at).Seconds()
	polls := grown.Sum("corona_engine_polls_total")
	changed := grown.Sum("corona_engine_polls_total", `outcome="changed"`)
	processor := grown.Sum("process_cpu_seconds_total")
	w := window{
		Seconds:        seconds,
		Polls:          polls,
		PollsPerS:      polls / seconds,
		NotModified:    grown.Sum("corona_engine_polls_total", `outcome="not_modified"`) / polls,
		Changed:        changed / polls,
		LatenessP50Ms:  milliseconds(grown, 0.50),
		LatenessP99Ms:  milliseconds(grown, 0.99),
		LatenessP999Ms: milliseconds(grown, 0.999),
		CPUCores:       processor / seconds,
		CPUPerPollUs:   1e6 * processor / polls,
		OriginCPUCores: (to.originCPU - from.originCPU).Seconds() / seconds,
		WrittenBytes:   to.writtenToDisk - from.writtenToDisk,
		LogEntryBytes:  grown.Sum("corona_ownership_entry_bytes_total"),
	}
	w.WrittenByLog = ratio(float64(w.WrittenBytes), w.LogEntryBytes)
	w.WrittenPerPoll = float64(w.WrittenBytes) / polls
	w.WrittenByChange = ratio(float64(w.WrittenBytes), changed)
	return w
}

// ratio is 0 where there is nothing to compare with: JSON has no infinity.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// milliseconds returns a quantile of lateness, or the longest that JSON can say.
func milliseconds(m scrape.Metrics, q float64) float64 {
	return min(1000*m.Quantile("corona_engine_lateness_seconds", q), math.MaxFloat64)
}
