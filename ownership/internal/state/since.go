package state

import (
	"container/heap"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// News returns up to limit updates of the range behind a cursor and up to a stamp that it
// is closed to, which the caller has read before, and whether there are more; not ok: some
// of them are only on disk, where Since finds them. The updates have no patches.
func (m *Machine) News(after channel.Cursor, closed uint64, limit int) (updates []channel.Update, more, ok bool) {
	return m.news.since(after, closed, limit)
}

// pageBytes is from how many bytes on a page of updates ends.
const pageBytes = 1 << 20

// Since is News from the disk: more says that the page, of about a megabyte at most, ends
// before closed. ErrTooOld says that updates after the cursor are no longer kept.
func (m *Machine) Since(after channel.Cursor, closed uint64, limit int) (updates []channel.Update, more bool, err error) {
	done, err := m.all.reading()
	if err != nil {
		return nil, false, err
	}
	defer done()
	view := m.db.NewSnapshot()
	defer view.Close()
	iter, err := view.NewIter(nil)
	if err != nil {
		return nil, false, disk.ReadError("read state", err)
	}
	defer iter.Close()
	merge := &stampMerge{r: view, iter: iter, closed: closed}
	if err := merge.begin(m, after); err != nil {
		return nil, false, err
	}
	for bytes := 0; len(updates) < limit && bytes < pageBytes && len(merge.heads) > 0; {
		update, err := merge.next()
		if err != nil {
			return nil, false, err
		}
		update.Patch = nil // streams carry none
		updates = append(updates, update)
		bytes += len(update.Data)
	}
	return updates, len(merge.heads) > 0, nil
}

// stampMerge walks the buckets' stamps in their common order. One iterator
// serves all buckets; the heap holds each bucket's next stamp.
type stampMerge struct {
	r      pebble.Reader
	iter   *pebble.Iterator
	closed uint64
	heads  cursorHeap[stampHead]
}

// begin finds the first stamp after the cursor in every bucket of a range that has any.
// It reads the trimmed stamps after the view was taken, so that they cover all that the
// view lacks.
func (m *stampMerge) begin(of *Machine, after channel.Cursor) error {
	for b := of.from; b <= of.last(); b++ {
		from := firstStamp(b, after)
		if trimmed := of.hot.trimmedStamp[b-of.from].Load(); trimmed > 0 && trimmed >= from {
			return channel.ErrTooOld
		}
		if of.hot.lastStamp[b-of.from].Load() >= from {
			if err := m.advance(b, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstStamp returns the first stamp of a bucket that lies behind a cursor.
func firstStamp(b channel.Bucket, after channel.Cursor) uint64 {
	if b <= after.Bucket && after.Stamp < math.MaxUint64 {
		return after.Stamp + 1
	}
	return after.Stamp
}

// advance puts the bucket's first stamp of at least from onto the heap. Its error is of this
// seek alone: the next one forgets it.
func (m *stampMerge) advance(b channel.Bucket, from uint64) error {
	if !m.iter.SeekGE(bucketItemKey(b, kindStamp, from)) {
		return disk.ReadError("read state", m.iter.Error())
	}
	key := m.iter.Key()
	if has, kind := keyBucket(key); has != b || kind != kindStamp || lastItem(key) > m.closed {
		return nil
	}
	heap.Push(&m.heads, stampHead{stamp: lastItem(key), bucket: b, value: append([]byte{}, m.iter.Value()...)})
	return nil
}

// next takes the first update off the heap.
func (m *stampMerge) next() (channel.Update, error) {
	head := heap.Pop(&m.heads).(stampHead)
	if err := m.advance(head.bucket, head.stamp+1); err != nil {
		return channel.Update{}, err
	}
	stamped := &wire.Stamped{}
	if err := unmarshal(bucketItemKey(head.bucket, kindStamp, head.stamp), head.value, stamped); err != nil {
		return channel.Update{}, err
	}
	id, err := wireID(stamped.Channel)
	if err != nil {
		return channel.Update{}, misfit("stamp %d of bucket %d: %w", head.stamp, head.bucket, err)
	}
	record, err := getChannel(m.r, id)
	if err != nil {
		return channel.Update{}, err
	}
	if stamped.GoneUs > 0 {
		return goneOf(id, record, head.stamp, stamped), nil
	}
	update := &wire.Update{}
	if err := Get(m.r, channelItemKey(kindUpdate, id, stamped.Version), update); err != nil {
		return channel.Update{}, err
	}
	return updateOf(id, record.Url, stamped.Version, update), nil
}

type stampHead struct {
	stamp  uint64
	bucket channel.Bucket
	value  []byte
}

func (h stampHead) cursor() channel.Cursor {
	return channel.Cursor{Stamp: h.stamp, Bucket: h.bucket}
}

// cursorHeap has the head with the first cursor on top.
type cursorHeap[H interface{ cursor() channel.Cursor }] []H

func (h cursorHeap[H]) Len() int           { return len(h) }
func (h cursorHeap[H]) Less(i, j int) bool { return h[i].cursor().Less(h[j].cursor()) }
func (h cursorHeap[H]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap[H]) Push(x any)        { *h = append(*h, x.(H)) }
func (h *cursorHeap[H]) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
