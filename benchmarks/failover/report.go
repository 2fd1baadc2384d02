//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// report prints the times of each kind against its limit, and reports whether all are
// kept.
func report(out io.Writer, results [][]time.Duration) (kept bool) {
	kept = true
	fmt.Fprintf(out, "%-6s %5s %8s %8s %8s   limit\n", "fault", "times", "median", "p99", "max")
	for i, times := range results {
		if len(times) == 0 {
			continue
		}
		k := kinds[i]
		times = slices.Sorted(slices.Values(times))
		of, verdict := "max", "kept"
		if k.share < 1 {
			of = fmt.Sprintf("p%.0f", 100*k.share)
		}
		if quantile(times, k.share) > k.limit {
			kept, verdict = false, "MISSED"
		}
		fmt.Fprintf(out, "%-6s %5d %8s %8s %8s   %s <= %s: %s\n", k.name, len(times),
			short(quantile(times, 0.5)), short(quantile(times, 0.99)), short(quantile(times, 1)), of, k.limit, verdict)
	}
	return kept
}

// quantile returns the smallest of sorted times that this share of them does not exceed.
func quantile(times []time.Duration, share float64) time.Duration {
	return times[max(int(math.Ceil(share*float64(len(times))))-1, 0)]
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
