package state

import (
	"fmt"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// It keeps what it was given last, up to its bound, and nothing of a channel that ended.
func TestRecent(t *testing.T) {
	r := newRecent(2)
	id := func(i int) channel.ID { return channel.IDOf(fmt.Sprint(i)) }
	for i := range 100 {
		r.put(map[channel.ID]*wire.Channel{id(i): {Incarnation: uint64(i)}})
		if want := min(i+1, 2*recentPerBucket); len(r.records) != want {
			t.Fatalf("%d records after %d, want %d", len(r.records), i+1, want)
		}
	}
	kept := 0
	for i := range 100 {
		record := r.records[id(i)]
		if record == nil {
			continue
		}
		kept++
		if record.Incarnation != uint64(i) {
			t.Errorf("channel %d has the record of %d", i, record.Incarnation)
		}
		r.put(map[channel.ID]*wire.Channel{id(i): nil})
	}
	if kept != 2*recentPerBucket || len(r.records) != 0 {
		t.Errorf("%d channels kept, %d records left after all ended", kept, len(r.records))
	}
}
