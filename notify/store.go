package notify

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Store is the replicated state that delivery reads, and commits its positions to.
// It is safe for concurrent use. Reads see everything that a hook has told of.
type Store interface {
	// Channel returns [ErrNotFound] for a channel that does not exist.
	Channel(id channel.ID) (Channel, error)
	// Channels returns at most limit channels in the order of their IDs,
	// beginning behind after; nil is the beginning. Fewer than limit only at
	// the end.
	Channels(after *channel.ID, limit int) ([]Channel, error)

	// Subscription returns one subscription of any kind of sink, or [ErrNotFound].
	Subscription(id string) (Subscriber, error)
	// Webhooks returns at most limit webhook subscriptions of a channel with Seq
	// above after, in that order. Fewer than limit only at the end.
	Webhooks(id channel.ID, after uint64, limit int) ([]Subscriber, error)

	// Updates returns at most limit updates of a channel with versions above
	// after, the oldest first. The gap, if not nil, begins at after+1 and ends
	// before the first of them: what lies there is no longer kept.
	Updates(id channel.ID, after uint64, limit int) ([]Update, *Gap, error)
	// UpdatesSince returns at most limit updates of all channels behind a cursor,
	// in the order of their cursors, up to [Store.Closed]; [ErrTooOld] when some
	// of them are no longer kept. Fewer than limit only at the end.
	UpdatesSince(after Cursor, limit int) ([]Update, error)
	// Closed is the stamp up to which nothing can be committed any more.
	Closed() uint64

	// Progress returns a channel's position with all its stragglers.
	Progress(id channel.ID) (Progress, error)
	// Advance commits positions. Stragglers holds those that changed; Next 0 says
	// that one has caught up. The position of a channel or incarnation that does
	// not exist is ignored. A subscription's straggler ends with it.
	Advance(ctx context.Context, positions []Progress) error

	// Endpoints returns every endpoint that is not healthy.
	Endpoints() ([]Endpoint, error)
	SetEndpoint(ctx context.Context, endpoint Endpoint) error
}

var (
	// ErrNotFound says that a channel or subscription does not exist.
	ErrNotFound = errors.New("not found")
	// ErrTooOld says that updates behind a cursor are no longer kept.
	ErrTooOld = errors.New("cursor older than what is kept")
	// ErrCursor says that a text is no cursor of a stream.
	ErrCursor = errors.New("not a cursor")
)

// Channel is what delivery needs to know of a channel.
type Channel struct {
	ID          channel.ID
	URL         string
	Incarnation uint64
	Version     uint64
	Webhooks    uint64 // subscriptions with a webhook
	Gone        bool   // the origin answered 410
	GoneStamp   uint64 // of the notice of it in the order of updates; 0 while it is not gone
	Oldest      uint64 // the oldest version whose update is kept, 0 while there is none
	Trimmed     uint64 // stamp of the newest update that is no longer kept, 0 while all are
}

// Subscriber is a subscription as delivery sees it.
type Subscriber struct {
	ID          string
	Seq         uint64 // its place in the order of subscriptions, from 1, below 2^63
	Channel     channel.ID
	URL         string // the channel's
	Sink        string // the webhook's URL, empty for a cursor sink
	Secret      string // "whsec_" and base64, or empty: unsigned
	Created     time.Time
	FromVersion uint64 // the first version it gets
}

// Update is a committed update, or, with Gone set, the notice that the channel is
// gone after Version, which has a place of its own in the order of cursors and
// comes from [Store.UpdatesSince] alone.
type Update struct {
	Channel     channel.ID
	URL         string
	Incarnation uint64
	Version     uint64
	Stamp       uint64
	At          time.Time
	Data        []byte // for [deltas.DecodeUpdate]
	Gone        bool
}

// Cursor returns the update's place in the order of all updates.
func (u Update) Cursor() Cursor { return Cursor{Stamp: u.Stamp, Bucket: u.Channel.Bucket()} }

// Gap says that the updates From to To are no longer kept.
type Gap struct{ From, To uint64 }

// Straggler is a subscription that is not where its channel's progress says. Next
// is the version that it gets next.
type Straggler struct{ Seq, Next uint64 }

// The states of an endpoint.
const (
	EndpointActive    = "" // works, or fails and is tried by the schedule
	EndpointSuspended = "suspended"
	EndpointDisabled  = "disabled"
)

// Endpoint is what is known of a webhook's URL. All but URL is zero for one that
// works; a Store may forget those.
type Endpoint struct {
	URL          string
	State        string
	FailingSince time.Time
	Attempts     int // steps of the retry schedule that are used up, and probes after them
	LastError    string
	NextAttempt  time.Time // zero when disabled
}
