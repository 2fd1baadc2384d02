package state

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"
)

// changes collects what a transaction writes. While nothing of it is read back it
// is a list, and is sorted before it is written: pebble's memtable takes
// neighbours at a fraction of what keys in any order cost. The first read makes
// it an indexed batch, which it remains.
type changes struct {
	db      *pebble.DB
	list    []change
	arena   []byte        // keys and values of list, in the order of writing
	indexed *pebble.Batch // nil until something is read
}

// change is one write. Key and value lie in the arena, one behind the other.
type change struct {
	head    uint64 // says where the key belongs, see headOf
	at      uint32 // in the arena; rises with the order of writing
	key     uint16
	value   uint32
	deletes bool
}

// Size returns the bytes of all changes.
func (c *changes) Size() int {
	if c.indexed != nil {
		return c.indexed.Len()
	}
	return len(c.arena)
}

// put writes a record.
func (c *changes) put(key []byte, record proto.Message) error {
	value, err := proto.MarshalOptions{}.MarshalAppend(c.begin(key), record)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return c.end(len(key), value)
}

// putRaw writes a value.
func (c *changes) putRaw(key, value []byte) error {
	return c.end(len(key), append(c.begin(key), value...))
}

// begin returns the arena with a key at its end, to append the value to and give
// to end.
func (c *changes) begin(key []byte) []byte { return append(c.arena, key...) }

// end takes what begin and its caller have appended as one write.
func (c *changes) end(key int, arena []byte) error {
	at := len(c.arena)
	if c.indexed != nil {
		added := arena[at:]
		return c.indexed.Set(added[:key], added[key:], nil)
	}
	c.arena = arena
	c.add(at, key, false)
	return nil
}

// add notes that the arena has a key from at on, and its value behind it.
func (c *changes) add(at, key int, deletes bool) {
	c.list = append(c.list, change{
		head: headOf(c.arena[at : at+key]), at: uint32(at),
		key: uint16(key), value: uint32(len(c.arena) - at - key), deletes: deletes,
	})
}

// headOf is what changes are sorted by: a key's bucket and kind, and five of the
// bytes that tell it from its neighbours. Keys with the same one need no order,
// only writes of the same key do.
func headOf(key []byte) uint64 {
	from := 3
	switch _, kind := keyBucket(key); kind {
	case kindClaim, kindDone:
		from += 4 // behind the day
	case kindSeq, kindStamp:
		from += 3 // numbers begin with zeros
	}
	var head [8]byte
	copy(head[:3], key)
	if from < len(key) {
		copy(head[3:], key[from:])
	}
	return binary.BigEndian.Uint64(head[:])
}

// delete removes a key.
func (c *changes) delete(key []byte) error {
	if c.indexed != nil {
		return c.indexed.Delete(key, nil)
	}
	at := len(c.arena)
	c.arena = append(c.arena, key...)
	c.add(at, len(key), true)
	return nil
}

// deleteRange removes the keys from start up to end. Its place among the other
// writes counts, so nothing is sorted after it.
func (c *changes) deleteRange(start, end []byte) error {
	if _, err := c.reader(); err != nil {
		return err
	}
	return c.indexed.DeleteRange(start, end, nil)
}

// reader reads the state with the changes.
func (c *changes) reader() (pebble.Reader, error) {
	if c.indexed == nil {
		c.indexed = c.db.NewIndexedBatch()
		if err := c.write(c.indexed); err != nil {
			return nil, err
		}
		c.list, c.arena = nil, nil
	}
	return c.indexed, nil
}

// write adds the list to a batch.
func (c *changes) write(batch *pebble.Batch) error {
	for _, each := range c.list {
		key, value := c.parts(each)
		err := error(nil)
		if each.deletes {
			err = batch.Delete(key, nil)
		} else {
			err = batch.Set(key, value, nil)
		}
		if err != nil {
			return fmt.Errorf("collect changes: %w", err)
		}
	}
	return nil
}

func (c *changes) parts(each change) (key, value []byte) {
	key = c.arena[each.at:][:each.key]
	return key, c.arena[int(each.at)+len(key):][:each.value]
}

// commit writes all changes at once, unsynced.
func (c *changes) commit() error {
	batch := c.indexed
	if batch == nil {
		slices.SortFunc(c.list, func(a, b change) int {
			if a.head != b.head {
				return cmp.Compare(a.head, b.head)
			}
			return cmp.Compare(a.at, b.at)
		})
		batch = c.db.NewBatchWithSize(len(c.arena) + 8*len(c.list) + 16)
		if err := c.write(batch); err != nil {
			return err
		}
	}
	defer batch.Close()
	return batch.Commit(pebble.NoSync)
}

// Drop forgets the changes.
func (c *changes) Drop() {
	if c.indexed != nil {
		c.indexed.Close()
	}
}
