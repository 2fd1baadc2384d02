package webhook

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// load reads a channel's record, and the first time its position too.
func (w *workers) load(c *channelState) (found, error) {
	info, err := w.store.Channel(c.id)
	if errors.Is(err, channel.ErrNotFound) || err == nil && info.Webhooks == 0 {
		return func() { w.channels.reset(c) }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read channel: %w", err)
	}
	info.Judge, info.Learned = nil, nil // kilobytes of the owner's that would live as long as c
	w.Lock()
	known := c.loaded && c.info.Incarnation == info.Incarnation
	w.Unlock()
	if known {
		return func() {
			c.info = info
			c.pos.SetHead(position.Head(info))
		}, nil
	}
	return w.loadPosition(c, info)
}

func (w *workers) loadPosition(c *channelState, info channel.Channel) (found, error) {
	progress, err := w.store.Progress(c.id)
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	first, err := w.store.Webhooks(c.id, 0, 1)
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	if progress.Incarnation != info.Incarnation {
		progress = channel.Progress{}
	}
	return func() {
		w.channels.reset(c)
		if len(first) == 0 {
			return
		}
		c.info, c.loaded, c.old = info, true, true
		c.pos = position.New(position.Head(info), progress, first[0].FromVersion)
	}, nil
}

// begin starts the next pass.
func (w *workers) begin(c *channelState) (found, error) {
	w.Lock()
	at, due := c.pos.Due()
	w.Unlock()
	if !due {
		return nil, nil
	}
	var gapTo uint64
	old := true
	if !at.Gone() {
		updates, gap, err := w.store.Updates(c.id, at.Version()-1, 1)
		if err != nil {
			return nil, fmt.Errorf("read updates: %w", err)
		}
		if gap != nil {
			gapTo = gap.To
		} else if len(updates) > 0 {
			old = updates[0].At.Before(c.tenure.since.Add(clockSkew))
		}
	}
	return func() {
		c.old = old
		c.pos.Begin(at, gapTo)
	}, nil
}

// page offers the step of the pass to the next subscriptions.
func (w *workers) page(c *channelState) (found, error) {
	w.Lock()
	after := c.pos.Seq()
	w.Unlock()
	subs, err := w.store.Webhooks(c.id, after, w.limits.page)
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	return func() { w.offerAll(c, subs) }, nil
}

// offerAll offers the step of the pass to the subscriptions of a page. Locked.
func (w *workers) offerAll(c *channelState, subs []channel.Subscription) {
	ended := len(subs) < w.limits.page
	for _, sub := range subs {
		turn := c.pos.Turn(sub.Seq, sub.FromVersion, c.busy(sub.Seq))
		if turn == position.Ended {
			ended = true
			break
		}
		if turn == position.Offered {
			w.offer(c, sub)
		}
	}
	if ended && c.pos.End() {
		w.channels.addDrain(c, drain{span: all})
	}
}

// offer gives a subscription a lane for the step of the pass, or parks it. Locked.
func (w *workers) offer(c *channelState, sub channel.Subscription) {
	e := w.streaks.endpointOf(sub)
	if c.old && !w.streaks.known(e) {
		w.streaks.hold(e)
	}
	if !w.queues.accepts(e) {
		c.pos.SetBehind(sub.Seq, c.pos.At())
		w.parking.park(e, c.id, span{sub.Seq, sub.Seq})
		return
	}
	c.pos.Accept(sub.Seq, time.Now())
	w.queues.add(c, sub, c.pos.At(), e)
}
