package webhook

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// parking is what endpoints do not accept now. A parked subscription is a
// straggler in the store, and a note at its endpoint of where to find it; a refill
// turns notes into drains, which give lanes to the stragglers.
type parking struct {
	*core
	channels  *channels
	endpoints *endpoints
	queues    *queues
	scanner   *scanner
	exhausted func(e *endpoint) // called when nothing was found for a try. Locked.
	awaits    func(e *endpoint) // called when something begins to wait for an endpoint in the store. Locked.
	parked    int               // notes at all endpoints
}

const maxDrains = 64 // of one endpoint at a time

// park notes where subscriptions are that their endpoint does not accept now. Locked.
func (p *parking) park(e *endpoint, id channel.ID, where span) {
	if !e.waiting() {
		p.awaits(e)
	}
	noted, known := e.parked[id]
	switch {
	case known:
		e.parked[id] = span{min(noted.first, where.first), max(noted.last, where.last)}
	case p.parked >= p.limits.parked:
		e.overflow = true
	default:
		e.parked[id] = where
		p.parked++
	}
	if e.open() {
		p.refillSoon(e)
	}
}

// parkLane ends a lane whose subscription still waits, and parks it. Locked.
func (p *parking) parkLane(l *lane) {
	if !l.dropped {
		l.channel.pos.SetBehind(l.sub.Seq, l.next)
		p.park(l.endpoint, l.channel.id, span{l.sub.Seq, l.sub.Seq})
	}
	p.queues.retire(l)
}

// parkQueue parks what waits for an endpoint that does not answer, since lanes are
// for those that do. Locked.
func (p *parking) parkQueue(e *endpoint) {
	for {
		l, ok := e.queue.pop()
		if !ok {
			return
		}
		p.parkLane(l)
	}
}

// refillSoon refills an endpoint when its rest is over, after batchDelay at least:
// what it did not accept just now it does not accept yet. Locked.
func (p *parking) refillSoon(e *endpoint) {
	if e.refills {
		return
	}
	e.refills = true
	at := time.Now().Add(batchDelay)
	if at.Before(e.rest) {
		at = e.rest
	}
	p.later(at, func() {
		e.refills = false
		p.refill(e)
	})
}

// refill asks for lanes for parked subscriptions, as far as the endpoint accepts
// them. Locked.
func (p *parking) refill(e *endpoint) {
	if e.drains > 0 {
		return
	}
	if !p.queues.accepts(e) || e.queue.len() > p.limits.queue/2 {
		if e.open() && !e.busy() {
			p.refillSoon(e) // all lanes are with other endpoints
		}
		return
	}
	if e.resting() {
		p.refillSoon(e)
		return
	}
	room := min(p.limits.queue-e.queue.len(), maxDrains)
	if e.trying {
		room = 1
	}
	for id, where := range e.parked {
		t := p.served(id.Bucket())
		if t == nil { // the next leader's scan finds the straggler
			p.unpark(e, id)
			continue
		}
		if room--; room < 0 {
			return
		}
		p.unpark(e, id)
		e.drains++
		p.channels.addDrain(p.channels.get(t, id), drain{e, where})
	}
	if e.drains == 0 {
		p.foundNone(e)
	}
}

// unpark removes a note. Locked.
func (p *parking) unpark(e *endpoint, id channel.ID) {
	delete(e.parked, id)
	p.parked--
}

// drained is called at the end of a drain for an endpoint. Locked.
func (p *parking) drained(e *endpoint) {
	e.drains--
	p.refill(e)
}

// foundNone is called after a refill that found no note. Locked.
func (p *parking) foundNone(e *endpoint) {
	switch {
	case e.busy():
	case e.overflow:
		e.overflow = false
		p.scanner.requestAll()
		p.refillSoon(e)
	case e.trying && !p.scanner.complete():
		p.refillSoon(e)
	case e.trying:
		p.exhausted(e)
	default:
		p.endpoints.forget(e)
	}
}

// reopen goes on with an endpoint that works again. Locked.
func (p *parking) reopen(e *endpoint) {
	p.queues.markReady(e)
	p.refillSoon(e)
}
