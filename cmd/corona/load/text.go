package load

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// printResult prints a result for people: what was measured beside what was planned, then
// the thresholds.
func printResult(w io.Writer, r *result.Result, out string) error {
	d, p := r.Detection, r.Detection.Planned
	fact := func(name, format string, args ...any) { cli.Fact(w, name, format, args...) }
	fact("scenario", "%s, seed %d, %.0f s", r.Scenario, r.Seed, r.Duration)
	fact("polls", "%d, %.1f/s of %.1f planned, %.1f %% not modified", r.Polls, r.PollsPerS, r.PlannedPollsPerS, 100*r.NotModifiedRatio)
	fact("updates", "%d published, %d detected, %d missed, %d false", r.UpdatesPublished, r.UpdatesDetected, r.UpdatesMissed, r.UpdatesFalse)
	fact("deliveries", "%d, %d missing, %d duplicates, %d out of order", r.Deliveries, r.DeliveriesMissing, r.Duplicates, r.OutOfOrder)
	fact("detection", "p50 %s (planned %s), p99 %s (%s), mean %s (%s)", ms(d.P50), ms(p.P50), ms(d.P99), ms(p.P99), ms(d.Mean), ms(p.Mean))
	fact("delivery", "p50 %s, p99 %s, max %s", ms(r.Delivery.P50), ms(r.Delivery.P99), ms(r.Delivery.Max))
	fact("plan", "%.3f of the bound, %.3f by measured gaps", r.PlanOverBound, r.WaitOverBound)
	fact("nodes", "%.1f s of processor, %.1f µs a poll, %.0f MiB at most", r.CPUSeconds, r.CPUPerPollUs, float64(r.RSSMax)/(1<<20))
	for _, note := range r.Notes {
		fact("note", "%s", note)
	}
	for _, reason := range r.Generator.Reasons {
		fact("limited", "the generator may have been the bottleneck: %s", reason)
	}
	for _, failed := range r.Failed {
		fact("FAILED", "%s", failed)
	}
	if r.Interrupted {
		fact("interrupted", "the figures are of what there was")
	}
	for _, v := range r.Thresholds {
		fact(verdict(v.OK), "%s %s: %s", v.Name, number(v.Limit), number(v.Value))
	}
	_, err := fmt.Fprintf(w, "results in %s\n", cli.Clean(out))
	return err
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "BROKEN"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// ms writes milliseconds.
func ms(v float64) string {
	if v >= 10_000 {
		return strconv.FormatFloat(v/1000, 'f', 1, 64) + " s"
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " ms"
}
