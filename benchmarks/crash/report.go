package main

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// report prints what the run went through.
func (r *run) report() {
	var c witness.Counts
	var faults []string
	r.recorder.With(func(h *witness.History) { c, faults = witness.Count(h), witness.FaultLines(h) })
	fmt.Fprintf(r.out, "%d rounds, %d of them during the start; slowest start %s; %s in all\n",
		r.killed, r.early, r.slowest.Round(time.Millisecond), r.recorder.Now().Round(time.Second))
	fmt.Fprintf(r.out, "ranges: %d at the beginning, %d at the end\n", rangesFirst, max(r.ranges, rangesFirst))
	fmt.Fprintf(r.out, "subscriptions: %d acknowledged, %d deleted, %d requests cut and repeated or given up, %d refused for want of space\n",
		c.Acked, c.Deleted, c.Cut, c.Refused)
	fmt.Fprintf(r.out, "versions: %d seen; streams: %d events over %d connections\n", c.Versions, c.Events, c.Connections)
	fmt.Fprintf(r.out, "webhooks: %d arrived, %d of them again though answered, %d by the same process; the longest time from answer to kill %s\n",
		c.Deliveries, c.Repeats, c.Needless, c.Forgotten.Round(time.Millisecond))
	for _, line := range faults {
		fmt.Fprintln(r.out, line)
	}
	fmt.Fprintf(r.out, "%d rules hold (seed %d)\n", len(witness.Rules)+1, r.seed)
}
