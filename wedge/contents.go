package wedge

import (
	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// Shelf keeps a value for each of some channels on disk; what it loses is sent again. See
// [engine.Shelf].
type Shelf interface {
	Put(id channel.ID, value []byte)
	Get(id channel.ID) []byte
	Remove(ids ...channel.ID)
	Clear(r channel.Range)
}

// contents are the newest contents of channels that this node's owner has seen and this
// node does not poll, so that a poller need not send the base of its next change.
type contents struct {
	packer *deltas.Packer
	shelf  Shelf // set by Poller.Start
}

// packed is a channel's content, packed, and what its origin sent with it.
type packed struct {
	hash  deltas.Hash
	data  []byte
	shown engine.Shown
}

// add keeps a channel's newest content, in place of the one before.
func (c *contents) add(id channel.ID, core *deltas.Core, shown engine.Shown) {
	value, err := proto.Marshal(&wire.News{Hash: core.Hash[:], Content: c.packer.Append(nil, core), Shown: encodeShown(shown)})
	if err == nil {
		c.shelf.Put(id, value)
	}
}

// newest returns the content of a channel that was seen last; nil: it is not here.
func (c *contents) newest(id channel.ID) *packed {
	kept := new(wire.News)
	value := c.shelf.Get(id)
	if value == nil || proto.Unmarshal(value, kept) != nil || len(kept.GetHash()) != len(deltas.Hash{}) {
		return nil
	}
	return &packed{deltas.Hash(kept.GetHash()), kept.GetContent(), decodeShown(kept.GetShown())}
}

// packed returns a channel's content of a hash; nil: it is not here.
func (c *contents) packed(id channel.ID, hash deltas.Hash) *packed {
	if kept := c.newest(id); kept != nil && kept.hash == hash {
		return kept
	}
	return nil
}

// get returns a channel's content; nil: it is not here.
func (c *contents) get(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	kept := c.packed(id, hash)
	if kept == nil {
		return nil, nil
	}
	return c.packer.Unpack(kept.data)
}
