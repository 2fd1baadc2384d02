package ownership

import (
	"container/heap"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Updates returns up to limit updates of a channel with versions above after, in
// order, and the gap before them if some are no longer kept; or ErrNotFound.
func (s *Store) Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	done, err := s.reading()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	view := s.state.NewSnapshot()
	defer view.Close()
	record, err := getChannel(view, id)
	if err != nil {
		return nil, nil, missingIs(err)
	}
	after = max(after, 1) // version 1 is not delivered
	gap := gapAfter(after, record)
	if limit < 1 || after >= record.Version {
		return nil, gap, nil
	}
	var updates []channel.Update
	err = scan(view, channelKey(kindUpdate, id), channelItemKey(kindUpdate, id, after+1), func(key, value []byte) (bool, error) {
		update := &wire.Update{}
		if err := unmarshal(key, value, update); err != nil {
			return false, err
		}
		updates = append(updates, updateOf(id, record.Url, lastItem(key), update))
		return len(updates) < limit, nil
	})
	return updates, gap, err
}

// gapAfter returns the versions after one that are no longer kept.
func gapAfter(after uint64, record *wire.Channel) *channel.Gap {
	if record.Oldest <= after+1 {
		return nil
	}
	return &channel.Gap{From: after + 1, To: record.Oldest - 1}
}

// pageBytes is from how many bytes on a page of updates ends.
const pageBytes = 1 << 20

// updatesSince reads what is closed: the caller has read closed before. more says that the
// page ends before that.
func (s *Store) updatesSince(r channel.Range, after channel.Cursor, closed uint64, limit int) (updates []channel.Update, more bool, err error) {
	done, err := s.reading()
	if err != nil {
		return nil, false, err
	}
	defer done()
	view := s.state.NewSnapshot()
	defer view.Close()
	iter, err := view.NewIter(nil)
	if err != nil {
		return nil, false, disk.ReadError("read state", err)
	}
	defer iter.Close()
	m := &stampMerge{r: view, iter: iter, closed: closed}
	if err := m.begin(s, r, after); err != nil {
		return nil, false, err
	}
	for bytes := 0; len(updates) < limit && bytes < pageBytes && len(m.heads) > 0; {
		update, err := m.next()
		if err != nil {
			return nil, false, err
		}
		update.Patch = nil // streams carry none
		updates = append(updates, update)
		bytes += len(update.Data)
	}
	return updates, len(m.heads) > 0, disk.ReadError("read state", m.iter.Error())
}

// stampMerge walks the buckets' stamps in their common order. One iterator
// serves all buckets; the heap holds each bucket's next stamp.
type stampMerge struct {
	r      pebble.Reader
	iter   *pebble.Iterator
	closed uint64
	heads  stampHeap
}

// begin finds the first stamp after the cursor in every bucket of a range that has any.
// It reads the trimmed stamps after the view was taken, so that they cover all that the
// view lacks.
func (m *stampMerge) begin(s *Store, r channel.Range, after channel.Cursor) error {
	for b := r.From; b <= r.To; b++ {
		f := s.of[b].local.fsm
		from := after.Stamp
		if b <= after.Bucket && from < math.MaxUint64 {
			from++
		}
		if trimmed := f.hot.trimmedStamp[b-f.from].Load(); trimmed > 0 && trimmed >= from {
			return channel.ErrTooOld
		}
		if f.hot.lastStamp[b-f.from].Load() >= from {
			m.advance(b, from)
		}
	}
	return nil
}

// advance puts the bucket's first stamp of at least from onto the heap.
func (m *stampMerge) advance(b channel.Bucket, from uint64) {
	if !m.iter.SeekGE(bucketItemKey(b, kindStamp, from)) {
		return
	}
	key := m.iter.Key()
	if has, kind := keyBucket(key); has != b || kind != kindStamp || lastItem(key) > m.closed {
		return
	}
	heap.Push(&m.heads, stampHead{stamp: lastItem(key), bucket: b, value: append([]byte{}, m.iter.Value()...)})
}

// next takes the first update off the heap.
func (m *stampMerge) next() (channel.Update, error) {
	head := heap.Pop(&m.heads).(stampHead)
	m.advance(head.bucket, head.stamp+1)
	stamped := &wire.Stamped{}
	if err := unmarshal(bucketItemKey(head.bucket, kindStamp, head.stamp), head.value, stamped); err != nil {
		return channel.Update{}, err
	}
	id, err := wireID(stamped.Channel)
	if err != nil {
		return channel.Update{}, disk.Corrupt("stamp %d of bucket %d: %w", head.stamp, head.bucket, err)
	}
	record, err := getChannel(m.r, id)
	if err != nil {
		return channel.Update{}, err
	}
	if stamped.GoneUs > 0 {
		return goneOf(id, record, head.stamp, stamped), nil
	}
	update := &wire.Update{}
	if err := getProto(m.r, channelItemKey(kindUpdate, id, stamped.Version), update); err != nil {
		return channel.Update{}, err
	}
	return updateOf(id, record.Url, stamped.Version, update), nil
}

type stampHead struct {
	stamp  uint64
	bucket channel.Bucket
	value  []byte
}

type stampHeap []stampHead

func (h stampHeap) Len() int { return len(h) }
func (h stampHeap) Less(i, j int) bool {
	return h[i].stamp < h[j].stamp || h[i].stamp == h[j].stamp && h[i].bucket < h[j].bucket
}
func (h stampHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *stampHeap) Push(x any)   { *h = append(*h, x.(stampHead)) }
func (h *stampHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
