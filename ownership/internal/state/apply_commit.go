package state

import (
	"bytes"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxSeen is how many identities a channel remembers.
const maxSeen = 4096

// applyCommit changes a channel's content, if it was judged against what is
// current: versions follow each other without holes, none is given twice, and what a
// Forget has removed from the judge's state does not come back.
func applyCommit(tx *Tx, c *wire.Commit) (Result, error) {
	if err := checkCommit(c); err != nil {
		return Result{}, err
	}
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return Result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return Result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Version != c.Base || record.Forgotten != c.Forgotten {
		return Result{Err: ErrStale}, nil
	}
	setContent(record, c)
	tx.touch(id)
	if c.Judge != nil {
		if err := tx.putRaw(channelKey(kindJudge, id), c.Judge); err != nil {
			return Result{}, err
		}
	}
	if err := remember(tx, id, record, c.Seen); err != nil {
		return Result{}, err
	}
	if len(c.Update) > 0 {
		if err := putUpdate(tx, id, record, c); err != nil {
			return Result{}, err
		}
	}
	return Result{}, noteGone(tx, id, record, c)
}

func setContent(record *wire.Channel, c *wire.Commit) {
	if len(c.Hash) > 0 {
		record.Hash = c.Hash
	}
	if c.Kind > 0 {
		record.Kind = c.Kind
	}
	if c.Judge != nil {
		record.Held, record.Hold = c.Held, c.Hold
	}
	setMoved(record, c.Moved)
	if len(c.Learned) > 0 {
		record.Learned = c.Learned
	}
	if c.Version == c.Base {
		return
	}
	record.Version = c.Version
	if c.Version == 1 {
		record.FirstContentUs = c.AtUs
	} else {
		record.LastChangeUs = c.AtUs
	}
}

// setMoved notes a permanent redirect, an empty one as none at all.
func setMoved(record *wire.Channel, moved *wire.Moved) {
	if moved == nil {
		return
	}
	if record.Moved = moved; moved.To == "" {
		record.Moved = nil
	}
}

// putUpdate keeps an update under its version and its stamp.
func putUpdate(tx *Tx, id channel.ID, record *wire.Channel, c *wire.Commit) error {
	bucket := tx.bucket(id.Bucket())
	bucket.LastStamp = max(bucket.LastStamp+1, tx.now)
	bucket.UpdateBytes += uint64(len(c.Update) + len(c.Patch))
	if record.Oldest == 0 {
		record.Oldest, record.OldestStamp = c.Version, bucket.LastStamp
	}
	update := &wire.Update{Incarnation: c.Incarnation, Stamp: bucket.LastStamp, AtUs: c.AtUs, Data: c.Update, Patch: c.Patch}
	if err := tx.put(channelItemKey(kindUpdate, id, c.Version), update); err != nil {
		return err
	}
	stamped := &wire.Stamped{Channel: id[:], Version: c.Version}
	if err := tx.put(bucketItemKey(id.Bucket(), kindStamp, bucket.LastStamp), stamped); err != nil {
		return err
	}
	u := updateOf(id, record.Url, c.Version, update)
	tx.news = append(tx.news, u)
	if tx.telling {
		webhooks := record.Webhooks
		tx.tell(func(o Observer) { o.Committed(u, webhooks) })
	}
	return nil
}

// remember appends identities as one chunk and forgets the oldest chunks while
// the others hold enough.
func remember(tx *Tx, id channel.ID, record *wire.Channel, seen []uint64) error {
	if len(seen) == 0 {
		return nil
	}
	seen = seen[max(len(seen)-maxSeen, 0):]
	if err := tx.put(channelItemKey(kindSeen, id, record.NextSeen), &wire.Seen{Identities: seen}); err != nil {
		return err
	}
	record.NextSeen++
	record.Seen += uint64(len(seen))
	for record.Seen > maxSeen {
		oldest, chunk := channelItemKey(kindSeen, id, record.FirstSeen), &wire.Seen{}
		if err := tx.get(oldest, chunk); err != nil {
			return fmt.Errorf("channel %s: identities %d: %w", id, record.FirstSeen, err)
		}
		if record.Seen-uint64(len(chunk.Identities)) < maxSeen {
			return nil
		}
		if err := tx.delete(oldest); err != nil {
			return err
		}
		record.FirstSeen++
		record.Seen -= uint64(len(chunk.Identities))
	}
	return nil
}

// noteGone gives the notice that a channel is gone its place in the order of the
// bucket's updates, where streams find it, after an update of the same commit;
// and takes it back when the origin is there again.
func noteGone(tx *Tx, id channel.ID, record *wire.Channel, c *wire.Commit) error {
	if c.Gone == record.Gone {
		return nil
	}
	record.Gone = c.Gone
	if !c.Gone {
		return dropGone(tx, id, record)
	}
	bucket := tx.bucket(id.Bucket())
	bucket.LastStamp = max(bucket.LastStamp+1, tx.now)
	record.GoneStamp = bucket.LastStamp
	notice := &wire.Stamped{Channel: id[:], Version: c.Version, GoneUs: max(c.AtUs, 1)}
	if err := tx.put(bucketItemKey(id.Bucket(), kindStamp, record.GoneStamp), notice); err != nil {
		return err
	}
	u := goneOf(id, record, record.GoneStamp, notice)
	tx.news = append(tx.news, u)
	if tx.telling {
		webhooks := record.Webhooks
		tx.tell(func(o Observer) { o.Committed(u, webhooks) })
	}
	return nil
}

// dropGone deletes the notice, if there is one.
func dropGone(tx *Tx, id channel.ID, record *wire.Channel) error {
	if record.GoneStamp == 0 {
		return nil
	}
	stamp := record.GoneStamp
	record.GoneStamp = 0
	return tx.delete(bucketItemKey(id.Bucket(), kindStamp, stamp))
}

// goneOf is the notice as the order of updates has it.
func goneOf(id channel.ID, record *wire.Channel, stamp uint64, notice *wire.Stamped) channel.Update {
	return channel.Update{
		Channel: id, URL: record.Url, Incarnation: record.Incarnation, Version: notice.Version,
		Stamp: stamp, At: wire.Time(notice.GoneUs), Gone: true,
	}
}

// applyForget replaces the judge's state of a channel whose content is still what the
// new state was made for. Counting it makes commits stale that were judged by the state
// before: they would bring back what it had learned.
func applyForget(tx *Tx, c *wire.Forget) (Result, error) {
	if err := checkForget(c); err != nil {
		return Result{}, err
	}
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return Result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return Result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Version != c.Version || !bytes.Equal(record.Hash, c.Hash) {
		return Result{Err: ErrStale}, nil
	}
	record.Forgotten++
	record.Held, record.Hold = false, nil
	tx.touch(id)
	return Result{}, tx.putRaw(channelKey(kindJudge, id), c.Judge)
}
