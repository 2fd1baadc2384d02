// Package api holds the JSON that Corona's HTTP interface speaks: the types that
// the server writes and that clients, sinks and tools read.
//
// Names, units and shapes are promises to users: docs/contract.md has the text,
// and the golden files of this package hold the bytes. Times are UTC and written
// in RFC 3339; fields that end in _s are seconds, in _ms milliseconds, in _bytes
// bytes.
package api

import (
	"encoding/json"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// The types of sink.
const (
	SinkSSE     = "sse"     // a cursor sink: the client reads GET /v1/updates
	SinkWebhook = "webhook" // an acknowledged sink: the node POSTs to URL
)

// Sink is where a subscription's updates go.
type Sink struct {
	Type   string `json:"type"`
	URL    string `json:"url,omitempty"`    // of a webhook
	Secret string `json:"secret,omitempty"` // "whsec_" and base64; taken, never returned
}

// SubscribeRequest is the body of POST /v1/subscriptions, and a line of
// POST /v1/subscriptions:batch.
type SubscribeRequest struct {
	URL  string `json:"url"`
	Sink Sink   `json:"sink"`
	Key  string `json:"key,omitempty"`  // a batch line's idempotency key
	Once bool   `json:"once,omitempty"` // make none while there is one of the same URL and sink; takes no Key
}

// The states of a subscription.
const (
	StateActive    = "active"
	StateSuspended = "suspended" // the endpoint failed through the whole retry schedule; one probe a day
	StateDisabled  = "disabled"  // the endpoint answered 410
	StateDeleted   = "deleted"   // it is there no more: only in the answer to a key that had made it
)

// Subscription is one subscriber's wish for one channel.
type Subscription struct {
	ID               string     `json:"id"`
	Channel          channel.ID `json:"channel"`
	URL              string     `json:"url"`
	Sink             Sink       `json:"sink"`
	Created          time.Time  `json:"created"`
	FromVersion      uint64     `json:"from_version"` // the first version it receives
	State            string     `json:"state"`
	DeliveredVersion uint64     `json:"delivered_version"` // 0 until something was delivered, and for cursor sinks
	LastError        string     `json:"last_error"`
	FailingSince     *time.Time `json:"failing_since"`
}

// Subscriptions is a page of subscriptions. Next is empty on the last page.
type Subscriptions struct {
	Subscriptions []Subscription `json:"subscriptions"`
	Next          string         `json:"next,omitempty"`
}

// BatchResult is a line of the answer of POST /v1/subscriptions:batch: a
// subscription, or an error and no subscription.
type BatchResult struct {
	*Subscription
	Existing bool     `json:"existing,omitempty"` // it was made before: by the line's key or, with once, by any request
	Error    *Problem `json:"error,omitempty"`
}

// Update is one new version of a channel, readable by itself.
type Update struct {
	Channel    channel.ID     `json:"channel"`
	URL        string         `json:"url"`
	Version    uint64         `json:"version"`
	Previous   uint64         `json:"previous"` // the version that Diff starts from
	DetectedAt time.Time      `json:"detected_at"`
	Kind       string         `json:"kind"`
	DeltaBytes int            `json:"delta_bytes"`
	Truncated  bool           `json:"truncated"` // Diff was cut at 64 KiB
	Entries    deltas.Entries `json:"entries"`
	Diff       string         `json:"diff"`

	// Masked is what of the content noise hid when this was told: at most 12 places, of
	// 2 KiB; absent when there is none.
	Masked []deltas.Mask `json:"masked,omitempty"`
}

// Gap says that the versions From to To of a channel will not be delivered.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Updates is the answer of GET /v1/channels/{id}/updates.
type Updates struct {
	Updates []Update `json:"updates"`
	Gap     *Gap     `json:"gap,omitempty"`
}

// The types of event on the stream GET /v1/updates.
const (
	StreamUpdate = "update" // data: an Update
	StreamGap    = "gap"    // data: a ChannelGap
	StreamGone   = "gone"   // data: a ChannelGone
	StreamReset  = "reset"  // the cursor is too old or of another cluster; data: {}
)

// StreamEvent is one event of the stream GET /v1/updates. ID is the cursor to
// send as Last-Event-ID to go on after it; empty when the event moves no cursor.
type StreamEvent struct {
	Type string          `json:"type"`
	ID   string          `json:"id,omitempty"`
	Data json.RawMessage `json:"data"` // as Type says
}

// The types of webhook message.
const (
	MessageUpdated = "channel.updated"
	MessageGap     = "channel.gap"
	MessageGone    = "channel.gone"
	MessageTest    = "subscription.test"
)

// Message is the body of a webhook, as Standard Webhooks has it. Data is an
// [UpdateData], [ChannelGap], [ChannelGone] or [TestData], as Type says.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// UpdateData is the data of a channel.updated message.
type UpdateData struct {
	Subscription string `json:"subscription"`
	Update
}

// ChannelGap is the data of a channel.gap message and of a stream's gap event.
type ChannelGap struct {
	Subscription string     `json:"subscription,omitempty"`
	Channel      channel.ID `json:"channel"`
	From         uint64     `json:"from"`
	To           uint64     `json:"to"`
	Reason       string     `json:"reason"`
}

// ChannelGone is the data of a channel.gone message and of a stream's gone event.
type ChannelGone struct {
	Subscription string     `json:"subscription,omitempty"`
	Channel      channel.ID `json:"channel"`
	URL          string     `json:"url"`
	Reason       string     `json:"reason"`
}

// TestData is the data of a subscription.test message.
type TestData struct {
	Subscription string     `json:"subscription"`
	Channel      channel.ID `json:"channel"`
	URL          string     `json:"url"`
}
