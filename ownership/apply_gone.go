package ownership

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// noteGone gives the notice that a channel is gone its place in the order of the
// bucket's updates, where streams find it, after an update of the same commit;
// and takes it back when the origin is there again.
func noteGone(tx *tx, id channel.ID, record *wire.Channel, c *wire.Commit) error {
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
		tx.tell(func(o Observer) { o.Committed(u) })
	}
	return nil
}

// dropGone deletes the notice, if there is one.
func dropGone(tx *tx, id channel.ID, record *wire.Channel) error {
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
