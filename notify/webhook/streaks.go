package webhook

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// streaks follows each endpoint's streak of failures by the retry schedule: it
// changes the endpoint's record with each answer, and lets tries through when they
// are due.
type streaks struct {
	*core
	endpoints *endpoints
	queues    *queues
	parking   *parking
}

// load restores the streaks that the store has of a range. It retries until the store
// answers or the range is lost; false when the deliverer stops before.
func (s *streaks) load(ctx context.Context, t *tenure) bool {
	for {
		records, err := s.store.EndpointsIn(t.Range)
		if err == nil {
			s.adopt(t, records)
			return true
		}
		s.metrics.StoreFailed("endpoints")
		s.log.Warn("store read failed, delivery waits", "error", err)
		pause(ctx, retryStore)
		if ctx.Err() != nil {
			return false
		}
		if !s.holds(t) {
			return true
		}
	}
}

// adopt restores the streaks of a range, unless it was lost meanwhile. The store's
// record replaces what this node has seen of an endpoint: a suspension in it may have
// made gaps, and what a gap declared lost must not be delivered. A streak that the
// store has no record of goes on.
func (s *streaks) adopt(t *tenure, records []channel.Endpoint) {
	s.Lock()
	defer s.Unlock()
	if t.over {
		return
	}
	for _, record := range records {
		e := s.endpoints.byURL[record.URL]
		if e == nil {
			e = s.endpoints.add(record)
		} else {
			s.endpoints.restore(e, record)
			e.trying = false
			s.parking.parkQueue(e)
		}
		s.schedule(e)
	}
}

// endpointOf returns the endpoint of a subscription. One that was disabled before
// the subscription was made works again: the hook that announced the subscription may
// have been lost in a crash. Locked.
func (s *streaks) endpointOf(sub channel.Subscription) *endpoint {
	e := s.endpoints.byURL[sub.Sink.URL]
	if e == nil {
		e = s.endpoints.add(channel.Endpoint{URL: sub.Sink.URL})
	}
	if e.record.State == channel.EndpointDisabled && sub.Created.After(e.record.FailingSince) {
		s.revive(e)
	}
	return e
}

// subscribed revives the endpoint of a new subscription, if it is disabled. Locked.
func (s *streaks) subscribed(sub channel.Subscription) {
	if e := s.endpoints.byURL[sub.Sink.URL]; e != nil && e.record.State == channel.EndpointDisabled {
		s.revive(e)
	}
}

// succeeded ends a streak. Until a Retry-After has passed only a try ends it: a
// request that began earlier does not show that the endpoint accepts more. Only a new
// subscription revives an endpoint that answered 410. Locked.
func (s *streaks) succeeded(e *endpoint, wasTry bool) {
	if e.record.Healthy() || e.record.State == channel.EndpointDisabled || !wasTry && time.Now().Before(e.waits) {
		return
	}
	s.revive(e)
}

// revive makes an endpoint work again. Only a durable suspension turns the backlog
// into gaps: one that is not durable would be forgotten by a crash. Locked.
func (s *streaks) revive(e *endpoint) {
	s.log.Info("webhook endpoint works again", "host", logName(e), "state", e.record.State, "since", e.record.FailingSince)
	if e.saved.State != channel.EndpointActive {
		e.lostUntil, e.gapBatch = time.Now(), 0
	}
	s.endpoints.set(e, channel.Endpoint{URL: e.url})
	e.trying, e.waits = false, time.Time{}
	s.queues.markReady(e)
	s.parking.refillSoon(e)
}

// failed notes a failed request. Requests that were under way when a streak began
// are no steps of it, but their Retry-After counts. Locked.
func (s *streaks) failed(e *endpoint, sub channel.Subscription, failure *CallError, wasTry bool) {
	if failure.Class == ClassCanceled {
		return
	}
	now, was := time.Now(), e.record
	e.rest = now.Add(restAfter)
	record := was
	switch {
	case was.State == channel.EndpointDisabled:
		return
	case failure.Class == ClassGone:
		record = disabled(was, now, failure.Error())
	case wasTry || was.Healthy():
		record = failed(was, now, failure.Error())
	}
	record = postponed(record, now, failure.RetryAfter)
	if failure.RetryAfter > 0 {
		e.waits = now.Add(failure.RetryAfter)
	}
	if record == was {
		return
	}
	e.trying = false
	s.endpoints.set(e, record)
	s.schedule(e)
	s.logFailure(e, was, sub)
}

// logFailure logs that an endpoint has begun to fail, or was given up. Locked.
func (s *streaks) logFailure(e *endpoint, was channel.Endpoint, sub channel.Subscription) {
	record := e.record
	if !was.Healthy() && record.State == was.State {
		return
	}
	attrs := []any{"host", logName(e), "subscription", sub.ID, "state", record.State, "error", record.LastError}
	if !record.NextAttempt.IsZero() { // else it is not tried again
		attrs = append(attrs, "next_attempt", record.NextAttempt)
	}
	s.log.Warn("webhook endpoint fails", attrs...)
}

// schedule puts the next attempt on the agenda. It lets one request through, if the
// record still stands then. Locked.
func (s *streaks) schedule(e *endpoint) {
	record := e.record
	s.later(record.NextAttempt, func() {
		if e.record != record || record.State == channel.EndpointDisabled {
			return
		}
		e.trying = true
		s.queues.markReady(e)
		s.parking.refill(e)
	})
}

// logName returns the part of an endpoint's URL that may stand in a log: paths and
// queries carry secrets.
func logName(e *endpoint) string { return channel.Host(e.url) }
