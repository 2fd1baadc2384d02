package state

import (
	"github.com/seed-91e7e7c1/corona/channel"
)

// recentPerBucket bounds recent, for each bucket: with all of them a node keeps up to
// 65,536 records, of about 100 bytes each.
const recentPerBucket = 16

// recent keeps the records that were written last, as they are in the state, of channels
// with several subscribers or several versions: finding and reading one there is the largest
// part of what another subscription to its channel costs, or applying another change of it.
// They are kept encoded, since decoded ones cost the
// garbage collector more than decoding them does. When it is full, any record makes room
// for a new one, which gets its memory. It has what the state has, so it changes no result.
// It belongs to the goroutine that writes.
type recent struct {
	most    int
	records map[channel.ID][]byte
}

func newRecent(buckets int) recent {
	return recent{most: buckets * recentPerBucket, records: make(map[channel.ID][]byte)}
}

// put keeps a copy of a record that is written.
func (r *recent) put(id channel.ID, record []byte) {
	memory, ok := r.records[id]
	if !ok && len(r.records) >= r.most {
		memory = r.evict()
	}
	r.records[id] = append(memory[:0], record...)
}

// forget removes a channel's record, if it has one.
func (r *recent) forget(id channel.ID) { delete(r.records, id) }

// evict removes any record and returns its memory.
func (r *recent) evict() []byte {
	for id, memory := range r.records {
		delete(r.records, id)
		return memory
	}
	return nil
}
