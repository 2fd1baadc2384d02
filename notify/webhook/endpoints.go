package webhook

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// endpoint is a webhook's URL with something to send, or that does not work.
type endpoint struct {
	url    string
	bucket channel.Bucket   // of the URL's ID: the leader of its range is the endpoint's keeper
	record channel.Endpoint // its state, as the keeper said last; without its word, one that works

	known   bool      // the keeper has said so since the endpoint is in memory
	held    bool      // nothing is sent before the keeper has answered
	created time.Time // of the newest subscription seen
	ask     inquiry   // what the keeper is to be asked
	due     time.Time // when the agenda looks at it next; zero: not
	grant   uint64    // of the keeper, while trying
	failed  string    // the subscription whose message failed last
	lost    time.Time // what was committed until then a try declares lost
	kept    keeping   // of the keeper alone

	queue    fifo[*lane]
	turn     *fifo[*endpoint] // the one of queues in which it waits for its turn; nil: none
	inFlight int
	slow     int  // of inFlight, those that took long
	trying   bool // a step of the schedule is due: one request may go
	tried    bool // and is under way

	parked   map[channel.ID]span // channels with stragglers of this endpoint, and where these are
	overflow bool                // there are more than are noted
	drains   int                 // requested and not done
	refills  bool                // a refill is on the agenda
	rest     time.Time           // parked subscriptions wait until then
}

// keeping is what the keeper has of an endpoint.
type keeping struct {
	streak  streak.Streak
	saved   channel.Endpoint // its record as the store has it
	unsure  bool             // a save is under way, or its outcome is unknown
	unread  bool             // saved is to be read again: a save failed
	turning bool             // as unsure, of a save of another state
	settles chan struct{}    // closed when the state is durable, or another node's; nil: nothing waits for that
	asked   time.Time        // when a deliverer had something for it last
}

// settled reports whether the state that the endpoint is in, and what was lost, are
// durable. What a gap declares lost must stay lost, whatever crashes.
func (k *keeping) settled() bool {
	is := k.streak.Record
	return !k.turning && k.saved.State == is.State && k.saved.LostUntil.Equal(is.LostUntil)
}

func (k *keeping) wake() {
	if k.settles != nil {
		close(k.settles)
		k.settles = nil
	}
}

// open reports whether messages may go to the endpoint.
func (e *endpoint) open() bool { return e.record.Works() && !e.held && e.kept.settled() }

// resting reports whether parked subscriptions must wait, because a request has
// just failed.
func (e *endpoint) resting() bool { return !e.trying && time.Now().Before(e.rest) }

// busy reports whether anything waits for the endpoint in memory or is under way.
func (e *endpoint) busy() bool { return e.queue.len() > 0 || e.inFlight > 0 }

// waiting reports whether anything waits for the endpoint, in memory or in the store.
func (e *endpoint) waiting() bool { return e.queue.len() > 0 || len(e.parked) > 0 || e.overflow }

// idle reports whether there is nothing to do for the endpoint.
func (e *endpoint) idle() bool {
	return !e.busy() && !e.waiting() && e.turn == nil && e.drains == 0 && !e.refills && !e.held && e.ask.idle()
}

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

// keeps reports whether this node is an endpoint's keeper. Locked.
func (s *endpoints) keeps(e *endpoint) bool { return s.served(e.bucket) != nil }

// get returns the endpoint of a URL, a new one if it is not in memory: what has no record
// works. Locked.
func (s *endpoints) get(url string) *endpoint {
	e := s.byURL[url]
	if e == nil {
		works := channel.Endpoint{URL: url}
		e = &endpoint{url: url, bucket: channel.IDOf(url).Bucket(), parked: make(map[channel.ID]span), record: works}
		e.kept = keeping{streak: streak.Streak{Record: works}, saved: works}
		s.byURL[url] = e
	}
	return e
}

// restore has this node keep an endpoint whose record is the store's. Locked.
func (s *endpoints) restore(e *endpoint, record channel.Endpoint) {
	now := time.Now()
	e.kept = keeping{streak: streak.Resume(record, now), saved: record, asked: now}
	s.count(e.record, -1)
	s.count(record, +1)
	e.record = record
}

// disown ends the keeping of an endpoint: another node's record counts from now on.
// Locked.
func (s *endpoints) disown(e *endpoint) {
	e.kept.wake()
	works := channel.Endpoint{URL: e.url}
	e.kept = keeping{streak: streak.Streak{Record: works}, saved: works}
	delete(s.unsaved, e)
}

// set changes what an endpoint's deliveries go by, and requests a save of it if this node
// keeps it. Locked.
func (s *endpoints) set(e *endpoint, record channel.Endpoint) {
	s.count(e.record, -1)
	s.count(record, +1)
	e.record = record
	if s.keeps(e) {
		s.save(e)
	}
}

// save requests a save of an endpoint's record. Locked.
func (s *endpoints) save(e *endpoint) {
	s.unsaved[e] = struct{}{}
	signal(s.changed)
}

func (s *endpoints) count(record channel.Endpoint, change float64) {
	state := record.State
	switch {
	case record.Works():
		return
	case state == channel.EndpointActive:
		state = "failing"
	}
	s.metrics.endpoints.WithLabelValues(state).Add(change)
}

// forget drops an endpoint that works and has nothing to do. Of one that another node
// keeps, it asks when there is something. Locked.
func (s *endpoints) forget(e *endpoint) {
	saved := !s.keeps(e) || e.kept.saved.Healthy() && !e.kept.unsure && e.record.Healthy()
	if saved && e.record.Works() && e.idle() && s.byURL[e.url] == e {
		delete(s.byURL, e.url)
	}
}

// drop forgets an endpoint that another node keeps, whatever it is like, if there is
// nothing to do for it. Locked.
func (s *endpoints) drop(e *endpoint) bool {
	if s.keeps(e) || !e.idle() || s.byURL[e.url] != e {
		return false
	}
	s.set(e, channel.Endpoint{URL: e.url})
	delete(s.byURL, e.url)
	return true
}
