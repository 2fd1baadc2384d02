package notify

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// load reads a channel's record, and the first time its position too.
func (w *webhooks) load(c *channelState) error {
	info, err := w.store.Channel(c.id)
	if errors.Is(err, channel.ErrNotFound) || err == nil && info.Webhooks == 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reset(c)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read channel: %w", err)
	}
	info.Judge, info.Learned = nil, nil                     // kilobytes of the owner's that would live as long as c
	if c.loaded && c.info.Incarnation == info.Incarnation { // only this worker writes them
		w.mu.Lock()
		defer w.mu.Unlock()
		c.info = info
		c.pos.setHead(headOf(info))
		return nil
	}
	return w.loadPosition(c, info)
}

func (w *webhooks) loadPosition(c *channelState, info channel.Channel) error {
	progress, err := w.store.Progress(c.id)
	if err != nil {
		return fmt.Errorf("read progress: %w", err)
	}
	first, err := w.store.Webhooks(c.id, 0, 1)
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	if progress.Incarnation != info.Incarnation {
		progress = channel.Progress{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reset(c)
	if len(first) == 0 {
		return nil
	}
	c.info, c.loaded = info, true
	c.pos = newPosition(headOf(info), progress)
	c.pos.start(first[0].FromVersion)
	return nil
}

// reset forgets a channel that has ended, or has nobody to deliver to. Locked.
func (w *webhooks) reset(c *channelState) {
	for seq, l := range c.lanes {
		l.dropped = true
		delete(c.lanes, seq)
	}
	c.info, c.loaded, c.pos = channel.Channel{}, false, position{done: true}
	c.resets++
}

// begin starts the next pass.
func (w *webhooks) begin(c *channelState) error {
	w.mu.Lock()
	at, due := c.pos.due()
	w.mu.Unlock()
	if !due {
		return nil
	}
	var skip uint64
	if !at.gone() {
		_, gap, err := w.store.Updates(c.id, at.version()-1, 1)
		if err != nil {
			return fmt.Errorf("read updates: %w", err)
		}
		if gap != nil {
			skip = gap.To
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.pos.begin(at)
	c.skip = skip
	return nil
}

// page offers the step of the pass to the next subscriptions.
func (w *webhooks) page(c *channelState) error {
	w.mu.Lock()
	after := c.pos.offered
	w.mu.Unlock()
	subs, err := w.store.Webhooks(c.id, after, w.limits.page)
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sub := range subs {
		if !w.turnOf(c, sub) {
			c.pos.done = true // and so for all who came later
			break
		}
	}
	if c.pos.done || len(subs) < w.limits.page {
		w.endPass(c)
	}
	return nil
}

// turnOf gives a subscription its turn in a pass; false when it came after the
// step. Who came during a gap is to be told of the rest of it, when the pass is
// over. Locked.
func (w *webhooks) turnOf(c *channelState, sub channel.Subscription) bool {
	first := needs(sub.FromVersion)
	switch {
	case first > c.pos.at && sub.FromVersion > c.skip:
		return false
	case c.hasLeft(sub.Seq), c.lanes[sub.Seq] != nil: // its lane comes to the step by itself
		c.pos.pass(sub.Seq)
	case first > c.pos.at:
		c.pos.postpone(sub.Seq, first)
	case c.pos.offer(sub.Seq):
		w.offer(c, sub)
	}
	return true
}

// endPass ends a pass. After a gap there are stragglers to look after: who came
// during it, and who had been told of a shorter one before a crash. Locked.
func (w *webhooks) endPass(c *channelState) {
	c.pos.done = true
	if c.skip <= c.pos.at.version() {
		return
	}
	c.pos.jump(c.skip)
	c.skip = 0
	w.addDrain(c, drain{})
}

// offer takes the step of the pass on for one subscription. Locked.
func (w *webhooks) offer(c *channelState, sub channel.Subscription) {
	e := w.endpointOf(sub)
	if !w.accepts(e) {
		c.pos.straggle(sub.Seq, c.pos.at)
		w.park(e, c.id, sub.Seq)
		return
	}
	c.pos.sent(sub.Seq, time.Now())
	w.addLane(c, sub, c.pos.at, e)
}
