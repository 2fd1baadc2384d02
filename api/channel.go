package api

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Channel is what the node knows of one channel.
type Channel struct {
	ID              channel.ID `json:"id"`
	URL             string     `json:"url"`
	Subscribers     uint64     `json:"subscribers"`
	Version         uint64     `json:"version"` // 0 until the first content is committed
	Kind            string     `json:"kind"`
	SizeBytes       int64      `json:"size_bytes"`        // expected bytes of a poll
	UpdateIntervalS float64    `json:"update_interval_s"` // estimated
	Rate            float64    `json:"rate"`              // polls per interval by the whole system
	PollIntervalS   float64    `json:"poll_interval_s"`   // between two polls; 0: it is not polled
	Width           int        `json:"width"`             // pollers
	Owner           string     `json:"owner"`
	Pollers         []string   `json:"pollers"`
	SilentPollers   []string   `json:"silent_pollers,omitempty"` // those of Pollers that do not say what they know
	LastPoll        *time.Time `json:"last_poll"`
	LastChange      *time.Time `json:"last_change"`
	LastStatus      int        `json:"last_status"` // HTTP status, 0 when there was none
	LastError       string     `json:"last_error"`
	Failures        int        `json:"failures"`                // in a row
	FailingSince    *time.Time `json:"failing_since,omitempty"` // when the first of them began; nil: not known, or none
	NextPoll        *time.Time `json:"next_poll"`
	Gone            bool       `json:"gone,omitempty"`     // the origin answered 410
	FeedURL         string     `json:"feed_url,omitempty"` // the feed that an HTML page names

	Bounds  []Bound      `json:"bounds"`  // what the origin asks for, the longest first; empty, not nil
	Waiting *Waiting     `json:"waiting"` // nil: for nothing but its next poll
	Host    *ChannelHost `json:"host"`    // nil: this node does not poll the channel

	FinalURL     string     `json:"final_url,omitempty"`     // where redirects ended, when elsewhere than at URL
	MovedTo      string     `json:"moved_to,omitempty"`      // where URL redirects for good: 301 or 308
	MovedSince   *time.Time `json:"moved_since,omitempty"`   // it has done so without a break
	MovedLearned bool       `json:"moved_learned,omitempty"` // polls ask MovedTo instead of URL
	SameAs       channel.ID `json:"same_as,omitzero"`        // another channel that ends at the same URL

	Held *Held `json:"held,omitempty"` // nil: polls show nothing that waits to be told
}

// Held is what polls have shown of a channel that is told only when they go on to
// show it.
type Held struct {
	Since time.Time `json:"since"` // when the first of these polls began
	What  string    `json:"what"`  // a phrase for people
}

// Channels is a page of channels. Next is empty on the last page.
type Channels struct {
	Channels []Channel `json:"channels"`
	Next     string    `json:"next,omitempty"`
}

// The sources of a bound: header fields of a response, and elements of a feed.
const (
	BoundMaxAge       = "max-age"       // Cache-Control (RFC 9111, 5.2.2.1)
	BoundExpires      = "expires"       // RFC 9111, 5.3
	BoundTTL          = "ttl"           // RSS 2.0
	BoundUpdatePeriod = "update-period" // sy:updatePeriod over sy:updateFrequency
	BoundSkipHours    = "skip-hours"    // RSS: hours of the day, UTC, to leave out
	BoundSkipDays     = "skip-days"     // RSS: days of the week, UTC, to leave out
)

// Bound is something that the origin said on how often it wants to be asked.
type Bound struct {
	Source    string  `json:"source"`
	IntervalS float64 `json:"interval_s"` // the shortest time between two polls, as applied; of skip-…, the longest without one
	Clamped   bool    `json:"clamped"`    // more was said than is followed
	Said      string  `json:"said"`       // a duration, hours or weekdays
}

// What a channel waits for before its next poll, beyond its rate.
const (
	WaitFailures   = "failures"    // back-off after failed polls
	WaitRetryAfter = "retry-after" // the origin named a time, for this channel
	WaitHost       = "host"        // its host rests after a refusal
	WaitFreshness  = "freshness"   // what it has is fresh, the origin said
	WaitSkip       = "skip"        // an hour or a day that the feed leaves out
)

// Waiting says why a channel is not polled, although its rate would have it.
type Waiting struct {
	For    string     `json:"for"`
	Until  *time.Time `json:"until"`  // nil: not known
	Detail string     `json:"detail"` // a phrase for people; may be empty
}

// Who rests when an origin asks for it (429 or 503 with Retry-After, or what
// means them).
const (
	ScopeHost    = "host"    // the whole host
	ScopeChannel = "channel" // this channel alone
)

// ChannelHost is how the host that a channel's polls really ask is treated.
type ChannelHost struct {
	Name         string     `json:"name"`          // with port
	GapS         float64    `json:"gap_s"`         // least time between two requests
	Parallel     int        `json:"parallel"`      // requests at a time, at most
	RestingUntil *time.Time `json:"resting_until"` // nil: nothing rests
	Scope        string     `json:"scope"`         // what rests: the host, or this channel; empty: nothing
	Refusals     int        `json:"refusals"`      // by the host, in a row
}
