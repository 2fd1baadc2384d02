package notify

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// succeeded ends a streak: whatever was answered last, the endpoint answers now.
// While it wants to be left alone only a try ends it: what began before does not
// show that it can take more. Only a new subscription revives one that said 410.
// Locked.
func (w *webhooks) succeeded(e *endpoint, wasTry bool) {
	if e.record.Healthy() || e.record.State == channel.EndpointDisabled || !wasTry && time.Now().Before(e.asked) {
		return
	}
	w.revive(e)
}

// revive makes an endpoint work again. Only a suspension that is durable makes a
// gap of the backlog: after a crash, one that is not would never have been. Locked.
func (w *webhooks) revive(e *endpoint) {
	w.log.Info("webhook endpoint works again", "host", hostOf(e.url), "state", e.record.State, "since", e.record.FailingSince)
	if e.saved.State != channel.EndpointActive {
		e.lostUntil, e.told = time.Now(), 0
	}
	w.setRecord(e, channel.Endpoint{URL: e.url})
	e.trying, e.asked = false, time.Time{}
	w.markReady(e)
	w.refillSoon(e)
}

// failed notes a failed request. Requests that were under way when a streak began
// are no steps of it, but what they were asked for counts. Locked.
func (w *webhooks) failed(e *endpoint, sub channel.Subscription, failure *CallError, wasTry bool) {
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
		e.asked = now.Add(failure.RetryAfter)
	}
	if record == was {
		return
	}
	e.trying = false
	w.setRecord(e, record)
	w.schedule(e)
	w.tellFailure(e, was, sub)
}

// tellFailure logs that an endpoint has begun to fail, or was given up. Locked.
func (w *webhooks) tellFailure(e *endpoint, was channel.Endpoint, sub channel.Subscription) {
	record := e.record
	if !was.Healthy() && record.State == was.State {
		return
	}
	said := []any{"host", hostOf(e.url), "subscription", sub.ID, "state", record.State, "error", record.LastError}
	if !record.NextAttempt.IsZero() { // else it is not tried again
		said = append(said, "next_attempt", record.NextAttempt)
	}
	w.log.Warn("webhook endpoint fails", said...)
}

// setRecord changes an endpoint's state and has it saved. Locked.
func (w *webhooks) setRecord(e *endpoint, record channel.Endpoint) {
	was := e.record
	e.record = record
	w.mu.unsavedAt[e] = struct{}{}
	signal(w.unsavedEndpoints)
	w.countEndpoint(was, -1)
	w.countEndpoint(record, +1)
}

func (w *webhooks) countEndpoint(record channel.Endpoint, change float64) {
	state := record.State
	switch {
	case record.Healthy():
		return
	case state == channel.EndpointActive:
		state = "failing"
	}
	w.metrics.endpoints.WithLabelValues(state).Add(change)
}

// schedule puts the next attempt on the agenda. Locked.
func (w *webhooks) schedule(e *endpoint) {
	w.later(e.record.NextAttempt, w.tryFunc(e, e.record))
}

// tryFunc returns what lets one request through, if the record still stands then.
func (w *webhooks) tryFunc(e *endpoint, record channel.Endpoint) func() {
	return func() {
		if e.record != record || record.State == channel.EndpointDisabled {
			return
		}
		e.trying = true
		w.markReady(e)
		w.refill(e)
	}
}

// hostOf returns the part of a webhook's URL that may stand in a log: paths and
// queries carry secrets.
func hostOf(url string) string { return channel.Host(url) }
