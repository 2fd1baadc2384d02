package webhook

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Store is the replicated state that webhooks are delivered from, and that their
// positions and endpoint records are committed to. It is safe for concurrent use.
// Reads see everything that a hook has announced.
type Store interface {
	// Channel returns [channel.ErrNotFound] for a channel that does not exist.
	Channel(id channel.ID) (channel.Channel, error)
	// ChannelsIn returns at most limit channels of a range in the order of their
	// IDs, beginning behind after; nil is the beginning. Fewer than limit only at
	// the end.
	ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error)
	// Webhooks returns at most limit webhook subscriptions of a channel with Seq
	// above after, in that order. Fewer than limit only at the end.
	Webhooks(id channel.ID, after uint64, limit int) ([]channel.Subscription, error)
	// Updates returns at most limit updates of a channel with versions above
	// after, the oldest first. The gap, if not nil, begins at after+1 and ends
	// before the first of them: what lies there is no longer kept.
	Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error)

	// Progress returns a channel's position with all its stragglers.
	Progress(id channel.ID) (channel.Progress, error)
	// Advance commits positions of channels of one range. Stragglers holds those that changed; Next 0 means
	// that one has caught up. The position of a channel or incarnation that does
	// not exist is ignored. A subscription's straggler ends with it.
	Advance(ctx context.Context, positions []channel.Progress) error

	// EndpointsIn returns every endpoint that is not healthy, of those whose URL's
	// ID ([channel.IDOf]) is in a range.
	EndpointsIn(r channel.Range) ([]channel.Endpoint, error)
	// Endpoint returns the record of an endpoint, an empty one if there is none.
	Endpoint(url string) (channel.Endpoint, error)
	// SetEndpoint commits a record in the place of the one that it was made from, and
	// fails if another one stands.
	SetEndpoint(ctx context.Context, record, was channel.Endpoint) error
}
