package payload

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

func TestCacheIsBounded(t *testing.T) {
	c := NewCache(1000)
	for v := uint64(2); v < 100; v++ {
		u := channel.Update{Version: v, Data: memstore.Encoded(v)}
		first, err := c.Encode(u)
		if err != nil {
			t.Fatal(err)
		}
		u.Data = nil // known by now
		again, err := c.Encode(u)
		if err != nil || &again.JSON[0] != &first.JSON[0] {
			t.Fatalf("version %d was encoded again: %v", v, err)
		}
		if c.mu.bytes > 1000 || len(c.mu.known) != len(c.mu.order) {
			t.Fatalf("%d bytes in %d of %d bodies", c.mu.bytes, len(c.mu.known), len(c.mu.order))
		}
	}
	if _, err := c.Encode(channel.Update{Version: 2}); err == nil {
		t.Error("the oldest is still known")
	}
}
