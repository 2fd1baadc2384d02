package state

import (
	"bytes"
	"container/heap"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Chosen is Since of chosen channels of the range, each of which is named once; others, and
// those that do not exist, have nothing. It says which of them have lost updates, and knows
// no ErrTooOld. Buckets without news behind the cursor are not read.
func (m *Machine) Chosen(channels []channel.ID, after channel.Cursor, closed uint64, limit int) (channel.Kept, error) {
	kept := channel.Kept{Closed: closed}
	done, err := m.all.reading()
	if err != nil {
		return kept, err
	}
	defer done()
	view := m.db.NewSnapshot()
	defer view.Close()
	iter, err := view.NewIter(nil)
	if err != nil {
		return kept, disk.ReadError("read state", err)
	}
	defer iter.Close()
	merge := &chosenMerge{r: view, iter: iter, closed: closed}
	for _, id := range channels {
		b := id.Bucket()
		if b < m.from || b > m.last() || m.hot.lastStamp[b-m.from].Load() < firstStamp(b, after) {
			continue
		}
		record, err := getChannel(view, id)
		if isMissing(err) {
			continue
		}
		if err == nil {
			err = merge.add(id, record, after)
		}
		if err != nil {
			return kept, err
		}
		if lost := (channel.Lost{Channel: id, Oldest: record.Oldest, Stamp: record.TrimmedStamp}); lost.Stamp > 0 && after.Less(lost.Cursor()) {
			kept.Lost = append(kept.Lost, lost)
		}
	}
	for size := 0; len(kept.Updates) < limit && size < pageBytes && len(merge.heads) > 0; {
		update, err := merge.next()
		if err != nil {
			return kept, err
		}
		kept.Updates = append(kept.Updates, update)
		size += len(update.Data)
	}
	kept.More = len(merge.heads) > 0
	return kept, nil
}

// chosenMerge walks the updates of some channels in their common order. The heap holds the
// place of each channel's next update, and of the notice that it is gone.
type chosenMerge struct {
	r      pebble.Reader
	iter   *pebble.Iterator
	closed uint64
	heads  cursorHeap[chosenHead]
}

type chosenHead struct {
	channel channel.ID
	record  *wire.Channel
	stamp   uint64
	version uint64
	gone    bool
}

func (h chosenHead) cursor() channel.Cursor {
	return channel.Cursor{Stamp: h.stamp, Bucket: h.channel.Bucket()}
}

// add puts what a channel has behind a cursor onto the heap. Stamps rise with versions, so
// that the first one is found by a binary search.
func (m *chosenMerge) add(id channel.ID, record *wire.Channel, after channel.Cursor) error {
	gone := chosenHead{channel: id, record: record, stamp: record.GoneStamp, version: record.Version, gone: true}
	if gone.stamp > 0 && after.Less(gone.cursor()) {
		m.push(gone)
	}
	first, newest, err := record.Oldest, record.Version, error(nil)
	if first == 0 || first > newest {
		return nil
	}
	behind := func(version uint64) bool {
		head, ok, failed := m.find(id, record, version)
		if failed != nil {
			err = failed
		}
		return !ok || after.Less(head.cursor())
	}
	if !behind(newest) { // as for most
		return err
	}
	first += uint64(sort.Search(int(newest-first), func(i int) bool { return behind(first + uint64(i)) }))
	if err != nil {
		return err
	}
	return m.advance(id, record, first)
}

// advance puts a channel's first update from a version on onto the heap.
func (m *chosenMerge) advance(id channel.ID, record *wire.Channel, version uint64) error {
	head, ok, err := m.find(id, record, version)
	if ok && err == nil {
		m.push(head)
	}
	return err
}

// push leaves out what is not closed.
func (m *chosenMerge) push(head chosenHead) {
	if head.stamp <= m.closed {
		heap.Push(&m.heads, head)
	}
}

// find finds a channel's first update from a version on, if there is one.
func (m *chosenMerge) find(id channel.ID, record *wire.Channel, version uint64) (head chosenHead, ok bool, err error) {
	if !m.iter.SeekGE(channelItemKey(kindUpdate, id, version)) {
		return head, false, disk.ReadError("read state", m.iter.Error())
	}
	if !bytes.HasPrefix(m.iter.Key(), channelKey(kindUpdate, id)) {
		return head, false, nil
	}
	stamp, err := wire.UpdateStamp(m.iter.Value())
	if err != nil {
		return head, false, misfit("record at key %x: %w", m.iter.Key(), err)
	}
	return chosenHead{channel: id, record: record, stamp: stamp, version: lastItem(m.iter.Key())}, true, nil
}

// next takes the first update off the heap.
func (m *chosenMerge) next() (channel.Update, error) {
	head := heap.Pop(&m.heads).(chosenHead)
	if head.gone {
		return channel.Update{
			Channel: head.channel, URL: head.record.Url, Incarnation: head.record.Incarnation,
			Version: head.version, Stamp: head.stamp, Gone: true,
		}, nil
	}
	if err := m.advance(head.channel, head.record, head.version+1); err != nil {
		return channel.Update{}, err
	}
	update := &wire.Update{}
	err := Get(m.r, channelItemKey(kindUpdate, head.channel, head.version), update)
	update.Patch = nil // streams carry none
	return updateOf(head.channel, head.record.Url, head.version, update), err
}
