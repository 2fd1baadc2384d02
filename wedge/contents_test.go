package wedge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// TestContents: the newest content of each channel is kept, in as many bytes as may be; what
// was not used for longest goes first.
func TestContents(t *testing.T) {
	core := func(n int) *deltas.Core {
		var text strings.Builder
		for line := range 50 {
			fmt.Fprintf(&text, "line %d of %d: %x\n", line, n, n*1000003+line*7919)
		}
		core, err := deltas.Extract(deltas.Document{Body: []byte(text.String()), ContentType: "text/plain"})
		if err != nil {
			t.Fatal(err)
		}
		return core
	}
	ids := []channel.ID{{1}, {2}, {3}}
	one := len(deltas.NewPacker(1).Append(nil, core(1)))
	c := newContents(2*one + one/2)
	has := func(id channel.ID, want *deltas.Core, there bool) {
		t.Helper()
		got, err := c.get(id, want.Hash)
		if err != nil || (got != nil) != there || there && got.Hash != want.Hash {
			t.Fatalf("channel %s has %v, %v, want its content: %t", id, got, err, there)
		}
	}
	c.add(ids[0], core(1), engine.Shown{})
	c.add(ids[1], core(2), engine.Shown{})
	for n := 10; n < 20; n++ { // versions of one channel take no room from the other
		c.add(ids[1], core(n), engine.Shown{})
	}
	has(ids[0], core(1), true)
	has(ids[1], core(18), false)
	has(ids[1], core(19), true)
	has(ids[0], core(1), true) // used last
	c.add(ids[2], core(3), engine.Shown{})
	has(ids[1], core(19), false)
	has(ids[0], core(1), true)
	has(ids[2], core(3), true)
	if c.bytes > c.most || len(c.of) != 2 || c.order.Len() != 2 {
		t.Errorf("%d bytes of %d, %d and %d contents", c.bytes, c.most, len(c.of), c.order.Len())
	}
}
