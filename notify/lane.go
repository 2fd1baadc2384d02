package notify

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// lane is a subscription with something to send, waiting in its endpoint's queue
// or under way. There is at most one for a subscription, so its messages go out
// one after the other.
type lane struct {
	channel  *channelState
	endpoint *endpoint
	sub      channel.Subscription
	next     step
	dropped  bool // the subscription was deleted
}

// Locked.
func (w *webhooks) addLane(c *channelState, sub channel.Subscription, next step, e *endpoint) {
	l := &lane{channel: c, endpoint: e, sub: sub, next: next}
	c.lanes[sub.Seq] = l
	w.mu.lanes++
	w.metrics.lanes.Inc()
	w.push(l)
}

func (w *webhooks) push(l *lane) {
	l.endpoint.told = 0
	l.endpoint.queue.push(l)
	w.markReady(l.endpoint)
}

// retire ends a lane. Locked.
func (w *webhooks) retire(l *lane) {
	w.mu.lanes--
	w.metrics.lanes.Dec()
	if !l.dropped {
		delete(l.channel.lanes, l.sub.Seq)
	}
	w.touch(l.channel)
}

// setAside ends a lane whose subscription still waits, and parks it. Locked.
func (w *webhooks) setAside(l *lane) {
	if !l.dropped {
		l.channel.pos.straggle(l.sub.Seq, l.next)
		w.park(l.endpoint, l.channel.id, l.sub.Seq)
	}
	w.retire(l)
}

// setAsideQueue parks what waits for an endpoint that does not answer, since lanes
// are for those that do. Locked.
func (w *webhooks) setAsideQueue(e *endpoint) {
	for {
		l, ok := e.queue.pop()
		if !ok {
			return
		}
		w.setAside(l)
	}
}

// markReady puts an endpoint in line if it may start something. Locked.
func (w *webhooks) markReady(e *endpoint) {
	if !e.ready && e.queue.len() > 0 && w.mayStart(e) {
		e.ready = true
		w.mu.ready.push(e)
	}
}

// pump starts requests while there is room: one per endpoint in its turn. Locked.
func (w *webhooks) pump(ctx context.Context) {
	for w.mu.inFlight < w.config.Parallel && !w.mu.stopped {
		e, ok := w.mu.ready.pop()
		if !ok {
			return
		}
		e.ready = false
		if !w.mayStart(e) {
			continue
		}
		l, ok := w.nextLane(e)
		if !ok {
			w.forgetEndpoint(e)
			continue
		}
		w.start(ctx, e, l)
		w.markReady(e)
	}
}

// nextLane takes the next lane from a queue. Locked.
func (w *webhooks) nextLane(e *endpoint) (*lane, bool) {
	for {
		l, ok := e.queue.pop()
		if !ok || !l.dropped {
			return l, ok
		}
		w.retire(l)
	}
}

// flight is a request under way.
type flight struct {
	lane   *lane
	wasTry bool
	over   bool
	late   bool // took longer than slowAfter
	moved  bool // counts among the slow
}

// start sends a lane's next message in a goroutine of its own. Locked.
func (w *webhooks) start(ctx context.Context, e *endpoint, l *lane) {
	f := &flight{lane: l, wasTry: e.trying}
	e.inFlight++
	w.mu.inFlight++
	w.metrics.inFlight.Inc()
	w.later(time.Now().Add(slowAfter), func() { w.markSlow(f) })
	info, lostUntil := l.channel.info, e.lostUntil
	if e.saved.State != channel.EndpointActive {
		lostUntil = time.Now() // a try that succeeds has told of all that was missed
	}
	w.senders.Go(func() {
		next, sent, err := w.send(ctx, info, l.sub, l.next, lostUntil)
		w.finish(ctx, f, next, sent, err)
	})
}

// markSlow makes an endpoint that is slow to answer stand aside: what waits for it
// is parked, and its request counts among the slow ones. Locked.
func (w *webhooks) markSlow(f *flight) {
	if f.over {
		return
	}
	e := f.lane.endpoint
	f.late = true
	e.slow++
	w.setAsideQueue(e)
	if w.mu.slow < w.config.SlowParallel {
		f.moved = true
		w.mu.inFlight--
		w.mu.slow++
	}
}

// send sends what a subscription needs next, if there is anything, and returns what
// it needs then.
func (w *webhooks) send(ctx context.Context, info channel.Channel, sub channel.Subscription, at step, lostUntil time.Time) (next step, sent bool, err error) {
	m, ok, err := w.compose(info, sub, at, lostUntil)
	if err != nil || !ok {
		return at, false, err
	}
	if err := w.call(ctx, sub, m); err != nil {
		return at, false, err
	}
	return m.next, true, nil
}

// finish notes how a request ended.
func (w *webhooks) finish(ctx context.Context, f *flight, next step, sent bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, e := f.lane, f.lane.endpoint
	w.land(f)
	var failure *CallError
	switch {
	case err == nil:
		if sent {
			w.succeeded(e, f.wasTry)
		}
		w.settle(l, next)
		if !e.record.Healthy() && !e.trying {
			w.setAsideQueue(e)
		}
	case errors.As(err, &failure):
		w.failed(e, l.sub, failure, f.wasTry)
		w.setAside(l)
	default:
		w.storeFailed(l, err)
	}
	if !e.refills { // else not before its rest is over
		w.refill(e)
	}
	w.markReady(e)
	w.forgetEndpoint(e)
	w.pump(ctx)
}

// land takes a request out of the counts. Locked.
func (w *webhooks) land(f *flight) {
	f.over = true
	e := f.lane.endpoint
	e.inFlight--
	if f.late {
		e.slow--
	}
	if f.moved {
		w.mu.slow--
	} else {
		w.mu.inFlight--
	}
	w.metrics.inFlight.Dec()
}

// settle notes what a subscription has had, and goes on with what else waits for
// it. Locked.
func (w *webhooks) settle(l *lane, next step) {
	if l.dropped || !l.channel.pos.settle(l.sub.Seq, next) {
		w.retire(l)
		return
	}
	l.next = next
	w.touch(l.channel)
	w.push(l)
}

// storeFailed puts a lane aside whose message could not be read. The endpoint is
// not to blame. Locked.
func (w *webhooks) storeFailed(l *lane, err error) {
	w.metrics.storeFails.WithLabelValues("read").Inc()
	w.log.Warn("store read failed, a delivery waits", "channel", l.channel.id, "subscription", l.sub.ID, "error", err)
	l.endpoint.rest = time.Now().Add(retryStore)
	w.setAside(l)
	w.refillSoon(l.endpoint)
}
