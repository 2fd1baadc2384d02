package channel

import "time"

// The states of an endpoint.
const (
	EndpointActive    = ""          // works, or fails and is tried by the retry schedule
	EndpointSuspended = "suspended" // failed through the whole retry schedule
	EndpointDisabled  = "disabled"  // answered 410
)

// Endpoint is what is known of a webhook's URL. One that works has no record. Times
// are UTC in microseconds.
type Endpoint struct {
	URL          string
	State        string
	FailingSince time.Time // zero when it works
	Attempts     int       // steps of the retry schedule that are used up, and probes after them
	LastError    string    // at most 1 KiB
	NextAttempt  time.Time // zero when disabled
	LostUntil    time.Time // what was committed until then is not sent, but a gap: a suspension ended; zero: all is sent
}

// Works reports whether messages may go to the endpoint.
func (e Endpoint) Works() bool {
	e.LostUntil = time.Time{}
	return e.Healthy()
}

// Healthy reports whether there is nothing to remember about the endpoint.
func (e Endpoint) Healthy() bool { return e == Endpoint{URL: e.URL} }
