package webhook

import (
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// streaks follows each endpoint's streak of failures. It tells the endpoint's keeper the
// outcomes of requests, and lets tries through that the keeper grants. Where the keeper is
// this node, the keeper's rules (package streak) are asked at once.
type streaks struct {
	*core
	endpoints *endpoints
	queues    *queues
	parking   *parking
	inquiries *inquiries
	self      uint64 // this deliverer, in questions
}

// clockSkew is more than the clocks of two leaders differ.
const clockSkew = 5 * time.Second

// load returns the streaks that the store has of a range.
func (s *streaks) load(t *tenure) ([]channel.Endpoint, error) {
	records, err := s.store.EndpointsIn(t.Range)
	if err != nil {
		s.metrics.StoreFailed("endpoints")
		s.log.Warn("store read failed, delivery of a range waits", "range", t.ID, "error", err)
	}
	return records, err
}

// adopt begins to keep the endpoints of a range. What the store has replaces what the
// keeper before has told this node: what was not saved is tried again. What that one was
// still to be told is told to this one. Locked.
func (s *streaks) adopt(t *tenure, records []channel.Endpoint) {
	stored := make(map[string]channel.Endpoint, len(records))
	for _, record := range records {
		s.endpoints.get(record.URL)
		stored[record.URL] = record
	}
	for _, e := range s.endpoints.byURL {
		if !t.Has(e.bucket) {
			continue
		}
		record, known := stored[e.url]
		if !known {
			record = channel.Endpoint{URL: e.url}
		}
		s.endpoints.restore(e, record)
		e.held, e.trying = false, false
		if q := s.inquiries.cancel(e); q != nil {
			told := *q // a call may be under way with it
			told.Wants = false
			s.answer(e, told)
		}
		s.parking.parkQueue(e)
		s.plan(e)
		s.parking.refillSoon(e)
	}
}

// disown is called when the range that keeps some endpoints is lost: another node may
// change their records from now on. Locked.
func (s *streaks) disown(t *tenure) {
	for _, e := range s.endpoints.byURL {
		if !t.Has(e.bucket) {
			continue
		}
		durable := e.kept.settled()
		s.endpoints.disown(e)
		e.known, e.trying, e.due = false, false, time.Time{}
		switch {
		case e.record.Works() && durable:
			s.endpoints.forget(e)
		case !s.endpoints.drop(e):
			s.hold(e)
		}
	}
}

// known reports whether deliveries to an endpoint go by its keeper's word. Locked.
func (s *streaks) known(e *endpoint) bool { return e.known || s.endpoints.keeps(e) }

// hold sends nothing to an endpoint before its keeper has answered. Locked.
func (s *streaks) hold(e *endpoint) {
	if e.held {
		return
	}
	e.held = true
	s.inquiries.ask(e, s.question(e, streak.Question{Wants: true}))
	s.parkSoon(e)
}

// question completes a question. Locked.
func (s *streaks) question(e *endpoint, q streak.Question) streak.Question {
	q.From, q.Works, q.Created = s.self, e.record.Works(), e.created
	return q
}

// tell tells the keeper of an endpoint something. Locked.
func (s *streaks) tell(e *endpoint, q streak.Question) {
	q = s.question(e, q)
	if s.endpoints.keeps(e) {
		s.answer(e, q)
		return
	}
	s.inquiries.ask(e, q)
}

// endpointOf returns the endpoint of a subscription. One that was disabled before
// the subscription was made works again: the hook that announced the subscription may
// have been lost in a crash. Locked.
func (s *streaks) endpointOf(sub channel.Subscription) *endpoint {
	e := s.endpoints.get(sub.Sink.URL)
	s.note(e, sub)
	return e
}

// subscribed announces a new subscription, which revives its endpoint if that is
// disabled. Of an endpoint that another node keeps, this one cannot know. Locked.
func (s *streaks) subscribed(sub channel.Subscription) {
	e := s.endpoints.byURL[sub.Sink.URL]
	keeps := s.served(channel.IDOf(sub.Sink.URL).Bucket()) != nil
	switch {
	case keeps && e != nil:
		s.note(e, sub)
	case keeps, s.config.Ask == nil, s.led.At(sub.Channel.Bucket()) == nil:
	default:
		e = s.endpoints.get(sub.Sink.URL)
		e.created = latest(e.created, sub.Created)
		s.tell(e, streak.Question{})
	}
}

// note has a subscription revive its endpoint, if that is known to be disabled. Locked.
func (s *streaks) note(e *endpoint, sub channel.Subscription) {
	if !sub.Created.After(e.created) {
		return
	}
	e.created = sub.Created
	if e.record.State == channel.EndpointDisabled && sub.Created.After(e.record.FailingSince) {
		s.tell(e, streak.Question{})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// succeeded tells that a request was acknowledged, unless the endpoint works as it is.
// Locked.
func (s *streaks) succeeded(e *endpoint, r *request) {
	if e.record.Works() && !e.held {
		return
	}
	s.endTry(e, r)
	s.tell(e, streak.Question{Outcomes: []streak.Outcome{{Grant: r.grant, Began: r.began}}})
}

// tested tells that a test message, begun at a time, was acknowledged. Locked.
func (s *streaks) tested(url string, began time.Time) {
	if s.endpoints.byURL[url] == nil && s.served(channel.IDOf(url).Bucket()) != nil {
		return // it works
	}
	s.tell(s.endpoints.get(url), streak.Question{Outcomes: []streak.Outcome{{Tested: true, Began: began}}})
}

// failed tells that a request failed. Locked.
func (s *streaks) failed(e *endpoint, sub channel.Subscription, failure *CallError, r *request) {
	if failure.Class == ClassCanceled {
		return
	}
	e.rest, e.failed = time.Now().Add(restAfter), sub.ID
	s.endTry(e, r)
	outcome := streak.Outcome{
		Failed: &streak.Failure{Gone: failure.Class == ClassGone, Text: failure.Error(), RetryAfter: failure.RetryAfter},
		Grant:  r.grant, Began: r.began,
	}
	s.tell(e, streak.Question{Outcomes: []streak.Outcome{outcome}})
	if !s.endpoints.keeps(e) {
		e.held = true
		s.parkSoon(e)
	}
}

// endTry ends a try whose outcome another node is to be told. Locked.
func (s *streaks) endTry(e *endpoint, r *request) {
	if r.grant != 0 && r.grant == e.grant && !s.endpoints.keeps(e) {
		e.trying = false
	}
}

// unsent is called when a try made no request after all. A node alone goes on with what
// else waits. Locked.
func (s *streaks) unsent(e *endpoint, r *request) {
	if r.grant != 0 && r.grant == e.grant && e.trying {
		s.unused(e)
	}
}

// unused gives a grant back. Locked.
func (s *streaks) unused(e *endpoint) {
	if s.config.Ask == nil {
		return
	}
	e.trying = false
	s.parking.parkQueue(e)
	s.tell(e, streak.Question{Unused: e.grant})
	s.lookAt(e, time.Now().Add(streak.AgainBusy))
}

// awaits is called when something begins to wait for an endpoint: the step that is due, or was when
// nothing waited, is for it. Locked.
func (s *streaks) awaits(e *endpoint) {
	if next := e.record.NextAttempt; !next.IsZero() && !e.held && !e.trying {
		s.lookAt(e, latest(next, time.Now()))
	}
}

// exhausted is called when nothing was found for a try. A node alone knows then that no
// subscription has the URL any more. Locked.
func (s *streaks) exhausted(e *endpoint) {
	if s.config.Ask != nil {
		s.unused(e)
		return
	}
	e.trying = false
	s.forgetStreak(e)
	s.parking.refillSoon(e) // for what else is to be done before it is forgotten
}

// forgetStreak forgets all that this node keeps of an endpoint. Locked.
func (s *streaks) forgetStreak(e *endpoint) {
	e.kept.streak = streak.Streak{Record: channel.Endpoint{URL: e.url}}
	s.goBy(e, e.kept.streak.Record)
	s.plan(e)
}

// answer answers a deliverer, this one or another, as the endpoint's keeper. Locked.
func (s *streaks) answer(e *endpoint, q streak.Question) streak.Answer {
	now := time.Now()
	next, answer := e.kept.streak.Answer(q, now, rand.Uint64()|1, s.config.Timeout)
	e.kept.streak = next
	if q.Wants || len(q.Outcomes) > 0 {
		e.kept.asked = now
	}
	switch {
	case next.Record != e.record:
		e.trying = false
		s.goBy(e, next.Record)
		s.plan(e)
	case e.trying && !next.Granted(e.grant): // its request outlasted the grant: another one has it
		e.trying = false
		s.lookAt(e, now.Add(streak.AgainBusy))
	}
	return answer
}

// heard accepts what another node answers that keeps an endpoint. Locked.
func (s *streaks) heard(e *endpoint, answer streak.Answer) {
	e.known, e.held = true, false
	s.goBy(e, answer.Record)
	if answer.Record.Works() {
		s.queues.markReady(e)
		if len(e.parked) > 0 || e.overflow {
			s.parking.refillSoon(e)
		}
		s.endpoints.forget(e)
		return
	}
	s.lookAt(e, time.Now().Add(answer.Again))
	if answer.Grant != 0 {
		s.try(e, answer)
		return
	}
	s.parkSoon(e)
}

// goBy has deliveries go by a record of the endpoint from now on. Locked.
func (s *streaks) goBy(e *endpoint, record channel.Endpoint) {
	was := e.record
	if record == was {
		return
	}
	s.endpoints.set(e, record)
	s.logTurn(e, was)
	if record.Works() {
		e.trying = false
		s.parking.reopen(e)
	}
}

// logTurn logs that an endpoint has begun to fail, was given up, or works again. Locked.
func (s *streaks) logTurn(e *endpoint, was channel.Endpoint) {
	record := e.record
	switch {
	case record.Works() && !was.Works():
		s.log.Info("webhook endpoint works again", "host", logName(e), "state", was.State, "since", was.FailingSince)
	case !record.Works() && (was.Works() || record.State != was.State):
		attrs := []any{"host", logName(e), "subscription", e.failed, "state", record.State, "error", record.LastError}
		if !record.NextAttempt.IsZero() { // else it is not tried again
			attrs = append(attrs, "next_attempt", record.NextAttempt)
		}
		s.log.Warn("webhook endpoint fails", attrs...)
	}
}

// parkSoon parks what waits for an endpoint that does not work in a moment either, since
// lanes are for those that do. Locked.
func (s *streaks) parkSoon(e *endpoint) {
	s.later(time.Now().Add(batchDelay), func() {
		if !e.open() && !e.trying {
			s.parking.parkQueue(e)
		}
	})
}

// plan puts an endpoint that this node keeps on the agenda. Locked.
func (s *streaks) plan(e *endpoint) {
	record := e.record
	switch {
	case record.Works():
		s.lookAt(e, streak.Forgets(record))
	case record.State == channel.EndpointDisabled:
		s.lookAt(e, time.Time{})
	default:
		s.lookAt(e, record.NextAttempt)
	}
}

// lookAt puts an endpoint on the agenda at a time; zero: takes it off. Locked.
func (s *streaks) lookAt(e *endpoint, at time.Time) {
	if e.due = at; at.IsZero() {
		return
	}
	s.later(at, func() {
		if e.due.Equal(at) && s.endpoints.byURL[e.url] == e {
			e.due = time.Time{}
			s.look(e)
		}
	})
}

// look does what is due for an endpoint. Locked.
func (s *streaks) look(e *endpoint) {
	now := time.Now()
	switch keeps := s.endpoints.keeps(e); {
	case keeps && e.record.Works():
		s.forgetStreak(e) // LostUntil is over
	case keeps && (s.config.Ask == nil || e.waiting()):
		s.tryOwn(e)
	case keeps && now.Sub(latest(e.kept.asked, e.record.NextAttempt)) > streak.KeepLost:
		s.forgetStreak(e) // no deliverer has anything for it
	case keeps:
		s.lookAt(e, now.Add(streak.AgainAfter))
	case e.record.Works(), e.held:
	case e.trying, e.inFlight > 0:
		s.lookAt(e, now.Add(streak.AgainBusy))
	case e.waiting():
		s.tell(e, streak.Question{Wants: true})
	case !s.endpoints.drop(e):
		s.lookAt(e, now.Add(streak.AgainAfter))
	}
}

// tryOwn has this node, which keeps an endpoint, make the next try, unless another one
// does. Locked.
func (s *streaks) tryOwn(e *endpoint) {
	answer := s.answer(e, s.question(e, streak.Question{Wants: true}))
	if answer.Grant != 0 {
		s.try(e, answer)
		return
	}
	s.lookAt(e, time.Now().Add(answer.Again))
}

// try lets the request of a grant through. One that has not begun in time is given back,
// since the keeper gives another one soon. Locked.
func (s *streaks) try(e *endpoint, answer streak.Answer) {
	e.trying, e.grant, e.lost = true, answer.Grant, answer.LostUntil
	s.queues.markReady(e)
	s.parking.refill(e)
	if s.config.Ask == nil {
		return
	}
	s.later(time.Now().Add(streak.Start), func() {
		if e.trying && e.grant == answer.Grant && !e.tried {
			s.unused(e)
		}
	})
}

// logName returns the part of an endpoint's URL that may stand in a log: paths and
// queries carry secrets.
func logName(e *endpoint) string { return channel.Host(e.url) }
