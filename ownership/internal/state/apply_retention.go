package state

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxTrim bounds the updates that one command removes.
const maxTrim = 1024

// applyTrim removes old updates of a channel, as far as the rules allow.
func applyTrim(tx *Tx, c *wire.Trim) (Result, error) {
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return Result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return Result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Oldest == 0 {
		return Result{Err: ErrStale}, nil
	}
	r, err := tx.reader()
	if err != nil {
		return Result{}, err
	}
	delivered, err := deliveredTo(r, id, record)
	if err != nil {
		return Result{}, err
	}
	through := lastTrimmable(record.Version)
	for range maxTrim {
		if record.Oldest > through {
			break
		}
		if record.OldestStamp >= c.BeforeUs ||
			!c.Forced && !mayTrim(age(tx.now, record.OldestStamp), record.Oldest <= delivered) {
			break
		}
		if err := trimOldest(tx, id, record); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

// trimOldest removes a channel's oldest update. There is a newer one.
func trimOldest(tx *Tx, id channel.ID, record *wire.Channel) error {
	next := &wire.Update{}
	if err := tx.get(channelItemKey(kindUpdate, id, record.Oldest+1), next); err != nil {
		return fmt.Errorf("channel %s: update %d: %w", id, record.Oldest+1, err)
	}
	if err := dropUpdate(tx, id, record.Oldest); err != nil {
		return err
	}
	bucket := tx.bucket(id.Bucket())
	bucket.TrimmedStamp = max(bucket.TrimmedStamp, record.OldestStamp)
	record.TrimmedStamp = record.OldestStamp
	record.Oldest++
	record.OldestStamp = next.Stamp
	tx.save(id)
	return nil
}

// dropUpdate deletes an update and its place in the order of the bucket.
func dropUpdate(tx *Tx, id channel.ID, version uint64) error {
	key, update := channelItemKey(kindUpdate, id, version), &wire.Update{}
	if err := tx.get(key, update); err != nil {
		return fmt.Errorf("channel %s: update %d: %w", id, version, err)
	}
	tx.bucket(id.Bucket()).UpdateBytes -= uint64(len(update.Data) + len(update.Patch))
	if err := tx.delete(key); err != nil {
		return err
	}
	return tx.delete(bucketItemKey(id.Bucket(), kindStamp, update.Stamp))
}

// deliveredTo returns the version that every subscription of the channel is known
// to have: 0 if one of them has a cursor sink, whose client alone knows.
func deliveredTo(r pebble.Reader, id channel.ID, record *wire.Channel) (uint64, error) {
	if record.Subscribers > record.Webhooks {
		return 0, nil
	}
	if record.Webhooks == 0 {
		return record.Version, nil
	}
	at, err := getPosition(r, id)
	if err != nil {
		return 0, err
	}
	delivered := at.Version - 1
	err = eachStraggler(r, id, func(s channel.Straggler) { delivered = min(delivered, s.Next-1) })
	return delivered, err
}

// applyEndChannel removes a channel without subscriptions.
func applyEndChannel(tx *Tx, c *wire.EndChannel) (Result, error) {
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return Result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return Result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Subscribers > 0 {
		return Result{Err: ErrStale}, nil
	}
	if err := removeChannel(tx, id, record); err != nil {
		return Result{}, err
	}
	tx.bucket(id.Bucket()).Channels--
	if tx.telling {
		ended := channelOf(id, record)
		tx.tell(func(o Observer) { o.ChannelChanged(ended, true) })
	}
	return Result{}, nil
}

func removeChannel(tx *Tx, id channel.ID, record *wire.Channel) error {
	for version := record.Oldest; version > 0 && version <= record.Version; version++ {
		if err := dropUpdate(tx, id, version); err != nil {
			return err
		}
	}
	if err := dropGone(tx, id, record); err != nil {
		return err
	}
	for _, kind := range []byte{kindSeen, kindStraggler} {
		if err := tx.deletePrefix(channelKey(kind, id)); err != nil {
			return err
		}
	}
	for _, kind := range []byte{kindJudge, kindPosition} {
		if err := tx.delete(channelKey(kind, id)); err != nil {
			return err
		}
	}
	return tx.forget(id)
}
