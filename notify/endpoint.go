package notify

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// endpoint is a webhook's URL with something to send, or that does not work. Its
// fields are guarded by webhooks.mu.
type endpoint struct {
	url    string
	record channel.Endpoint // its state; saved is what the store has of it
	saved  channel.Endpoint
	unsure bool // a save is under way, or its outcome is unknown

	queue    fifo[*lane]
	ready    bool // in webhooks.mu.ready
	inFlight int
	slow     int  // of inFlight, those that took long
	trying   bool // a step of the schedule is due: one request may go

	parked   map[channel.ID]uint64 // channels with stragglers of this endpoint, and the first of them
	overflow bool                  // there are more than are noted
	drains   int                   // asked for and not done
	refills  bool                  // a refill is on the agenda
	rest     time.Time             // parked subscriptions wait until then
	asked    time.Time             // until when it wants to be left alone, as its Retry-After said

	// After a suspension, what was committed until lostUntil is told as a gap. The
	// store keeps the endpoint suspended until all have been told and told is a
	// batch that saved it, so that a crash does not deliver what a gap said is lost.
	lostUntil time.Time
	told      uint64
}

// endpointOf returns the endpoint of a subscription. One that was disabled before
// the subscription was made gets another chance: its hook may have been lost in a
// crash. Locked.
func (w *webhooks) endpointOf(sub channel.Subscription) *endpoint {
	e := w.mu.endpoints[sub.Sink.URL]
	if e == nil {
		e = w.addEndpoint(channel.Endpoint{URL: sub.Sink.URL})
	}
	if e.record.State == channel.EndpointDisabled && sub.Created.After(e.record.FailingSince) {
		w.revive(e)
	}
	return e
}

// Locked.
func (w *webhooks) addEndpoint(record channel.Endpoint) *endpoint {
	e := &endpoint{url: record.URL, record: record, saved: record, parked: make(map[channel.ID]uint64)}
	w.mu.endpoints[e.url] = e
	w.countEndpoint(record, +1)
	return e
}

// loadEndpoints takes up the streaks that the store knows of. It tries until the
// store answers; false when all stops before.
func (w *webhooks) loadEndpoints(ctx context.Context) bool {
	for {
		records, err := w.store.Endpoints()
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, record := range records {
				w.schedule(w.addEndpoint(record))
			}
			return true
		}
		w.metrics.storeFails.WithLabelValues("endpoints").Inc()
		w.log.Warn("store read failed, delivery waits", "error", err)
		pause(ctx, retryStore)
		if ctx.Err() != nil {
			return false
		}
	}
}

// accepts reports whether an endpoint takes another lane now. Locked.
func (w *webhooks) accepts(e *endpoint) bool {
	if e.trying {
		return e.queue.len() == 0 && e.inFlight == 0
	}
	return e.record.Healthy() && e.slow == 0 && e.queue.len() < w.limits.queue && w.mu.lanes < w.config.MaxLanes
}

// mayStart reports whether a request to an endpoint may begin now. Locked.
func (w *webhooks) mayStart(e *endpoint) bool {
	if e.trying {
		return e.inFlight == 0
	}
	return e.record.Healthy() && e.slow == 0 && e.inFlight < w.config.EndpointParallel
}

// park notes where a subscription is that its endpoint does not take now. Locked.
func (w *webhooks) park(e *endpoint, id channel.ID, seq uint64) {
	first, known := e.parked[id]
	switch {
	case known:
		e.parked[id] = min(first, seq)
	case w.mu.parked >= w.limits.parked:
		e.overflow = true
	default:
		e.parked[id] = seq
		w.mu.parked++
	}
	if e.record.Healthy() {
		w.refillSoon(e)
	}
}

// resting reports whether parked subscriptions must wait, because one has just
// failed.
func (e *endpoint) resting() bool { return !e.trying && time.Now().Before(e.rest) }

// refillSoon looks after parked subscriptions when their rest is over, and not at
// once in any case: what could not be taken just now cannot be taken yet. Locked.
func (w *webhooks) refillSoon(e *endpoint) {
	if e.refills {
		return
	}
	e.refills = true
	at := time.Now().Add(batchDelay)
	if at.Before(e.rest) {
		at = e.rest
	}
	w.later(at, func() {
		e.refills = false
		w.refill(e)
	})
}

// refill asks for lanes for parked subscriptions, as far as the endpoint takes
// them. Locked.
func (w *webhooks) refill(e *endpoint) {
	if e.drains > 0 {
		return
	}
	if !w.accepts(e) || e.queue.len() > w.limits.queue/2 {
		if e.record.Healthy() && e.queue.len() == 0 && e.inFlight == 0 {
			w.refillSoon(e) // all lanes are taken by others
		}
		return
	}
	if e.resting() {
		w.refillSoon(e)
		return
	}
	room := min(w.limits.queue-e.queue.len(), maxDrains)
	if e.trying {
		room = 1
	}
	for id, seq := range e.parked {
		if room--; room < 0 {
			return
		}
		delete(e.parked, id)
		w.mu.parked--
		w.drainFor(e, id, seq)
	}
	if e.drains == 0 {
		w.exhausted(e)
	}
}

const maxDrains = 64 // channels asked for lanes at a time by one endpoint

// drainFor asks a channel for lanes for an endpoint's stragglers. Locked.
func (w *webhooks) drainFor(e *endpoint, id channel.ID, from uint64) {
	c := w.mu.channels[id]
	if c == nil {
		c = w.addChannel(id)
	}
	w.addDrain(c, drain{url: e.url, from: from})
}

// exhausted follows a refill that found nobody parked. Locked.
func (w *webhooks) exhausted(e *endpoint) {
	switch {
	case e.queue.len() > 0 || e.inFlight > 0:
	case e.overflow:
		e.overflow = false
		w.wantScan()
		w.refillSoon(e)
	case (e.trying || !e.lostUntil.IsZero()) && !w.allFound():
		w.refillSoon(e)
	case e.trying:
		e.trying = false
		w.setRecord(e, channel.Endpoint{URL: e.url}) // nobody subscribes with it any more
	case e.lostUntil.IsZero():
		w.forgetEndpoint(e)
	case e.told == 0:
		e.told = w.mu.batches + 1
		w.refillSoon(e)
	case !w.saved(e.told):
		w.refillSoon(e)
	default:
		e.lostUntil = time.Time{}
		w.mu.unsavedAt[e] = struct{}{}
		signal(w.unsavedEndpoints)
	}
}

// forgetEndpoint drops an endpoint that works and has nothing to do. Locked.
func (w *webhooks) forgetEndpoint(e *endpoint) {
	if e.saved.Healthy() && !e.unsure && e.record.Healthy() && e.queue.len() == 0 && e.inFlight == 0 && !e.ready &&
		e.drains == 0 && len(e.parked) == 0 && !e.overflow && !e.refills && e.lostUntil.IsZero() && w.mu.endpoints[e.url] == e {
		delete(w.mu.endpoints, e.url)
	}
}
