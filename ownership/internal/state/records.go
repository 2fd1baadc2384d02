package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

func channelOf(id channel.ID, r *wire.Channel) channel.Channel {
	c := channel.Channel{
		ID: id, URL: r.Url, Incarnation: r.Incarnation, Version: r.Version, Kind: uint8(r.Kind),
		Subscribers: r.Subscribers, Webhooks: r.Webhooks,
		Created: wire.Time(r.CreatedUs), FirstContent: wire.Time(r.FirstContentUs),
		LastChange: wire.Time(r.LastChangeUs), EmptiedAt: wire.Time(r.EmptiedUs),
		Held: r.Held, Gone: r.Gone, GoneStamp: r.GoneStamp, Learned: r.Learned, Oldest: r.Oldest, TrimmedStamp: r.TrimmedStamp,
		Forgotten: r.Forgotten,
	}
	copy(c.Hash[:], r.Hash)
	if m := r.Moved; m != nil {
		c.Moved = channel.Moved{To: m.To, Since: wire.Time(m.SinceUs), Learned: m.Learned}
	}
	if h := r.Hold; h != nil {
		c.Hold = channel.Hold{Since: wire.Time(h.SinceUs), Reason: h.Reason}
	}
	return c
}

// wireMoved is nil for nil: absence says that nothing changes.
func wireMoved(m *channel.Moved) *wire.Moved {
	if m == nil {
		return nil
	}
	return &wire.Moved{To: m.To, SinceUs: wire.Micros(m.Since), Learned: m.Learned}
}

// wireHold is nil for none.
func wireHold(h channel.Hold) *wire.Hold {
	if h == (channel.Hold{}) {
		return nil
	}
	return &wire.Hold{SinceUs: wire.Micros(h.Since), Reason: h.Reason}
}

func subscriptionOf(id channel.ID, url string, seq uint64, r *wire.Subscription) channel.Subscription {
	sink := channel.Sink{Type: r.SinkType, URL: r.SinkUrl, Secret: r.SinkSecret}
	return newSubscription(id, url, sink, Subscribed{Seq: seq, CreatedUS: r.CreatedUs, FromVersion: r.FromVersion})
}

// Of returns the subscription that was made for a wish.
func (s Subscribed) Of(wish *NewSubscription) channel.Subscription {
	return newSubscription(wish.Channel, wish.URL, wish.Sink, s)
}

func newSubscription(id channel.ID, url string, sink channel.Sink, made Subscribed) channel.Subscription {
	return channel.Subscription{
		ID: SubscriptionID(id.Bucket(), made.Seq), Seq: made.Seq, Channel: id, URL: url, Sink: sink,
		Created: wire.Time(made.CreatedUS), FromVersion: made.FromVersion,
	}
}

func updateOf(id channel.ID, url string, version uint64, r *wire.Update) channel.Update {
	return channel.Update{
		Channel: id, URL: url, Incarnation: r.Incarnation, Version: version,
		Stamp: r.Stamp, At: wire.Time(r.AtUs), Data: r.Data, Patch: r.Patch,
	}
}

func endpointOf(r *wire.Endpoint) channel.Endpoint {
	return channel.Endpoint{
		URL: r.Url, State: r.State, FailingSince: wire.Time(r.FailingSinceUs),
		Attempts: int(r.Attempts), LastError: r.LastError, NextAttempt: wire.Time(r.NextAttemptUs),
		LostUntil: wire.Time(r.LostUntilUs),
	}
}

func wireEndpoint(e channel.Endpoint) *wire.Endpoint {
	return &wire.Endpoint{
		Url: e.URL, State: e.State, FailingSinceUs: wire.Micros(e.FailingSince),
		Attempts: uint32(max(e.Attempts, 0)), LastError: clip(e.LastError, maxErrorText), NextAttemptUs: wire.Micros(e.NextAttempt),
		LostUntilUs: wire.Micros(e.LostUntil),
	}
}

// copyBucket is a copy to be changed. A bulk touches a bucket with every few
// subscriptions, so it is not left to reflection.
func copyBucket(b *wire.Bucket) *wire.Bucket {
	return &wire.Bucket{
		LastSeq: b.LastSeq, LastIncarnation: b.LastIncarnation, LastStamp: b.LastStamp, TrimmedStamp: b.TrimmedStamp,
		Channels: b.Channels, Subscriptions: b.Subscriptions, UpdateBytes: b.UpdateBytes,
		FirstKeyDay: b.FirstKeyDay, LastKeyDay: b.LastKeyDay,
		Backup: b.Backup, Restoring: b.Restoring,
	}
}

// getChannel reads a channel's record; its error is pebble.ErrNotFound if there
// is none.
func getChannel(r pebble.Reader, id channel.ID) (*wire.Channel, error) {
	record := &wire.Channel{}
	return record, Get(r, channelKey(kindChannel, id), record)
}

// getPosition reads a channel's delivery position. Without a record nothing was
// delivered yet: the position is version 1, which is not delivered.
func getPosition(r pebble.Reader, id channel.ID) (*wire.Position, error) {
	at := &wire.Position{}
	err := Get(r, channelKey(kindPosition, id), at)
	if isMissing(err) {
		return &wire.Position{Version: 1}, nil
	}
	return at, err
}

// seqChannel returns the channel of a subscription; its error is
// pebble.ErrNotFound if there is none.
func seqChannel(r pebble.Reader, b channel.Bucket, seq uint64) (channel.ID, error) {
	value, closer, err := r.Get(bucketItemKey(b, kindSeq, seq))
	if err != nil {
		if isMissing(err) {
			return channel.ID{}, err
		}
		return channel.ID{}, disk.ReadError("read state", err)
	}
	defer closer.Close()
	return seqChannelOf(b, seq, value)
}

func seqChannelOf(b channel.Bucket, seq uint64, value []byte) (channel.ID, error) {
	if len(value) != channel.IDLen {
		return channel.ID{}, misfit("subscription %d of bucket %d names a channel in %d bytes", seq, b, len(value))
	}
	return channel.ID(value), nil
}

// eachStraggler visits a channel's stragglers in subscription order.
func eachStraggler(r pebble.Reader, id channel.ID, visit func(channel.Straggler)) error {
	prefix := channelKey(kindStraggler, id)
	return scan(r, prefix, prefix, func(key, value []byte) (bool, error) {
		if len(value) != 8 {
			return false, misfit("straggler of channel %s has %d bytes", id, len(value))
		}
		visit(channel.Straggler{Seq: lastItem(key), Next: binary.BigEndian.Uint64(value)})
		return true, nil
	})
}
