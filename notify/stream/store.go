package stream

import "github.com/seed-91e7e7c1/corona/channel"

// Store is the replicated state that streams read. It is safe for concurrent use.
// Reads see everything that a hook has announced.
type Store interface {
	// Channel returns [channel.ErrNotFound] for a channel that does not exist.
	Channel(id channel.ID) (channel.Channel, error)
	// Subscription returns one subscription of any kind of sink, or
	// [channel.ErrNotFound].
	Subscription(id string) (channel.Subscription, error)
	// Updates returns at most limit updates of a channel with versions above
	// after, the oldest first. The gap, if not nil, begins at after+1 and ends
	// before the first of them: what lies there is no longer kept.
	Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error)
	// UpdatesSince returns at most limit updates of all channels behind a cursor,
	// in the order of their cursors, up to [Store.Closed]; [channel.ErrTooOld] when
	// some of them are no longer kept. Fewer than limit only at the end.
	UpdatesSince(after channel.Cursor, limit int) ([]channel.Update, error)
	// Closed is the stamp up to which nothing can be committed any more.
	Closed() uint64
}
