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
	parts := b.split(func(item *subscribeItem) string {
		if !item.once() || !b.s.mayHold(item.channel) {
			return ""
		}
		return item.channel
	})
	_ = inParallel(parts, func(r *route, items []int) error {
		wishes := make([]NewSubscription, len(items))
		for j, i := range items {
			wishes[j] = b.wishes[i]
		}
		found, err := b.s.views.same.at(ctx, r, wishes)
		for j, i := range items {
			switch {
			case err != nil:
				b.results[i] = SubscribeResult{Err: err}
			case found[j].ID != "":
				b.results[i] = SubscribeResult{Existing: true, Subscription: found[j]}
			}
		}
		return nil
	})
}

// mayHold says whether a channel may exist: for certain it does not if its range is
// served here and knows nothing of it.
func (s *Store) mayHold(item string) bool {
	id, err := textID(item)
	r := s.of[id.Bucket()]
	return err == nil && (!r.serves() || r.local.fsm.mayHold(kindChannel, id))
}

// same returns for each wish of one range, in the order of their channels, a
// subscription of its channel with its sink; without an ID, there is none.
func (s *Store) same(ctx context.Context, wishes []NewSubscription) (found []channel.Subscription, err error) {
	done, err := s.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	members, err := s.state.NewIter(&pebble.IterOptions{UpperBound: bucketKey(systemBucket)})
	if err != nil {
		return nil, disk.ReadError("read state", err)
	}
	found = make([]channel.Subscription, len(wishes))
	for from := 0; from < len(wishes) && err == nil; {
		to := from + 1
		for to < len(wishes) && wishes[to].Channel == wishes[from].Channel {
			to++
		}
		err = s.sameIn(ctx, members, wishes[from:to], found[from:to])
		from = to
	}
	return found, errors.Join(err, disk.ReadError("read state", members.Close()))
}

// lookEvery is after how many subscriptions of a channel a search looks whether its
// caller still waits.
const lookEvery = 1024

// sameIn looks for wishes of one channel among its subscriptions, until all of their
// sinks are found. A channel with many subscriptions and not these sinks is read to its
// end.
func (s *Store) sameIn(ctx context.Context, members *pebble.Iterator, wishes []NewSubscription, found []channel.Subscription) error {
	wanted := make(map[channel.Sink][]int, 1)
	for i, wish := range wishes {
		wanted[wish.Sink] = append(wanted[wish.Sink], i)
	}
	id := wishes[0].Channel
	prefix := channelKey(kindMember, id)
	member := &wire.Subscription{}
	n := 0
	for ok := members.SeekGE(prefix); ok && bytes.HasPrefix(members.Key(), prefix) && len(wanted) > 0; ok = members.Next() {
		if n++; n%lookEvery == 0 && ctx.Err() != nil {
			return s.late(context.Cause(ctx))
		}
		if err := unmarshal(members.Key(), members.Value(), member); err != nil {
			return err
		}
		sink := channel.Sink{Type: member.SinkType, URL: member.SinkUrl, Secret: member.SinkSecret}
		for _, i := range wanted[sink] {
			found[i] = subscriptionOf(id, wishes[i].URL, lastItem(members.Key()), member)
		}
		delete(wanted, sink)
	}
	return nil // what stopped the iterator is for its Close to say
}
