package state

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// recentPerBucket bounds recent, for each bucket: with all of them a node keeps up to
// 65,536 records, of about 400 bytes each.
const recentPerBucket = 16

// recent keeps records of channels that transactions have met: reading and decoding one
// is the largest part of what another subscription to its channel costs. When it is full,
// any record makes room for a new one. It has what the state has, so it changes no
// result. It belongs to the goroutine that writes.
type recent struct {
	most    int
	records map[channel.ID]*wire.Channel
}

func newRecent(buckets int) recent {
	return recent{most: buckets * recentPerBucket, records: make(map[channel.ID]*wire.Channel)}
}

// put notes the records of a transaction that is written, nil for a channel that does
// not exist.
func (r *recent) put(records map[channel.ID]*wire.Channel) {
	for id, record := range records {
		if record == nil {
			delete(r.records, id)
			continue
		}
		r.records[id] = record
		if len(r.records) > r.most {
			r.drop()
		}
	}
}

// drop removes any record.
func (r *recent) drop() {
	for id := range r.records {
		delete(r.records, id)
		return
	}
}
