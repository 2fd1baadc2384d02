package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
)

// TestShelf: a value is there until it is replaced or removed, by its channel or with the range
// of its bucket, and not after a start; what else the cache holds stays.
func TestShelf(t *testing.T) {
	config := testConfig(vfs.NewMem())
	open := func() (*Cache, Shelf) {
		t.Helper()
		c, err := OpenCache(config, NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		return c, c.Shelf()
	}
	c, shelf := open()
	none := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(id channel.ID, want string) {
		t.Helper()
		got, err := shelf.Get(id)
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Fatalf("channel %s has %q, %v, want %q", id, got, err, want)
		}
	}
	first, last := channel.ID{}, channel.ID(make([]byte, channel.IDLen))
	for i := range last {
		last[i] = 0xff
	}
	low, high := channel.ID{0x12, 0x30}, channel.ID{0x12, 0x3f, 0xff} // the ends of bucket 0x123
	below, above := channel.ID{0x12, 0x2f, 0xff}, channel.ID{0x12, 0x40}
	all := []channel.ID{first, below, low, high, above, last}
	for _, id := range all {
		want(id, "")
		none(shelf.Put(id, []byte("before")))
		none(shelf.Put(id, []byte(id.String())))
	}
	none(c.SetRecord(low, Record{Version: 7}))
	none(shelf.Clear(channel.Range{From: 0x123, To: 0x123}))
	want(low, "")
	want(high, "")
	for _, id := range []channel.ID{first, below, above, last} {
		want(id, id.String())
	}
	none(shelf.Remove(first))
	want(first, "")
	none(shelf.Clear(channel.Range{From: 0x124, To: channel.Buckets - 1}))
	want(last, "")
	want(below, below.String())

	none(c.Close())
	c, shelf = open()
	defer func() { none(c.Close()) }()
	for _, id := range all {
		want(id, "")
	}
	if r, ok, err := c.Record(low); err != nil || !ok || r.Version != 7 {
		t.Errorf("the record is %v, %t, %v", r, ok, err)
	}
}
