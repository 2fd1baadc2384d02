package webhook

import (
	"context"
)

// workers give channels their turns. A turn reads a little from the store: the
// channel's record, a page of a pass, or a page of stragglers. What is due goes to
// the endpoints' queues, or is parked.
type workers struct {
	*core
	channels   *channels
	queues     *queues
	parking    *parking
	streaks    *streaks
	dispatcher *dispatcher
}

// run gives turns until all stops.
func (w *workers) run(ctx context.Context) {
	for {
		c, task := w.channels.beginTurn()
		if c == nil {
			return
		}
		found, err := w.turn(c, task)
		w.endTurn(ctx, c, found, err)
	}
}

// found is what a turn makes of what it has read. Locked.
type found func()

// turn reads what a task needs from the store, without the lock. A nil found has
// nothing to do.
func (w *workers) turn(c *channelState, task task) (found, error) {
	switch task {
	case taskLoad:
		return w.load(c)
	case taskDrain:
		return w.drain(c)
	case taskPage:
		return w.page(c)
	case taskBegin:
		return w.begin(c)
	}
	return nil, nil
}

// endTurn does what a turn has found, unless the channel's range was lost meanwhile.
func (w *workers) endTurn(ctx context.Context, c *channelState, found found, err error) {
	w.Lock()
	defer w.Unlock()
	if c.tenure.over {
		c.running = false
		return
	}
	if found != nil {
		found()
	}
	w.channels.endTurn(c, err != nil)
	if err != nil {
		w.metrics.StoreFailed("read")
		w.log.Warn("store read failed, delivery of a channel waits", "channel", c.id, "error", err)
		return
	}
	w.dispatcher.pump(ctx)
}
