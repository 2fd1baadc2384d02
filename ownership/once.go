package ownership

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// compare answers the items to be made once whose channel has a subscription with
// the same sink, whichever request has made it. It reads the state before the log is
// asked for anything: what is made between the two by an item of the same kind is
// found by its key when it is applied.
func (b *subscribing) compare(ctx context.Context) {
	if !slices.ContainsFunc(b.wishes, func(wish NewSubscription) bool { return wish.Once }) {
		return
	}
	done, err := b.s.reading()
	if err != nil {
		return // the log says so
	}
	defer done()
	parts := b.split(func(item *subscribeItem) string {
		if !item.once() || !b.s.mayHold(item.channel) {
			return ""
		}
		return item.channel
	})
	for _, items := range parts {
		if err := b.compareRange(ctx, items); err != nil {
			for _, i := range items {
				b.results[i] = SubscribeResult{Err: err}
			}
		}
	}
}

// mayHold says whether a channel may exist whose range this node serves.
func (s *Store) mayHold(item string) bool {
	id, err := textID(item)
	g := s.of[id.Bucket()]
	return err == nil && g.serving.Load() && g.fsm.mayHold(kindChannel, id)
}

// compareRange compares items of one range, which are in the order of their channels.
func (b *subscribing) compareRange(ctx context.Context, items []int) error {
	members, err := b.s.state.NewIter(&pebble.IterOptions{UpperBound: bucketKey(systemBucket)})
	if err != nil {
		return disk.ReadError("read state", err)
	}
	for len(items) > 0 && err == nil {
		n, id := 1, b.wishes[items[0]].Channel
		for n < len(items) && b.wishes[items[n]].Channel == id {
			n++
		}
		err = b.compareChannel(ctx, members, id, items[:n])
		items = items[n:]
	}
	return errors.Join(err, disk.ReadError("read state", members.Close()))
}

// lookEvery is after how many subscriptions of a channel a search looks whether its
// caller still waits.
const lookEvery = 1024

// compareChannel compares items of one channel with its subscriptions, until all of
// their sinks are found. A channel with many subscriptions and not these sinks is
// read to its end.
func (b *subscribing) compareChannel(ctx context.Context, members *pebble.Iterator, id channel.ID, items []int) error {
	wanted := make(map[channel.Sink][]int, 1)
	for _, i := range items {
		wanted[b.wishes[i].Sink] = append(wanted[b.wishes[i].Sink], i)
	}
	prefix := channelKey(kindMember, id)
	member := &wire.Subscription{}
	n := 0
	for ok := members.SeekGE(prefix); ok && bytes.HasPrefix(members.Key(), prefix) && len(wanted) > 0; ok = members.Next() {
		if n++; n%lookEvery == 0 && ctx.Err() != nil {
			return b.s.late(context.Cause(ctx))
		}
		if err := unmarshal(members.Key(), members.Value(), member); err != nil {
			return err
		}
		sink := channel.Sink{Type: member.SinkType, URL: member.SinkUrl, Secret: member.SinkSecret}
		for _, i := range wanted[sink] {
			found := subscriptionOf(id, b.wishes[i].URL, lastItem(members.Key()), member)
			b.results[i] = SubscribeResult{Existing: true, Subscription: found}
		}
		delete(wanted, sink)
	}
	return nil // what stopped the iterator is for its Close to say
}
