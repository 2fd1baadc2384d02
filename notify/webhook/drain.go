package webhook

import (
	"fmt"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// drain gives lanes to the next stragglers that a channel's first drain asks for.
func (w *workers) drain(c *channelState) (found, error) {
	w.Lock()
	if c.tenure.over {
		w.Unlock()
		return nil, nil
	}
	d := c.drains[0]
	seqs := c.pos.Stragglers(d.first, w.limits.page)
	more := len(seqs) == w.limits.page
	if n := len(seqs); n > 0 && seqs[n-1] > d.last {
		end, _ := slices.BinarySearch(seqs, d.last+1)
		seqs, more = seqs[:end], false
	}
	w.Unlock()
	subs, err := w.subscriptions(c, seqs)
	if err != nil {
		return nil, err
	}
	return func() { w.resumeAll(c, d, seqs, subs, more) }, nil
}

// resumeAll gives lanes to the stragglers of a drain, as far as they still are. Locked.
func (w *workers) resumeAll(c *channelState, d drain, seqs []uint64, subs map[uint64]channel.Subscription, more bool) {
	for _, seq := range seqs {
		if c.busy(seq) || !c.pos.Behind(seq) {
			continue
		}
		sub, known := subs[seq]
		if !known {
			c.pos.Remove(seq) // deleted while the channel was not in memory
			continue
		}
		if d.endpoint == nil || d.endpoint.url == sub.Sink.URL {
			if taken := w.resume(c, sub); !taken && d.endpoint != nil {
				w.parking.park(d.endpoint, c.id, span{seq, d.last})
				more = false
			}
		}
	}
	if more {
		c.drains[0].first = seqs[len(seqs)-1] + 1
		return
	}
	if d := w.channels.endDrain(c); d.endpoint != nil {
		w.parking.drained(d.endpoint)
	}
}

// subscriptions reads the subscriptions with the given numbers, as far as they
// exist: page by page where they lie close together, else one by one.
func (w *workers) subscriptions(c *channelState, seqs []uint64) (map[uint64]channel.Subscription, error) {
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

// resume gives a straggler a lane if its endpoint accepts it, or parks it: what has
// just failed must not be tried again at once. Locked.
func (w *workers) resume(c *channelState, sub channel.Subscription) (taken bool) {
	e := w.streaks.endpointOf(sub)
	if !w.streaks.known(e) { // what it waits for may be lost
		w.streaks.hold(e)
	}
	if !w.queues.accepts(e) || e.resting() {
		w.parking.park(e, c.id, span{sub.Seq, sub.Seq})
		return false
	}
	next, _ := c.pos.Next(sub.Seq)
	w.queues.add(c, sub, next, e)
	return true
}
