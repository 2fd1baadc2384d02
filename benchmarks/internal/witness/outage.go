package witness

import (
	"fmt"
	"net/http"
	"time"
)

// Outage is a time in which a webhook endpoint that several subscriptions share failed.
type Outage struct {
	Endpoint string // the last element of its path
	Answer   int    // the status of its answers; 0: none, connections end without one
	From, To Instant
	// Revived is when the subscription was acknowledged that ends an outage of 410.
	Revived Instant
}

func (o *Outage) String() string {
	answer := fmt.Sprint(o.Answer)
	if o.Answer == 0 {
		answer = "nothing"
	}
	return fmt.Sprintf("outage of %s, which answered %s from %s to %s", o.Endpoint, answer, o.From.Round(time.Millisecond), o.To.Round(time.Millisecond))
}

// gaveUp reports whether the outage has the endpoint given up, so that what it missed is a
// gap.
func (o *Outage) gaveUp() bool { return o.Answer == http.StatusGone }

// Process is the beginning of a node's process, beside its first one.
type Process struct {
	At   Instant
	From string // the address of the node
}

// retryAfter is what an outage of 503 asks for, in seconds: longer than the schedule's
// second step.
const retryAfter = "7"

// Fail begins an outage: the endpoint answers so from now on.
func (s *Sink) Fail(endpoint string, answer int) *Outage {
	o := &Outage{Endpoint: endpoint, Answer: answer, From: s.recorder.Now()}
	s.recorder.With(func(h *History) { h.Outages = append(h.Outages, o) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.outages[endpoint] = o
	return o
}

// Recover ends an outage: the endpoint answers 200 again.
func (s *Sink) Recover(o *Outage) {
	s.mu.Lock()
	delete(s.mu.outages, o.Endpoint)
	s.mu.Unlock()
	s.recorder.With(func(*History) { o.To = s.recorder.Now() })
}

// outage returns what an endpoint suffers from; nil: nothing.
func (s *Sink) outage(endpoint string) *Outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.outages[endpoint]
}

// refuse answers as an endpoint in an outage.
func (o *Outage) refuse(w http.ResponseWriter) {
	if o.Answer == 0 {
		panic(http.ErrAbortHandler) // ends the connection
	}
	if o.Answer == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(o.Answer)
}
