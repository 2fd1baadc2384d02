package webhook

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// lane is a subscription with something to send, waiting in its endpoint's queue
// or under way. There is at most one for a subscription, so its messages go out
// one after the other.
type lane struct {
	channel  *channelState
	endpoint *endpoint
	sub      channel.Subscription
	next     position.Step
	dropped  bool // the subscription was deleted
}

// queues are the lanes, each in its endpoint's queue, and the endpoints that may send,
// served round-robin with one request a turn.
type queues struct {
	*core
	channels *channels
	ready    fifo[*endpoint] // that work, with a lane that may start, and some that stand elsewhere by now
	tries    fifo[*endpoint] // that do not, with a try, and some that stand elsewhere
	lanes    int
	emptied  func(e *endpoint) // called after a turn of an endpoint whose lanes were all dropped. Locked.
}

// accepts reports whether an endpoint takes another lane now. Locked.
func (q *queues) accepts(e *endpoint) bool {
	if e.trying {
		return !e.busy() && e.kept.settled()
	}
	return e.open() && e.slow == 0 && e.queue.len() < q.limits.queue && q.lanes < q.config.MaxLanes
}

// mayStart reports whether a request to an endpoint may begin now. Locked.
func (q *queues) mayStart(e *endpoint) bool {
	if e.trying {
		return e.inFlight == 0 && e.kept.settled()
	}
	return e.open() && e.slow == 0 && e.inFlight < q.config.EndpointParallel
}

// add gives a subscription a lane. Locked.
func (q *queues) add(c *channelState, sub channel.Subscription, next position.Step, e *endpoint) {
	l := &lane{channel: c, endpoint: e, sub: sub, next: next}
	c.lanes[sub.Seq] = l
	q.lanes++
	q.metrics.lanes.Inc()
	q.push(l)
}

// push puts a lane at the end of its endpoint's queue. Locked.
func (q *queues) push(l *lane) {
	l.endpoint.queue.push(l)
	q.markReady(l.endpoint)
}

// markReady gives an endpoint a turn if it may start something, and another one if it began or
// ceased to work while it waited for its turn. Locked.
func (q *queues) markReady(e *endpoint) {
	turn := &q.ready
	if e.trying {
		turn = &q.tries
	}
	if e.turn == turn || e.queue.len() == 0 || !q.mayStart(e) {
		return
	}
	e.turn = turn
	turn.push(e)
}

// pop takes the first lane of the endpoint whose turn it is, of those that work or those that
// are tried, as asked; false when none of these may start a request. Locked.
func (q *queues) pop(works, tries bool) (*lane, bool) {
	for {
		e, ok := q.turn(works, tries)
		if !ok {
			return nil, false
		}
		if !q.mayStart(e) || e.trying && !tries || !e.trying && !works {
			q.markReady(e)
			continue
		}
		if l, ok := q.popFrom(e); ok {
			return l, true
		}
		q.emptied(e) // no request ends here, after which it would be refilled
	}
}

// turn takes the next endpoint that has a turn.
func (q *queues) turn(works, tries bool) (e *endpoint, ok bool) {
	if works {
		e, ok = firstOf(&q.ready)
	}
	if !ok && tries {
		e, ok = firstOf(&q.tries)
	}
	return e, ok
}

// firstOf takes the first endpoint of one of the queues that has not another turn by now.
func firstOf(turn *fifo[*endpoint]) (*endpoint, bool) {
	for {
		e, ok := turn.pop()
		if !ok {
			return nil, false
		}
		if e.turn == turn {
			e.turn = nil
			return e, true
		}
	}
}

// popFrom takes the first lane of an endpoint's queue. Locked.
func (q *queues) popFrom(e *endpoint) (*lane, bool) {
	for {
		l, ok := e.queue.pop()
		if !ok || !l.dropped {
			return l, ok
		}
		q.retire(l)
	}
}

// retire ends a lane. Locked.
func (q *queues) retire(l *lane) {
	q.lanes--
	q.metrics.lanes.Dec()
	if !l.dropped {
		delete(l.channel.lanes, l.sub.Seq)
	}
	q.channels.touch(l.channel)
}
