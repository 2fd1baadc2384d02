package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// dispatcher makes the requests: it takes lanes from the queues while there is room,
// sends what each needs next in a goroutine of its own, and notes the outcome.
type dispatcher struct {
	*core
	caller    *caller
	composer  *composer
	channels  *channels
	endpoints *endpoints
	queues    *queues
	parking   *parking
	streaks   *streaks

	senders  sync.WaitGroup
	inFlight int // requests younger than slowAfter, or without room among the slow
	slow     int // other requests of endpoints that work
	tries    int // of endpoints that do not
}

// request is a lane's message under way.
type request struct {
	lane  *lane
	grant uint64    // of the keeper, that it is the try of; 0: none
	began time.Time // before it is sent: the zero value
	over  bool
	slow  bool // took longer than slowAfter
	among *int // the dispatcher's count that it is in
}

// pump starts requests while there is room. Tries have room of their own, as many as may be
// slow at a time to one half: most take their whole limit. Locked.
func (d *dispatcher) pump(ctx context.Context) {
	for !d.stopped {
		l, ok := d.queues.pop(d.inFlight < d.config.Parallel, d.tries < max(d.config.SlowParallel/2, 1))
		if !ok {
			return
		}
		d.start(ctx, l)
		d.queues.markReady(l.endpoint)
	}
}

// start sends a lane's next message in a goroutine of its own. Locked.
func (d *dispatcher) start(ctx context.Context, l *lane) {
	e := l.endpoint
	r := &request{lane: l, among: &d.inFlight}
	info, lostUntil := l.channel.info, e.record.LostUntil
	if e.trying { // that of a suspended endpoint sends all that was missed as a gap
		r.among, r.grant, lostUntil, e.tried = &d.tries, e.grant, e.lost, true
	}
	e.inFlight++
	*r.among++
	d.metrics.inFlight.Inc()
	d.later(time.Now().Add(slowAfter), func() { d.markSlow(r) })
	d.senders.Go(func() {
		next, sent, err := d.send(ctx, r, info, l.sub, l.next, lostUntil)
		d.finish(ctx, r, next, sent, err)
	})
}

// markSlow parks what waits for an endpoint that is slow to answer, and counts its
// request among the slow ones. Locked.
func (d *dispatcher) markSlow(r *request) {
	if r.over {
		return
	}
	e := r.lane.endpoint
	r.slow = true
	e.slow++
	d.parking.parkQueue(e)
	if r.among == &d.inFlight && d.slow < d.config.SlowParallel {
		r.among = &d.slow
		d.inFlight--
		d.slow++
	}
}

// send sends what a subscription needs next, if there is anything, and returns what
// it needs then.
func (d *dispatcher) send(ctx context.Context, r *request, info channel.Channel, sub channel.Subscription, at position.Step, lostUntil time.Time) (next position.Step, sent bool, err error) {
	m, ok, err := d.composer.compose(info, sub, at, lostUntil)
	if err != nil || !ok {
		return at, false, err
	}
	r.began = time.Now()
	if err := d.call(ctx, sub, m); err != nil {
		return at, false, err
	}
	return m.next, true, nil
}

// call makes one request and counts it.
func (d *dispatcher) call(ctx context.Context, sub channel.Subscription, m message) error {
	began := time.Now()
	err := d.caller.call(ctx, sub, m)
	d.metrics.seconds.Observe(time.Since(began).Seconds())
	if failure, ok := err.(*CallError); ok {
		d.metrics.failures.WithLabelValues(string(failure.Class)).Inc()
		return err
	}
	d.metrics.messages.WithLabelValues(m.kind).Inc()
	if m.kind == api.MessageUpdated {
		d.metrics.delay.Observe(time.Since(m.committed).Seconds())
	}
	return nil
}

// finish notes how a request ended.
func (d *dispatcher) finish(ctx context.Context, r *request, next position.Step, sent bool, err error) {
	d.Lock()
	defer d.Unlock()
	l, e := r.lane, r.lane.endpoint
	d.uncount(r)
	var failure *CallError
	switch {
	case err == nil:
		if sent {
			d.streaks.succeeded(e, r)
		} else {
			d.streaks.unsent(e, r)
		}
		d.acknowledge(l, next)
		if !e.record.Works() && !e.trying {
			d.parking.parkQueue(e)
		}
	case errors.As(err, &failure):
		d.streaks.failed(e, l.sub, failure, r)
		d.parking.parkLane(l)
	default:
		d.storeFailed(l, err)
		d.streaks.unsent(e, r)
	}
	if !e.refills { // else not before its rest is over
		d.parking.refill(e)
	}
	d.queues.markReady(e)
	d.endpoints.forget(e)
	d.pump(ctx)
}

// uncount takes a request that ended out of the counts. Locked.
func (d *dispatcher) uncount(r *request) {
	r.over = true
	e := r.lane.endpoint
	e.inFlight--
	if r.grant != 0 {
		e.tried = false
	}
	if r.slow {
		e.slow--
	}
	*r.among--
	d.metrics.inFlight.Dec()
}

// acknowledge notes what a subscription has, and goes on with what else waits for
// it. Locked.
func (d *dispatcher) acknowledge(l *lane, next position.Step) {
	if l.dropped || !l.channel.pos.Acknowledge(l.sub.Seq, next) {
		d.queues.retire(l)
		return
	}
	l.next = next
	d.channels.touch(l.channel)
	d.queues.push(l)
}

// storeFailed parks a lane whose message could not be read. The endpoint is not to
// blame. Locked.
func (d *dispatcher) storeFailed(l *lane, err error) {
	d.metrics.StoreFailed("read")
	d.log.Warn("store read failed, a delivery waits", "channel", l.channel.id, "subscription", l.sub.ID, "error", err)
	l.endpoint.rest = time.Now().Add(retryStore)
	d.parking.parkLane(l)
	d.parking.refillSoon(l.endpoint)
}
