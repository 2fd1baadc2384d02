package wedge

import (
	"container/list"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// contents are the newest contents of channels that this node's owner has seen, packed, so
// that a poller need not send the base of its next change: an LRU of up to a number of bytes.
type contents struct {
	packer *deltas.Packer
	most   int // bytes

	mu    sync.Mutex
	bytes int
	order *list.List // of *packed, the one used last in front
	of    map[channel.ID]*list.Element
}

type packed struct {
	channel channel.ID
	hash    deltas.Hash
	data    []byte
	shown   engine.Shown
}

// mostBytes bounds the contents in memory.
const mostBytes = 32 << 20

func newContents(most int) *contents {
	return &contents{packer: deltas.NewPacker(2), most: most, order: list.New(), of: make(map[channel.ID]*list.Element)}
}

// add keeps a channel's newest content, in place of the one before, and what its origin sent
// with it.
func (c *contents) add(id channel.ID, core *deltas.Core, shown engine.Shown) {
	kept := &packed{id, core.Hash, c.packer.Append(nil, core), shown}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.of[id]; at != nil {
		c.remove(at)
	}
	c.of[id] = c.order.PushFront(kept)
	for c.bytes += len(kept.data); c.bytes > c.most; {
		c.remove(c.order.Back())
	}
}

// remove forgets a content. Locked.
func (c *contents) remove(at *list.Element) {
	old := c.order.Remove(at).(*packed)
	delete(c.of, old.channel)
	c.bytes -= len(old.data)
}

// packed returns a channel's content; nil: it is not here.
func (c *contents) packed(id channel.ID, hash deltas.Hash) *packed {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.of[id]
	if at == nil || at.Value.(*packed).hash != hash {
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
