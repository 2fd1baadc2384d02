package main

import "github.com/seed-91e7e7c1/corona/channel"

// counts are a history's size, for the report.
type counts struct {
	acked, deleted, cut           int
	versions, deliveries, repeats int
	events, connections           int
}

func count(h *History) counts {
	var c counts
	for _, record := range h.Subscribes {
		if record.acked() != nil {
			c.acked++
		}
		if record.deleted() != nil {
			c.deleted++
		}
		for _, attempt := range append(append([]Attempt(nil), record.Attempts...), record.Deletes...) {
			if attempt.Outcome == Unknown {
				c.cut++
			}
		}
	}
	type version struct {
		channel channel.ID
		number  uint64
	}
	versions, messages := make(map[version]bool), make(map[string]bool)
	for _, delivery := range h.Deliveries {
		if messages[delivery.WebhookID] {
			c.repeats++
		}
		messages[delivery.WebhookID] = true
		if delivery.Update != nil {
			versions[version{delivery.Update.Channel, delivery.Update.Version}] = true
		}
	}
	for _, stream := range h.Streams {
		c.events, c.connections = c.events+len(stream.Events), c.connections+stream.Connections
	}
	c.versions, c.deliveries = len(versions), len(h.Deliveries)
	return c
}
