package witness

import (
	"testing"
	"time"
)

// TestCopy checks that a copy stays as it is while the history goes on, and that what its
// records refer to is in the copy.
func TestCopy(t *testing.T) {
	r := NewRecorder()
	record := &SubscribeRecord{Key: "k", Attempts: []Attempt{{Outcome: Unknown}}, Deletes: []Attempt{{Outcome: Unknown}}}
	channel, outage := &ChannelRecord{Answers: []string{"one"}}, &Outage{Endpoint: "e"}
	r.With(func(h *History) {
		h.Channels, h.Subscribes = append(h.Channels, channel), append(h.Subscribes, record)
		h.Streams = append(h.Streams, &StreamRecord{Subscribe: record})
		h.Gets, h.Outages = append(h.Gets, Get{Subscribe: record}), append(h.Outages, outage)
		h.Deliveries = append(h.Deliveries, Delivery{Label: "one"})
	})
	c := r.Copy()
	r.With(func(h *History) {
		record.Attempts = append(record.Attempts, Attempt{Outcome: Acked})
		record.Deletes[0] = Attempt{Outcome: Acked}
		channel.Answers = append(channel.Answers, "two")
		outage.To = time.Second
		h.Deliveries = append(h.Deliveries, Delivery{Label: "two"})
		h.Streams[0].Events = append(h.Streams[0].Events, StreamEvent{})
	})
	copied := c.Subscribes[0]
	if len(copied.Attempts) != 1 || copied.Deleted() != nil || len(c.Channels[0].Answers) != 1 || c.Outages[0].To != 0 || len(c.Deliveries) != 1 || len(c.Streams[0].Events) != 0 {
		t.Errorf("the copy has changed: %+v", c)
	}
	if c.Streams[0].Subscribe != copied || c.Gets[0].Subscribe != copied {
		t.Error("records of the copy refer to those of the history")
	}
	if now := r.Copy(); now.Subscribes[0].Deleted() == nil || len(now.Deliveries) != 2 {
		t.Errorf("a later copy lacks what came since: %+v", now)
	}
}
