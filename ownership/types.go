package ownership

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

type (
	// NewSubscription is a wish for a subscription.
	NewSubscription = state.NewSubscription
	// SubscriptionQuery selects a page of subscriptions.
	SubscriptionQuery = state.SubscriptionQuery
	// Commit changes what the cluster holds to be a channel's content.
	Commit = state.Commit
)

// SubscribeResult is the outcome of one [NewSubscription]: Err, or the
// subscription.
type SubscribeResult struct {
	channel.Subscription
	Existing bool // it was made before: by the key or, with Once, by any request
	Deleted  bool // the key had made it before, and it has been deleted since
	Err      error
}

// RangeStatus is a range as this node sees it.
type RangeStatus struct {
	ID       uint32
	From, To channel.Bucket // inclusive
	Leader   string         // node name, empty while there is none
	Replicas []string       // names of nodes whose replicas vote
	Term     uint64
	Applied  uint64 // index
}

// Observer is told of changes on the leader, those of one range in the order of its
// log, after they are visible to reads. It must not block, nor call Close. It is told
// everything of the ranges that this node leads, from their RangeGained on.
type Observer interface {
	// RangeGained says that this node leads a range and serves it: what was applied
	// before is in the state, what is applied from now on is told. Changes of the first
	// instant may be told before it. A range to which a backup is being restored is lost,
	// and gained once it has all of that.
	RangeGained(r channel.Range, term uint64)
	// RangeLost says that it does not lead the range any more that it gained in a term.
	RangeLost(r channel.Range, term uint64)

	// ChannelChanged comes first for each change: the channel was created, its
	// subscribers, version or state changed, or it ended.
	ChannelChanged(c channel.Channel, ended bool)
	// Committed tells of a new update, or the notice that a channel is gone, and how many of
	// the channel's subscriptions are webhooks.
	Committed(u channel.Update, webhooks uint64)
	Subscribed(s channel.Subscription)
	Unsubscribed(s channel.Subscription)
}
