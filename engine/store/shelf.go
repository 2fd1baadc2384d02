package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Shelf keeps one value for each of some channels, for this node's owner, in the cache's
// store: what the owner wants to have again, and can get elsewhere. It is empty at a start.
// Nothing is synced. Its methods may be called concurrently.
type Shelf struct{ c *Cache }

// Shelf returns the cache's shelf.
func (c *Cache) Shelf() Shelf { return Shelf{c} }

// Put replaces the value of a channel. The error is [ErrNoSpace] on a full disk.
func (s Shelf) Put(id channel.ID, value []byte) error {
	if err := s.c.room(); err != nil {
		return err
	}
	return s.c.db.Set(shelfKey(id), value, pebble.NoSync)
}

// Get returns a copy of the value of a channel; nil: there is none.
func (s Shelf) Get(id channel.ID) ([]byte, error) {
	value, _, err := s.c.get(shelfKey(id))
	return value, err
}

// Remove removes the values of channels.
func (s Shelf) Remove(ids ...channel.ID) (err error) {
	for _, id := range ids {
		err = errors.Join(err, s.c.db.Delete(shelfKey(id), pebble.NoSync))
	}
	return err
}

// Clear removes the values of all channels of a range.
func (s Shelf) Clear(r channel.Range) error {
	return s.c.db.DeleteRange(shelfFrom(r.From), shelfFrom(r.To+1), pebble.NoSync)
}

// empty removes all values. Where there are none, as on a node alone, nothing is written.
func (s Shelf) empty() error {
	all := channel.Range{To: channel.Buckets - 1}
	iter, err := s.c.db.NewIter(&pebble.IterOptions{LowerBound: shelfFrom(all.From), UpperBound: shelfFrom(all.To + 1)})
	if err != nil {
		return err
	}
	found := iter.First()
	if err := errors.Join(iter.Error(), iter.Close()); err != nil || !found {
		return err
	}
	return s.Clear(all)
}

func shelfKey(id channel.ID) []byte { return append([]byte{shelfPrefix}, id[:]...) }

// shelfFrom is not above the key of any channel of a bucket, and above those of the buckets
// before it.
func shelfFrom(b channel.Bucket) []byte {
	if b == channel.Buckets {
		return []byte{shelfPrefix + 1}
	}
	return []byte{shelfPrefix, byte(b >> 4), byte(b << 4)}
}
