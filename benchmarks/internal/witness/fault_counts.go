package witness

import (
	"fmt"
	"strings"
	"time"
)

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
	first := fault.To + AcceptWithin
	for _, record := range h.Subscribes {
		if acked := record.Acked(); acked != nil && acked.Sent > fault.From && acked.Done < fault.To {
			c.acked++
		} else if acked != nil && acked.Sent >= fault.To {
			first = min(first, acked.Done)
		}
		if deleted := record.Deleted(); deleted != nil && deleted.Sent > fault.From && deleted.Done < fault.To {
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

// FaultLines tell of each kind of fault that there was, one a line.
func FaultLines(h *History) (lines []string) {
	for _, kind := range Kinds {
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
