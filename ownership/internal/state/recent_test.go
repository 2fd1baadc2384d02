package state

import (
	"fmt"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// It keeps what it was given last, up to its bound, in memory of its own.
func TestRecent(t *testing.T) {
	r := newRecent(2)
	id := func(i int) channel.ID { return channel.IDOf(fmt.Sprint(i)) }
	value := make([]byte, 0, 8)
	for i := range 100 {
		value = fmt.Appendf(value[:0], "%d", i)
		r.put(id(i), value)
		if want := min(i+1, 2*recentPerBucket); len(r.records) != want {
			t.Fatalf("%d records after %d, want %d", len(r.records), i+1, want)
		}
	}
	kept := 0
	for i := range 100 {
		record, ok := r.records[id(i)]
		if !ok {
			continue
		}
		kept++
		if string(record) != fmt.Sprint(i) {
			t.Errorf("channel %d has the record %q", i, record)
		}
	}
	if kept != 2*recentPerBucket {
		t.Errorf("%d channels kept", kept)
	}
}
