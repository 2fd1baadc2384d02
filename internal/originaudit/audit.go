// Package originaudit is an origin that audits its pollers. It plays scripted
// behaviours on many hosts, the healthy ones and every row of what an origin may
// do to a reader; it logs each request; and it finds in the log what a publisher
// would ban a reader for.
//
// [Audit] is a pure function over a log and a [Policy]: no clock, no network, and
// no code shared with the poller that it audits. [Origin] is the thin server that
// writes such logs.
package originaudit

import (
	"fmt"
	"slices"
	"time"
)

// Policy is what a reader has promised, and what an origin expects of every
// reader. A duration of zero is not judged.
type Policy struct {
	Interval time.Duration // τ: how often a plain feed reader would ask for a URL
	Floor    time.Duration // shortest time between two requests of a URL
	Gap      time.Duration // shortest time between two requests to a host
	Parallel int           // requests to a host at a time; 0: not judged
	Contact  string        // must stand in every User-Agent

	// MovedFor is how long a permanent redirect may hold before the reader must ask
	// its target alone.
	MovedFor time.Duration

	// Published says which URLs a reader can know; those that redirects lead to are
	// published by themselves. nil: every URL.
	Published func(url string) bool

	// Slack is how far the times that the origin notes may be from the reader's own:
	// a request that was under way within it breaks no rule.
	Slack time.Duration

	// Kills are the instants at which the reader's process was killed, Starts those
	// at which one began. What was answered less than Settle before a kill may be
	// lost to the reader: it may ask with what it had before, or with nothing.
	Kills, Starts []time.Time
	Settle        time.Duration
}

// Kind is a rule that was broken.
type Kind string

// What a request by itself can do wrong.
const (
	Method        Kind = "method"         // HEAD, or anything but GET
	Protocol      Kind = "protocol"       // not HTTP/1.1, or a Host that is not the one asked
	Agent         Kind = "user-agent"     // not product/version with a contact, or a library's or browser's
	Encoding      Kind = "encoding"       // gzip is not accepted
	Cookie        Kind = "cookie"         // cookies
	Referer       Kind = "referer"        // tells where it comes from
	NeedlessField Kind = "needless-field" // a field that no feed reader needs
	Unpublished   Kind = "unpublished"    // a URL that was guessed or altered
)

// What is wrong with validators, which are opaque and one pair (RFC 9110, section
// 13.1): what the latest 200 gave comes back byte for byte, or it is one of these.
const (
	Unconditional Kind = "unconditional" // none, although some were given
	Invented      Kind = "invented"      // some, although none were given
	HalfPair      Kind = "half-pair"     // one of two
	MixedPair     Kind = "mixed-pair"    // of two different answers
	Stale         Kind = "stale"         // of an answer before the latest
	Altered       Kind = "altered"       // not what was given
)

// What comes at the wrong time.
const (
	Floor      Kind = "floor"      // a URL too soon after the last time
	Gap        Kind = "gap"        // a host too soon after the last time
	Parallel   Kind = "parallel"   // too many at a host at once
	Resting    Kind = "resting"    // while Retry-After, or a 429 without it, says to wait
	Fresh      Kind = "fresh"      // while Cache-Control or Expires calls the last answer fresh
	Period     Kind = "period"     // sooner than the feed's ttl or update period
	Skip       Kind = "skip"       // in its skipHours or skipDays
	Gone       Kind = "gone"       // after 410
	Moved      Kind = "moved"      // a permanent redirect that was never learned
	Unrelieved Kind = "unrelieved" // a failing URL is asked as often as ever
	Stampede   Kind = "stampede"   // a start that asks for everything at once
)

// Kinds are all rules.
var Kinds = [...]Kind{
	Method, Protocol, Agent, Encoding, Cookie, Referer, NeedlessField, Unpublished,
	Unconditional, Invented, HalfPair, MixedPair, Stale, Altered,
	Floor, Gap, Parallel, Resting, Fresh, Period, Skip, Gone, Moved, Unrelieved, Stampede,
}

// Violation is a rule that one request broke.
type Violation struct {
	Kind   Kind      `json:"kind"`
	URL    string    `json:"url"`
	At     time.Time `json:"at"` // when the request arrived
	Detail string    `json:"detail"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s %s: %s", v.At.Format("15:04:05.000"), v.Kind, v.URL, v.Detail)
}

// Audit returns what a log holds against its reader, in the order of time. It does
// not change the log, whose order does not matter.
func Audit(log Log, policy Policy) []Violation {
	t := newTrial(policy)
	for _, event := range timeline(log) {
		if event.answer {
			t.learn(event.exchange)
		} else {
			t.hear(event.exchange)
		}
	}
	found := append(t.found, stampedes(log, policy)...)
	slices.SortStableFunc(found, func(a, b Violation) int { return a.At.Compare(b.At) })
	return found
}

// event is one end of an exchange: the request's arrival, or its answer.
type event struct {
	at       time.Time
	answer   bool
	exchange *Exchange
}

// timeline returns the log's events in order. An exchange that has not ended has
// no answer.
func timeline(log Log) []event {
	events := make([]event, 0, 2*len(log))
	for i := range log {
		e := &log[i]
		events = append(events, event{e.Arrived, false, e})
		if !e.Answered.IsZero() {
			events = append(events, event{e.Answered, true, e})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	return events
}
