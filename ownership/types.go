package ownership

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// NewSubscription is a wish for a subscription.
type NewSubscription struct {
	URL     string     // canonical
	Channel channel.ID // of URL
	Sink    channel.Sink
	Key     string // idempotency key, empty for none; only its hash is kept
	Once    bool   // make none while the channel has one with the same sink; takes no Key
}

// SubscribeResult is the outcome of one [NewSubscription]: Err, or the
// subscription.
type SubscribeResult struct {
	channel.Subscription
	Existing bool // it was made before: by the key or, with Once, by any request
	Deleted  bool // the key had made it before, and it has been deleted since
	Err      error
}

// SubscriptionQuery selects a page of subscriptions.
type SubscriptionQuery struct {
	After   string      // the ID of the last one of the page before, empty for the first page
	Channel *channel.ID // only this channel's
	Limit   int         // at least 1
}

// Commit changes what the cluster holds to be a channel's content.
type Commit struct {
	Channel     channel.ID
	Incarnation uint64
	Base        uint64       // the version that it was judged against
	Version     uint64       // Base+1 for new content; Base to hold, rebase, or note that the origin has gone, is back or has moved
	Hash        [16]byte     // of the core content; zero keeps the current one
	Kind        uint8        // zero keeps the current one
	Judge       []byte       // the judge's new state; nil keeps the current one
	Held        bool         // by Judge, a candidate waits for another poll
	Hold        channel.Hold // of that candidate
	Forgotten   uint32       // [channel.Channel.Forgotten] of the channel that Judge was made from
	Seen        []uint64     // identities to remember, oldest first; the newest 4096 of all are kept
	Update      []byte       // what subscribers get: none for version 1 and where Version is Base
	Patch       []byte       // delta from Base to Version, may be nil
	At          time.Time
	Gone        bool           // to be said in every commit
	Moved       *channel.Moved // nil keeps what is known; the zero value forgets it
	Learned     []byte         // of how often the channel changes, opaque, at most 256 bytes; empty keeps what is known
}

// RangeStatus is a range as this node sees it.
type RangeStatus struct {
	ID       uint32
	From, To channel.Bucket // inclusive
	Leader   string         // node name, empty while there is none
	Replicas []string       // node names
	Term     uint64
	Applied  uint64 // index
}

// Observer is told of changes on the leader, those of one range in the order of its
// log, after they are visible to reads. It must not block, nor call Close. It is told
// everything of the ranges that this node leads, from their RangeGained on.
type Observer interface {
	// RangeGained says that this node leads a range and serves it: what was applied
	// before is in the state, what is applied from now on is told. Changes of the first
	// instant may be told before it.
	RangeGained(r channel.Range, term uint64)
	// RangeLost says that it does not lead the range any more that it gained in a term.
	RangeLost(r channel.Range, term uint64)

	// ChannelChanged comes first for each change: the channel was created, its
	// subscribers, version or state changed, or it ended.
	ChannelChanged(c channel.Channel, ended bool)
	Committed(u channel.Update)
	Subscribed(s channel.Subscription)
	Unsubscribed(s channel.Subscription)
}
