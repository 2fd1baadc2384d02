package state

import (
	"fmt"
	"strings"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// applySubscribe adds subscriptions, and channels that do not exist yet.
func applySubscribe(tx *Tx, items []Item) (Result, error) {
	r := Result{Subscribed: make([]Subscribed, len(items))}
	for i := range items {
		item := &items[i]
		if err := item.check(); err != nil {
			r.Subscribed[i].Err = err
			continue
		}
		id, err := tx.id(item.channel)
		if err != nil {
			r.Subscribed[i].Err = err
			continue
		}
		if r.Subscribed[i], err = subscribeOne(tx, id, item); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}

// subscribeOne adds a subscription, unless its key has added one before: then that one
// is the answer, even if it was deleted, except for an item to be made once. A record
// of the same key for another request is of an expired claim and does not count.
func subscribeOne(tx *Tx, id channel.ID, item *Item) (Subscribed, error) {
	if item.key == "" {
		return addSubscription(tx, id, item)
	}
	key, err := textID(item.key)
	if err != nil {
		return Subscribed{}, err
	}
	done := &wire.Done{}
	found, err := getKeyed(tx, kindDone, id.Bucket(), key, done)
	if err != nil {
		return Subscribed{}, err
	}
	if found && string(done.Digest) == item.digest && !planted.Bug(7) {
		there, err := tx.has(channelItemKey(kindMember, id, done.Seq))
		if err != nil {
			return Subscribed{}, err
		}
		if there || !item.Once() {
			return Subscribed{Seq: done.Seq, CreatedUS: done.CreatedUs, FromVersion: done.FromVersion, Existing: true, Deleted: !there}, nil
		}
	}
	added, err := addSubscription(tx, id, item)
	if err != nil {
		return Subscribed{}, err
	}
	return added, putDone(tx, id.Bucket(), key, item.digest, added)
}

// putDone writes a wire.Done.
func putDone(tx *Tx, b channel.Bucket, key channel.ID, digest string, added Subscribed) error {
	at, err := keyedPlace(tx, kindDone, b, key)
	if err != nil {
		return err
	}
	value := appendText(tx.begin(at), 1, digest)
	value = appendNumber(value, 2, added.Seq)
	value = appendNumber(value, 3, added.CreatedUS)
	return tx.end(len(at), appendNumber(value, 4, added.FromVersion))
}

func addSubscription(tx *Tx, id channel.ID, item *Item) (Subscribed, error) {
	record, err := tx.channel(id)
	if err != nil {
		return Subscribed{}, err
	}
	bucket := tx.bucket(id.Bucket())
	if bucket.LastSeq >= maxSeq {
		return Subscribed{Err: fmt.Errorf("%w: bucket %d has no more IDs", ErrInvalid, id.Bucket())}, nil
	}
	if record == nil {
		if record, err = tx.create(id, strings.Clone(item.url)); err != nil {
			return Subscribed{}, err
		}
	}
	bucket.LastSeq++
	bucket.Subscriptions++
	record.Subscribers++
	if item.sinkType == channel.SinkWebhook {
		record.Webhooks++
	}
	record.EmptiedUs = 0
	tx.touch(id)
	return putSubscription(tx, id, bucket.LastSeq, record, item)
}

func putSubscription(tx *Tx, id channel.ID, seq uint64, record *wire.Channel, item *Item) (Subscribed, error) {
	added := Subscribed{Seq: seq, CreatedUS: tx.now, FromVersion: max(record.Version, 1) + 1}
	if err := putMember(tx, id, item, added); err != nil {
		return Subscribed{}, err
	}
	if err := tx.putRaw(bucketItemKey(id.Bucket(), kindSeq, seq), id[:]); err != nil {
		return Subscribed{}, err
	}
	if tx.telling {
		s := newSubscription(id, record.Url, item.sink(), added)
		tx.tell(func(o Observer) { o.Subscribed(s) })
	}
	return added, nil
}

// putMember writes a wire.Subscription.
func putMember(tx *Tx, id channel.ID, item *Item, added Subscribed) error {
	at := channelItemKey(kindMember, id, added.Seq)
	value := appendText(tx.begin(at), 1, item.sinkType)
	value = appendText(value, 2, item.sinkURL)
	value = appendText(value, 3, item.sinkSecret)
	value = appendNumber(value, 4, added.CreatedUS)
	return tx.end(len(at), appendNumber(value, 5, added.FromVersion))
}

// applyUnsubscribe removes a subscription. One that was removed before is no
// error; one that never existed is ErrNotFound.
func applyUnsubscribe(tx *Tx, c *wire.Unsubscribe) (Result, error) {
	b, err := wireBucket(c.Bucket)
	if err == nil {
		err = tx.own(b)
	}
	if err != nil {
		return Result{}, err
	}
	if c.Seq == 0 || c.Seq > tx.bucket(b).LastSeq {
		return Result{Err: channel.ErrNotFound}, nil
	}
	r, err := tx.reader()
	if err != nil {
		return Result{}, err
	}
	id, err := seqChannel(r, b, c.Seq)
	if isMissing(err) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	return Result{}, removeSubscription(tx, id, c.Seq)
}

func removeSubscription(tx *Tx, id channel.ID, seq uint64) error {
	record, err := tx.channel(id)
	if err != nil {
		return err
	}
	if record == nil {
		return misfit("subscription %d: channel %s has no record", seq, id)
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
	if subscription.SinkType == channel.SinkWebhook {
		record.Webhooks--
	}
	if record.Subscribers == 0 {
		record.EmptiedUs = tx.now
	}
	tx.touch(id)
	if tx.telling {
		s := subscriptionOf(id, record.Url, seq, subscription)
		tx.tell(func(o Observer) { o.Unsubscribed(s) })
	}
	return nil
}
