package witness

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Counts are a history's size, for the report.
type Counts struct {
	Acked, Deleted, Cut int
	Refused             int // requests, for want of space
	Versions            int
	Deliveries          int
	Repeats             int     // deliveries of what had been answered with 2xx before
	Needless            int     // those that the same process repeated
	Forgotten           Instant // the longest time from such an answer to the end of the process
	Events, Connections int
}

// Count returns the size of a history.
func Count(h *History) Counts {
	c := Counts{Deliveries: len(h.Deliveries)}
	for _, record := range h.Subscribes {
		if record.Acked() != nil {
			c.Acked++
		}
		if record.Deleted() != nil {
			c.Deleted++
		}
		for _, attempt := range slices.Concat(record.Attempts, record.Deletes) {
			switch attempt.Outcome {
			case Unknown:
				c.Cut++
			case NoSpace:
				c.Refused++
			}
		}
	}
	for _, stream := range h.Streams {
		c.Events, c.Connections = c.Events+len(stream.Events), c.Connections+stream.Connections
	}
	c.countDeliveries(h)
	return c
}

// unheard is how long after the end of a process a sink may still answer it.
const unheard = 50 * time.Millisecond

func (c *Counts) countDeliveries(h *History) {
	type version struct {
		channel channel.ID
		number  uint64
	}
	versions, answered := make(map[version]bool), make(map[string]Instant)
	for _, delivery := range h.Deliveries {
		if delivery.Update != nil {
			versions[version{delivery.Update.Channel, delivery.Update.Version}] = true
		}
		if since, again := answered[delivery.WebhookID]; again {
			c.Repeats++
			if next, _ := slices.BinarySearch(h.Ends, since-unheard); next == len(h.Ends) || h.Ends[next] > delivery.At {
				c.Needless++
			} else {
				c.Forgotten = max(c.Forgotten, h.Ends[next]-since)
			}
		}
		if delivery.Answer/100 == 2 {
			answered[delivery.WebhookID] = delivery.At
		}
	}
	c.Versions = len(versions)
}
