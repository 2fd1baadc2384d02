package main

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// counts are a history's size, for the report.
type counts struct {
	acked, deleted, cut int
	refused             int // requests, for want of space
	versions            int
	deliveries          int
	repeats             int     // deliveries of what had been answered with 2xx before
	needless            int     // those that the same process repeated
	forgotten           Instant // the longest time from such an answer to the end of the process
	events, connections int
}

func count(h *History) counts {
	c := counts{deliveries: len(h.Deliveries)}
	for _, record := range h.Subscribes {
		if record.acked() != nil {
			c.acked++
		}
		if record.deleted() != nil {
			c.deleted++
		}
		for _, attempt := range slices.Concat(record.Attempts, record.Deletes) {
			switch attempt.Outcome {
			case Unknown:
				c.cut++
			case NoSpace:
				c.refused++
			}
		}
	}
	for _, stream := range h.Streams {
		c.events, c.connections = c.events+len(stream.Events), c.connections+stream.Connections
	}
	c.countDeliveries(h)
	return c
}

// unheard is how long after the end of a process a sink may still answer it.
const unheard = 50 * time.Millisecond

func (c *counts) countDeliveries(h *History) {
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
			c.repeats++
			if next, _ := slices.BinarySearch(h.Ends, since-unheard); next == len(h.Ends) || h.Ends[next] > delivery.At {
				c.needless++
			} else {
				c.forgotten = max(c.forgotten, h.Ends[next]-since)
			}
		}
		if delivery.Answer/100 == 2 {
			answered[delivery.WebhookID] = delivery.At
		}
	}
	c.versions = len(versions)
}
