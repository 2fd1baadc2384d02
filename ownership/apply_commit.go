package ownership

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxSeen is how many identities a channel remembers.
const maxSeen = 4096

// applyCommit changes a channel's content, if it was judged against what is
// current: versions follow each other without holes, none is given twice, and what a
// Forget has removed from the judge's state does not come back.
func applyCommit(tx *tx, c *wire.Commit) (result, error) {
	if err := checkCommit(c); err != nil {
		return result{}, err
	}
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Version != c.Base || record.Forgotten != c.Forgotten {
		return result{err: ErrStale}, nil
	}
	setContent(record, c)
	tx.touch(id)
	if c.Judge != nil {
		if err := tx.putRaw(channelKey(kindJudge, id), c.Judge); err != nil {
			return result{}, err
		}
	}
	if err := remember(tx, id, record, c.Seen); err != nil {
		return result{}, err
	}
	if len(c.Update) > 0 {
		if err := putUpdate(tx, id, record, c); err != nil {
			return result{}, err
		}
	}
	return result{}, noteGone(tx, id, record, c)
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
func putUpdate(tx *tx, id channel.ID, record *wire.Channel, c *wire.Commit) error {
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
		tx.tell(func(o Observer) { o.Committed(u) })
	}
	return nil
}

// remember appends identities as one chunk and forgets the oldest chunks while
// the others hold enough.
func remember(tx *tx, id channel.ID, record *wire.Channel, seen []uint64) error {
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
