package witness

import "slices"

// Copy returns the history as it is now, for a judge that takes long: while the recorder is
// held, the sink answers nothing and the origin neither.
func (r *Recorder) Copy() (c *History) {
	r.With(func(h *History) { c = h.copy() })
	return c
}

// copy copies all that changes. Of slices that only grow the elements are shared.
func (h *History) copy() *History {
	c := *h
	c.Channels, c.Faults, c.Outages = copies(h.Channels), copies(h.Faults), copies(h.Outages)
	c.Subscribes, c.Streams, c.Gets = copies(h.Subscribes), copies(h.Streams), slices.Clone(h.Gets)
	now := make(map[*SubscribeRecord]*SubscribeRecord, len(c.Subscribes))
	for i, record := range c.Subscribes {
		now[h.Subscribes[i]] = record
		record.Deletes = slices.Clone(record.Deletes)
	}
	for _, stream := range c.Streams {
		if stream.Subscribe != nil {
			stream.Subscribe = now[stream.Subscribe]
		}
	}
	for i := range c.Gets {
		c.Gets[i].Subscribe = now[c.Gets[i].Subscribe]
	}
	return &c
}

func copies[T any](records []*T) []*T {
	out := make([]*T, len(records))
	for i, record := range records {
		of := *record
		out[i] = &of
	}
	return out
}
