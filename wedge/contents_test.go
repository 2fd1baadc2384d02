package wedge

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// TestContents: a channel's newest content is there with what its origin sent, the one before
// is not, nor what the shelf has lost or garbled.
func TestContents(t *testing.T) {
	core := func(text string) *deltas.Core {
		core, err := deltas.Extract(deltas.Document{Body: []byte(text), ContentType: "text/plain"})
		if err != nil {
			t.Fatal(err)
		}
		return core
	}
	shelf := &fakeShelf{of: make(map[channel.ID][]byte)}
	c := &contents{packer: deltas.NewPacker(1), shelf: shelf}
	first, second, id := core("first\n"), core("second\n"), channel.ID{1}
	has := func(want *deltas.Core, there bool) {
		t.Helper()
		got, err := c.get(id, want.Hash)
		if err != nil || (got != nil) != there || there && got.Hash != want.Hash {
			t.Fatalf("content %s is %v, %v, want it: %t", want.Hash, got, err, there)
		}
	}
	has(first, false)
	c.add(id, first, engine.Shown{ETag: `"1"`})
	has(first, true)
	c.add(id, second, engine.Shown{ETag: `"2"`})
	has(first, false)
	has(second, true)
	if kept := c.packed(id, second.Hash); kept.shown.ETag != `"2"` {
		t.Errorf("the content came with ETag %q", kept.shown.ETag)
	}
	shelf.Put(id, []byte("garbled"))
	has(second, false)
}
