package wedge

import (
	"container/list"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// contents are the contents that this node's owner saw last, packed, so that a poller
// need not send the base of its next change: those used last, up to a number of bytes.
type contents struct {
	packer *deltas.Packer

	mu    sync.Mutex
	bytes int
	order *list.List // of *packed, the one used last in front
	of    map[contentKey]*list.Element
}

type contentKey struct {
	channel channel.ID
	hash    deltas.Hash
}

type packed struct {
	key   contentKey
	data  []byte
	shown engine.Shown
}

// mostBytes bounds the contents in memory.
const mostBytes = 32 << 20

func newContents() *contents {
	return &contents{packer: deltas.NewPacker(2), order: list.New(), of: make(map[contentKey]*list.Element)}
}

// add keeps a channel's content, and what its origin sent with it.
func (c *contents) add(id channel.ID, core *deltas.Core, shown engine.Shown) {
	key := contentKey{id, core.Hash}
	data := c.packer.Append(nil, core)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.of[key]; at != nil {
		c.order.MoveToFront(at)
		return
	}
	c.of[key] = c.order.PushFront(&packed{key, data, shown})
	for c.bytes += len(data); c.bytes > mostBytes; {
		last := c.order.Back()
		old := c.order.Remove(last).(*packed)
		delete(c.of, old.key)
		c.bytes -= len(old.data)
	}
}

// packed returns a channel's content; nil: it is not here.
func (c *contents) packed(id channel.ID, hash deltas.Hash) *packed {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.of[contentKey{id, hash}]
	if at == nil {
		return nil
	}
	c.order.MoveToFront(at)
	return at.Value.(*packed)
}

// get returns a channel's content; nil: it is not here.
func (c *contents) get(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	kept := c.packed(id, hash)
	if kept == nil {
		return nil, nil
	}
	return c.packer.Unpack(kept.data)
}
