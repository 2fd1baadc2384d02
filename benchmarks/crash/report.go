package main

import (
	"fmt"
	"strings"
	"time"
)

// report prints what the run went through.
func (r *run) report() {
	var c counts
	var faults []string
	r.recorder.with(func(h *History) { c, faults = count(h), faultLines(h) })
	fmt.Fprintf(r.out, "%d rounds, %d of them during the start; slowest start %s; %s in all\n",
		r.killed, r.early, r.slowest.Round(time.Millisecond), r.recorder.now().Round(time.Second))
	fmt.Fprintf(r.out, "subscriptions: %d acknowledged, %d deleted, %d requests cut and repeated or given up, %d refused for want of space\n",
		c.acked, c.deleted, c.cut, c.refused)
	fmt.Fprintf(r.out, "versions: %d seen; streams: %d events over %d connections\n", c.versions, c.events, c.connections)
	fmt.Fprintf(r.out, "webhooks: %d arrived, %d of them again though answered, %d by the same process; the longest time from answer to kill %s\n",
		c.deliveries, c.repeats, c.needless, c.forgotten.Round(time.Millisecond))
	for _, line := range faults {
		fmt.Fprintln(r.out, line)
	}
	fmt.Fprintf(r.out, "%d rules hold (seed %d)\n", len(rules), r.seed)
}

// faultCounts is what became of the faults of a kind.
type faultCounts struct {
	faults, ended, hits        int
	slowest                    Instant // from the first hit to the end of the process
	acked, deleted, deliveries int     // while they lasted
	accepted                   Instant // the longest time until a subscription was, where that was waited for
}

// countFaults counts the faults of a kind.
func countFaults(h *History, kind string) faultCounts {
	var c faultCounts
	for _, fault := range h.Faults {
		if fault.Kind != kind {
			continue
		}
		c.faults, c.hits = c.faults+1, c.hits+len(fault.Hits)
		if fault.Ended > 0 {
			c.ended++
			if len(fault.Hits) > 0 {
				c.slowest = max(c.slowest, fault.Ended-fault.Hits[0].At)
			}
		}
		c.during(h, fault)
	}
	return c
}

// during counts what was done while a fault lasted, and what right after.
func (c *faultCounts) during(h *History, fault *Fault) {
	first := fault.To + acceptWithin
	for _, record := range h.Subscribes {
		if acked := record.acked(); acked != nil && acked.Sent > fault.From && acked.Done < fault.To {
			c.acked++
		} else if acked != nil && acked.Sent >= fault.To {
			first = min(first, acked.Done)
		}
		if deleted := record.deleted(); deleted != nil && deleted.Sent > fault.From && deleted.Done < fault.To {
			c.deleted++
		}
	}
	for _, delivery := range h.Deliveries {
		if delivery.At > fault.From && delivery.At < fault.To {
			c.deliveries++
		}
	}
	if fault.Watched {
		c.accepted = max(c.accepted, first-fault.To)
	}
}

// faultLines tell of each kind of fault that there was, one a line.
func faultLines(h *History) (lines []string) {
	for _, kind := range kinds {
		c := countFaults(h, kind)
		if c.faults == 0 {
			continue
		}
		line := []string{fmt.Sprintf("%s: %d times, %d processes ended by it", kind, c.faults, c.ended)}
		if kind != KindFull {
			line = append(line, fmt.Sprintf("%d calls hit", c.hits))
		}
		if c.slowest > 0 {
			line = append(line, fmt.Sprintf("%s from the first to the end at most", c.slowest.Round(time.Millisecond)))
		}
		line = append(line, fmt.Sprintf("meanwhile %d subscriptions, %d deletions, %d webhooks", c.acked, c.deleted, c.deliveries))
		if c.accepted > 0 {
			line = append(line, fmt.Sprintf("%s until the next subscription at most", c.accepted.Round(time.Millisecond)))
		}
		lines = append(lines, strings.Join(line, "; "))
	}
	return lines
}
