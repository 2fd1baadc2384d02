package api

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// SubscribeOutcome is a node's answer to one request: a subscription, or an
// error and no subscription.
type SubscribeOutcome struct {
	Subscription *Subscription
	Existing     bool // it was made before: by the request's key or, with Once, by any request
	Err          error
}

// SubscriptionQuery asks for a page of subscriptions.
type SubscriptionQuery struct {
	Channel *channel.ID // only those of this channel; nil: all
	After   string      // Next of the page before; empty: the first page
	Limit   int         // most subscriptions of the page, at least 1
}

// EventStream is a node's end of a stream. What it keeps in memory is bounded
// however slowly it is read.
type EventStream interface {
	// Next waits for the next event. It returns io.EOF when the node ends the
	// stream. It is called by one goroutine at a time.
	Next(ctx context.Context) (StreamEvent, error)
	Close()
}
