package notify

import (
	"fmt"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// addDrain asks for lanes for a channel's stragglers. Locked.
func (w *webhooks) addDrain(c *channelState, d drain) {
	if e := w.mu.endpoints[d.url]; e != nil {
		e.drains++
	} else {
		w.mu.scans++
	}
	c.drains = append(c.drains, d)
	w.enqueue(c)
}

// drain gives a lane to the next stragglers that the first drain asks for.
func (w *webhooks) drain(c *channelState) error {
	w.mu.Lock()
	d := c.drains[0]
	seqs := c.pos.late.from(d.from, w.limits.page)
	w.mu.Unlock()
	subs, err := w.stragglers(c, seqs)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	more := len(seqs) == w.limits.page
	for _, seq := range seqs {
		if c.hasLeft(seq) || !c.pos.behind(seq) || c.lanes[seq] != nil {
			continue
		}
		sub, known := subs[seq]
		if !known {
			c.pos.drop(seq) // deleted while nobody looked
			continue
		}
		if d.url == "" || d.url == sub.Sink.URL {
			taken := w.resume(c, sub)
			more = more && (taken || d.url == "")
		}
	}
	if more {
		c.drains[0].from = seqs[len(seqs)-1] + 1
		return nil
	}
	w.endDrain(c)
	return nil
}

// endDrain removes the first drain. Locked.
func (w *webhooks) endDrain(c *channelState) {
	d := c.drains[0]
	c.drains = slices.Delete(c.drains, 0, 1)
	e := w.mu.endpoints[d.url]
	if e == nil {
		w.mu.scans--
		return
	}
	e.drains--
	w.refill(e)
}

// stragglers reads the subscriptions with the given numbers, as far as they exist:
// page by page where they lie close together, else one by one.
func (w *webhooks) stragglers(c *channelState, seqs []uint64) (map[uint64]channel.Subscription, error) {
	subs := make(map[uint64]channel.Subscription, len(seqs))
	for read := uint64(0); len(seqs) > 0; {
		if seqs[0] <= read {
			seqs = seqs[1:]
			continue
		}
		limit := 1
		if len(seqs) > 1 && seqs[1]-seqs[0] < 64 {
			limit = 64
		}
		page, err := w.store.Webhooks(c.id, seqs[0]-1, limit)
		if err != nil {
			return nil, fmt.Errorf("read subscriptions: %w", err)
		}
		read = seqs[0]
		for _, sub := range page {
			subs[sub.Seq] = sub
			read = max(read, sub.Seq)
		}
	}
	return subs, nil
}

// resume gives a straggler a lane if its endpoint takes it, or parks it: what has
// just failed must not be tried again at once. Locked.
func (w *webhooks) resume(c *channelState, sub channel.Subscription) (taken bool) {
	e := w.endpointOf(sub)
	if !w.accepts(e) || e.resting() {
		w.park(e, c.id, sub.Seq)
		return false
	}
	next, _ := c.pos.late.get(sub.Seq)
	w.addLane(c, sub, next, e)
	return true
}
