package webhook

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// endpoint is a webhook's URL with something to send, or that does not work.
type endpoint struct {
	url    string
	bucket channel.Bucket   // of the URL's ID: the leader of its range keeps the record
	record channel.Endpoint // its state
	saved  channel.Endpoint // its state as the store has it; of another node's endpoint, none
	unsure bool             // a save is under way, or its outcome is unknown
	unread bool             // saved is to be read again: a save failed

	queue    fifo[*lane]
	ready    bool // it stands in queues.ready
	inFlight int
	slow     int  // of inFlight, those that took long
	trying   bool // a step of the schedule is due: one request may go

	parked   map[channel.ID]uint64 // channels with stragglers of this endpoint, and the first of them
	overflow bool                  // there are more than are noted
	drains   int                   // requested and not done
	refills  bool                  // a refill is on the agenda
	rest     time.Time             // parked subscriptions wait until then
	waits    time.Time             // end of the wait that it asked for in Retry-After

	// After a suspension, what was committed until lostUntil is sent as a gap to each
	// subscription. The store keeps the endpoint suspended until batch gapBatch has
	// saved the acknowledgements of all these gaps, so that a crash does not deliver
	// what a gap declared lost. Until the last of them it is 0.
	lostUntil time.Time
	gapBatch  uint64
}

// resting reports whether parked subscriptions must wait, because a request has
// just failed.
func (e *endpoint) resting() bool { return !e.trying && time.Now().Before(e.rest) }

// busy reports whether anything waits for the endpoint in memory or is under way.
func (e *endpoint) busy() bool { return e.queue.len() > 0 || e.inFlight > 0 }

// endpoints holds the endpoints in memory, and those of them whose record is to be
// saved. All changes of a record pass through set.
type endpoints struct {
	*core
	byURL   map[string]*endpoint
	unsaved map[*endpoint]struct{}
	changed chan struct{} // 1: a record is to be saved
}

func newEndpoints(core *core) *endpoints {
	return &endpoints{
		core: core, byURL: make(map[string]*endpoint),
		unsaved: make(map[*endpoint]struct{}), changed: make(chan struct{}, 1),
	}
}

// add adds an endpoint with the store's record. Locked.
func (s *endpoints) add(record channel.Endpoint) *endpoint {
	e := &endpoint{url: record.URL, bucket: channel.IDOf(record.URL).Bucket(), parked: make(map[channel.ID]uint64)}
	s.byURL[e.url] = e
	s.restore(e, record)
	return e
}

// restore sets an endpoint's record to the store's. Locked.
func (s *endpoints) restore(e *endpoint, record channel.Endpoint) {
	s.count(e.record, -1)
	s.count(record, +1)
	e.record, e.saved, e.unsure, e.unread = record, record, false, false
	delete(s.unsaved, e)
}

// disown is called when the range that keeps some endpoints' records is lost: another
// node may change them from now on. This node goes on with what it knows of a streak,
// for its own deliveries only. A suspension may end elsewhere now, so it makes no gap:
// its backlog is delivered. Locked.
func (s *endpoints) disown(t *tenure) {
	for _, e := range s.byURL {
		if t.Has(e.bucket) {
			e.saved, e.unsure, e.unread = channel.Endpoint{URL: e.url}, false, false
			e.lostUntil, e.gapBatch = time.Time{}, 0
			delete(s.unsaved, e)
			s.forget(e)
		}
	}
}

// saveOwn requests a save of the records that changed before this node served the
// range that keeps them. Locked.
func (s *endpoints) saveOwn(t *tenure) {
	for _, e := range s.byURL {
		if t.Has(e.bucket) && e.record != e.saved {
			s.save(e)
		}
	}
}

// set changes an endpoint's record and requests a save of it. Locked.
func (s *endpoints) set(e *endpoint, record channel.Endpoint) {
	was := e.record
	e.record = record
	s.save(e)
	s.count(was, -1)
	s.count(record, +1)
}

// save requests a save of an endpoint's record. Locked.
func (s *endpoints) save(e *endpoint) {
	s.unsaved[e] = struct{}{}
	signal(s.changed)
}

func (s *endpoints) count(record channel.Endpoint, change float64) {
	state := record.State
	switch {
	case record.Healthy():
		return
	case state == channel.EndpointActive:
		state = "failing"
	}
	s.metrics.endpoints.WithLabelValues(state).Add(change)
}

// forget drops an endpoint that works and has nothing to do. Locked.
func (s *endpoints) forget(e *endpoint) {
	if e.saved.Healthy() && !e.unsure && e.record.Healthy() && !e.busy() && !e.ready &&
		e.drains == 0 && len(e.parked) == 0 && !e.overflow && !e.refills && e.lostUntil.IsZero() && s.byURL[e.url] == e {
		delete(s.byURL, e.url)
	}
}
