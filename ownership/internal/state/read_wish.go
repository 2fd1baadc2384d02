package state

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Same returns for each wish of one range, in the order of their channels, a
// subscription of its channel with its sink; without an ID, there is none.
func (d *DB) Same(ctx context.Context, wishes []NewSubscription) (found []channel.Subscription, err error) {
	done, err := d.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	members, err := d.db.NewIter(&pebble.IterOptions{UpperBound: bucketKey(systemBucket)})
	if err != nil {
		return nil, disk.ReadError("read state", err)
	}
	found = make([]channel.Subscription, len(wishes))
	for from := 0; from < len(wishes) && err == nil; {
		to := from + 1
		for to < len(wishes) && wishes[to].Channel == wishes[from].Channel {
			to++
		}
		err = sameIn(ctx, members, wishes[from:to], found[from:to])
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
func sameIn(ctx context.Context, members *pebble.Iterator, wishes []NewSubscription, found []channel.Subscription) error {
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
			return context.Cause(ctx)
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
	return disk.ReadError("read state", members.Error()) // the next seek forgets it
}

// Claimed says whether the state has a claim of the item's key for this request, of
// today or yesterday by a time of the range's clock. Such a claim is valid for another day
// at least, so it does not expire while this request is under way, whatever another
// leader's clock says. Other claims, and those that cannot be read, are left to the
// log.
func (m *Machine) Claimed(item *Item, now uint64) bool {
	key, err := textID(item.key)
	if err != nil {
		return false
	}
	done, err := m.all.reading()
	if err != nil {
		return false
	}
	defer done()
	if !m.mayHold(kindClaim, key) {
		return false
	}
	for day := dayOf(now); day > firstKeyDay(now); day-- {
		record := &wire.Claimed{}
		if err := Get(m.db, dayKey(key.Bucket(), kindClaim, day, key[:]), record); !isMissing(err) {
			return err == nil && string(record.Digest) == item.digest
		}
	}
	return false
}
