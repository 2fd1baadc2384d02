package channel

import "time"

// SinkWebhook is the type of an acknowledged sink: its subscriptions have a
// position, and updates wait for them. Sinks of other types are cursor sinks.
const SinkWebhook = "webhook"

// Sink is where a subscription's updates go.
type Sink struct {
	Type   string // at most 64 bytes
	URL    string // at most [MaxURL] bytes
	Secret string // at most 1 KiB
}

// Subscription is one subscriber's wish for one channel.
type Subscription struct {
	ID          string // opaque: "sub_" and 13 characters
	Seq         uint64 // its place in the order of its bucket's subscriptions, from 1
	Channel     ID
	URL         string // the channel's
	Sink        Sink
	Created     time.Time // UTC, microseconds
	FromVersion uint64    // the first version it receives, at least 2
}
