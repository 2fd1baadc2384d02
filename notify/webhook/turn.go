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
		w.endTurn(ctx, c, w.turn(c, task))
	}
}

func (w *workers) turn(c *channelState, task task) error {
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
	return nil
}

func (w *workers) endTurn(ctx context.Context, c *channelState, err error) {
	w.Lock()
	defer w.Unlock()
	w.channels.endTurn(c, err != nil)
	if err != nil {
		w.metrics.StoreFailed("read")
		w.log.Warn("store read failed, delivery of a channel waits", "channel", c.id, "error", err)
		return
	}
	w.dispatcher.pump(ctx)
}
