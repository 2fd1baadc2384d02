package ownership

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// applySubscribe adds subscriptions, and channels that nobody had yet.
func applySubscribe(tx *tx, c *wire.Subscribe) (result, error) {
	r := result{subscribed: make([]subscribed, len(c.Items))}
	for i, item := range c.Items {
		if err := checkSubscribe(item); err != nil {
			r.subscribed[i].err = err
			continue
		}
		id, err := tx.id(item.Channel)
		if err != nil {
			r.subscribed[i].err = err
			continue
		}
		if r.subscribed[i], err = subscribeOne(tx, id, item); err != nil {
			return result{}, err
		}
	}
	return r, nil
}

// subscribeOne adds a subscription, unless its key has added it before. A record
// of the same key for another request is of a claim that no longer holds.
func subscribeOne(tx *tx, id channel.ID, item *wire.Subscribe_Item) (subscribed, error) {
	if len(item.Key) == 0 {
		return addSubscription(tx, id, item)
	}
	done := &wire.Done{}
	found, err := getKeyed(tx, id.Bucket(), kindDone, item.Key, done)
	if err != nil {
		return subscribed{}, err
	}
	if found && string(done.Digest) == string(item.Digest) {
		return subscribed{seq: done.Seq, createdUS: done.CreatedUs, fromVersion: done.FromVersion, existing: true}, nil
	}
	added, err := addSubscription(tx, id, item)
	if err != nil {
		return subscribed{}, err
	}
	return added, putKeyed(tx, id.Bucket(), kindDone, item.Key, &wire.Done{
		Digest: item.Digest, Seq: added.seq, CreatedUs: added.createdUS, FromVersion: added.fromVersion,
	})
}

func addSubscription(tx *tx, id channel.ID, item *wire.Subscribe_Item) (subscribed, error) {
	record, err := tx.channel(id)
	if err != nil {
		return subscribed{}, err
	}
	bucket := tx.bucket(id.Bucket())
	if bucket.LastSeq >= maxSeq {
		return subscribed{err: fmt.Errorf("%w: bucket %d has no more IDs", ErrInvalid, id.Bucket())}, nil
	}
	if record == nil {
		bucket.LastIncarnation++
		bucket.Channels++
		record = &wire.Channel{Url: item.Url, Incarnation: bucket.LastIncarnation, CreatedUs: tx.now}
		tx.channels[id] = record
	}
	bucket.LastSeq++
	bucket.Subscriptions++
	record.Subscribers++
	if item.SinkType == SinkWebhook {
		record.Webhooks++
	}
	record.EmptiedUs = 0
	tx.touch(id)
	return putSubscription(tx, id, bucket.LastSeq, record, item)
}

func putSubscription(tx *tx, id channel.ID, seq uint64, record *wire.Channel, item *wire.Subscribe_Item) (subscribed, error) {
	added := subscribed{seq: seq, createdUS: tx.now, fromVersion: max(record.Version, 1) + 1}
	subscription := &wire.Subscription{
		SinkType: item.SinkType, SinkUrl: item.SinkUrl, SinkSecret: item.SinkSecret,
		CreatedUs: added.createdUS, FromVersion: added.fromVersion,
	}
	if err := tx.put(channelItemKey(kindMember, id, seq), subscription); err != nil {
		return subscribed{}, err
	}
	if err := tx.putRaw(bucketItemKey(id.Bucket(), kindSeq, seq), id[:]); err != nil {
		return subscribed{}, err
	}
	if tx.telling() {
		s := subscriptionOf(id, record.Url, seq, subscription)
		tx.tell(func(o Observer) { o.Subscribed(s) })
	}
	return added, nil
}

// applyUnsubscribe removes a subscription. One that was removed before is no
// error; one that never existed is ErrNotFound.
func applyUnsubscribe(tx *tx, c *wire.Unsubscribe) (result, error) {
	b, err := wireBucket(c.Bucket)
	if err == nil {
		err = tx.own(b)
	}
	if err != nil {
		return result{}, err
	}
	if c.Seq == 0 || c.Seq > tx.bucket(b).LastSeq {
		return result{err: ErrNotFound}, nil
	}
	id, err := seqChannel(tx.batch, b, c.Seq)
	if isMissing(err) {
		return result{}, nil
	}
	if err != nil {
		return result{}, err
	}
	return result{}, removeSubscription(tx, id, c.Seq)
}

func removeSubscription(tx *tx, id channel.ID, seq uint64) error {
	record, err := tx.channel(id)
	if err != nil {
		return err
	}
	if record == nil {
		return corrupt("subscription %d: channel %s has no record", seq, id)
	}
	subscription := &wire.Subscription{}
	member := channelItemKey(kindMember, id, seq)
	if err := tx.get(member, subscription); err != nil {
		return fmt.Errorf("subscription %d of channel %s: %w", seq, id, err)
	}
	for _, key := range [][]byte{member, bucketItemKey(id.Bucket(), kindSeq, seq), channelItemKey(kindStraggler, id, seq)} {
		if err := tx.delete(key); err != nil {
			return err
		}
	}
	tx.bucket(id.Bucket()).Subscriptions--
	record.Subscribers--
	if subscription.SinkType == SinkWebhook {
		record.Webhooks--
	}
	if record.Subscribers == 0 {
		record.EmptiedUs = tx.now
	}
	tx.touch(id)
	if tx.telling() {
		s := subscriptionOf(id, record.Url, seq, subscription)
		tx.tell(func(o Observer) { o.Unsubscribed(s) })
	}
	return nil
}
