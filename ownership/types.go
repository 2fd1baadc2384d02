package ownership

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// SinkWebhook is the type of an acknowledged sink: its subscriptions have a
// position, and updates wait for them. Sinks of other types are cursor sinks.
const SinkWebhook = "webhook"

// Sink is where a subscription's updates go.
type Sink struct {
	Type   string // at most 64 bytes
	URL    string // at most [channel.MaxURL] bytes
	Secret string // at most 1 KiB
}

// NewSubscription is a wish for a subscription.
type NewSubscription struct {
	URL     string     // canonical
	Channel channel.ID // of URL
	Sink    Sink
	Key     string // idempotency key, empty for none; only its hash is kept
	Once    bool   // make none while the channel has one with the same sink; takes no Key
}

// Subscription is one subscriber's wish for one channel.
type Subscription struct {
	ID          string // opaque: "sub_" and 13 characters
	Seq         uint64 // its place in the order of its bucket's subscriptions, from 1
	Channel     channel.ID
	URL         string // the channel's
	Sink        Sink
	Created     time.Time // UTC, microseconds
	FromVersion uint64    // the first version it receives, at least 2
}

// SubscribeResult is the outcome of one [NewSubscription]: Err, or the
// subscription.
type SubscribeResult struct {
	Subscription
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

// Channel is the replicated record of a channel. Times are UTC in microseconds;
// the zero time stands for never.
type Channel struct {
	ID           channel.ID
	URL          string
	Incarnation  uint64   // never given twice within a bucket
	Version      uint64   // 0 until the first content is committed
	Hash         [16]byte // of the current core content
	Kind         uint8    // of document, as the difference engine numbers them
	Subscribers  uint64
	Webhooks     uint64 // those of Subscribers with an acknowledged sink
	Created      time.Time
	FirstContent time.Time // when version 1 was seen
	LastChange   time.Time // when the newest version after it was seen
	EmptiedAt    time.Time // when the last subscriber left, zero while there are any
	Judge        []byte    // state of the judge: only [Store.Channel] fills it
	Held         bool      // by that state, a candidate waits for another poll
	Gone         bool      // the origin answered 410
	GoneStamp    uint64    // of the notice of it, 0 while it is not gone
	Moved        Moved     // where its URL redirects for good
	Learned      []byte    // of how often it changes, as the owner writes it; nil: nothing; not to be written to
	Oldest       uint64    // the oldest version whose update is kept, 0 while there is none
	TrimmedStamp uint64    // of the newest update that is no longer kept, 0 while all are
}

// Moved is a permanent redirect (RFC 9110, 15.4.2 and 15.4.9) of a channel's
// URL, the zero value none. The channel keeps its URL and ID.
type Moved struct {
	To      string    // the last permanent target, canonical, at most [channel.MaxURL] bytes
	Since   time.Time // it has led there without a break; UTC, microseconds; zero: it is doubted, and not to be learned
	Learned bool      // polls ask To instead of the channel's URL
}

// Commit changes what the cluster holds to be a channel's content.
type Commit struct {
	Channel     channel.ID
	Incarnation uint64
	Base        uint64   // the version that it was judged against
	Version     uint64   // Base+1 for new content; Base to hold, rebase, or note that the origin has gone, is back or has moved
	Hash        [16]byte // of the core content; zero keeps the current one
	Kind        uint8    // zero keeps the current one
	Judge       []byte   // the judge's new state; nil keeps the current one
	Held        bool     // by Judge, a candidate waits for another poll
	Seen        []uint64 // identities to remember, oldest first; the newest 4096 of all are kept
	Update      []byte   // what subscribers get: none for version 1 and where Version is Base
	Patch       []byte   // delta for those who hold Base, may be nil
	At          time.Time
	Gone        bool   // to be said in every commit
	Moved       *Moved // nil keeps what is known; the zero value forgets it
	Learned     []byte // of how often the channel changes, opaque, at most 256 bytes; empty keeps what is known
}

// Update is a committed update; or, with Gone, the notice that the origin said
// after Version that it is gone: that has a stamp of its own and no data, and is
// found by [Store.UpdatesSince] alone. Data and Patch belong to the caller.
type Update struct {
	Channel     channel.ID
	URL         string
	Incarnation uint64
	Version     uint64
	Stamp       uint64 // place in the bucket's order of updates; close to microseconds since 1970
	At          time.Time
	Data        []byte
	Patch       []byte
	Gone        bool
}

// Gap says that the updates of the versions From to To are no longer kept.
type Gap struct{ From, To uint64 }

// Cursor is a place in the order of all updates: by stamp, then bucket.
type Cursor struct {
	Stamp  uint64
	Bucket channel.Bucket
}

// Cursor returns the update's own place.
func (u Update) Cursor() Cursor { return Cursor{Stamp: u.Stamp, Bucket: u.Channel.Bucket()} }

// Progress is how far a channel's acknowledged deliveries are: every webhook
// subscription with a sequence number up to Seq has Version, all others have
// Version−1, but for the stragglers. Versions before a subscription's first
// count as had. Version is at least 1.
type Progress struct {
	Channel     channel.ID
	Incarnation uint64
	Version     uint64
	Seq         uint64
	Stragglers  []Straggler // in Advance: those to set
}

// Straggler is a subscription that is behind its channel's progress: Next is the
// version that it needs next; in [Store.Advance] 0 says that it has caught up.
type Straggler struct{ Seq, Next uint64 }

// The states of an endpoint.
const (
	EndpointHealthy   = ""
	EndpointSuspended = "suspended" // failed through the whole retry schedule
	EndpointDisabled  = "disabled"  // answered 410
)

// Endpoint is what is known of a sink URL. Without failures it has no record.
type Endpoint struct {
	URL          string
	State        string
	FailingSince time.Time // zero when it works
	Attempts     int       // failed in a row
	LastError    string    // at most 1 KiB
	NextAttempt  time.Time
}

// Healthy says that there is nothing to remember about the endpoint.
func (e Endpoint) Healthy() bool {
	return e.State == EndpointHealthy && e.FailingSince.IsZero() && e.Attempts == 0
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

// Observer learns of changes on the leader, one range's in the order of its log,
// after they are visible to reads. It must not block, nor call Close. What was
// applied before [Open] returns is not told.
type Observer interface {
	// ChannelChanged comes first for each change: the channel was created, its
	// subscribers, version or state changed, or it ended.
	ChannelChanged(c Channel, ended bool)
	Committed(u Update)
	Subscribed(s Subscription)
	Unsubscribed(s Subscription)
}
