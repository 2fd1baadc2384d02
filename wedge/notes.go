package wedge

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// notes are what owners are to be told in passing, by channel: what is said again takes
// the place of what waits.
type notes struct {
	mu      sync.Mutex
	waiting map[channel.ID]remark
}

// remark is what a poller says of a channel in passing.
type remark struct {
	incarnation uint64
	bounded     bool
	bound       time.Duration
	size        int64 // 0: not said
}

// add says something, in the place of what was said before of the same thing.
func (n *notes) add(id channel.ID, said remark) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = make(map[channel.ID]remark)
	}
	n.waiting[id] = said.over(n.waiting[id])
}

// over returns what stands of an earlier remark, and this one.
func (r remark) over(earlier remark) remark {
	if earlier.incarnation != r.incarnation {
		return r
	}
	if !r.bounded {
		r.bounded, r.bound = earlier.bounded, earlier.bound
	}
	if r.size == 0 {
		r.size = earlier.size
	}
	return r
}

// take takes all that waits.
func (n *notes) take() map[channel.ID]remark {
	n.mu.Lock()
	defer n.mu.Unlock()
	waiting := n.waiting
	n.waiting = nil
	return waiting
}

// back puts back what was not told, behind what was said since.
func (n *notes) back(said map[channel.ID]remark) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, later := range n.waiting {
		said[id] = later.over(said[id])
	}
	n.waiting = said
}

// Bound implements [engine.Owner].
func (p *Poller) Bound(id channel.ID, incarnation uint64, atLeast time.Duration) {
	if p.owner.leads(id) {
		p.owner.primary.Bound(id, incarnation, atLeast)
		return
	}
	p.notes.add(id, remark{incarnation: incarnation, bounded: true, bound: atLeast})
}

// Leased implements [engine.Owner]: a poller polls what it was ordered to, until the orders'
// lease is over; see expire.
func (p *Poller) Leased(id channel.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.ranges.At(id.Bucket())
	return r != nil && !time.Now().After(p.end(r))
}

// Sized implements [engine.Owner].
func (p *Poller) Sized(id channel.ID, incarnation uint64, bytes int64) {
	if p.owner.leads(id) {
		p.owner.primary.Sized(id, incarnation, bytes)
		return
	}
	p.notes.add(id, remark{incarnation: incarnation, size: bytes})
}

// tellNotes tells owners what waits for them. What cannot be told waits on; of channels
// that this node polls no more it is dropped.
func (p *Poller) tellNotes(ctx context.Context) {
	said := p.notes.take()
	if len(said) == 0 {
		return
	}
	left := make(map[channel.ID]remark)
	for first, notes := range p.byRange(said) {
		bytes, err := proto.Marshal(encodeNotes(notes))
		if err == nil {
			p.metrics.count(ofNotes, len(bytes))
			err = p.config.Ask.Note(ctx, first, bytes)
		}
		if err != nil {
			maps.Copy(left, notes)
		}
	}
	if len(left) > 0 {
		p.notes.back(left)
	}
}

// byRange sorts remarks by the first bucket of the range.
func (p *Poller) byRange(said map[channel.ID]remark) map[channel.Bucket]map[channel.ID]remark {
	p.mu.Lock()
	defer p.mu.Unlock()
	sorted := make(map[channel.Bucket]map[channel.ID]remark)
	for id, one := range said {
		r := p.mu.ranges.At(id.Bucket())
		if r == nil {
			continue
		}
		if sorted[r.From] == nil {
			sorted[r.From] = make(map[channel.ID]remark)
		}
		sorted[r.From][id] = one
	}
	return sorted
}

func encodeNotes(said map[channel.ID]remark) *wire.Notes {
	all := new(wire.Notes)
	for id, one := range said {
		all.Notes = append(all.Notes, &wire.Note{
			Channel: id[:], Incarnation: one.incarnation, Bounded: one.bounded, BoundUs: one.bound.Microseconds(), Size: one.size,
		})
	}
	return all
}

// ServeNotes takes in what another node's poller says of channels that this node owns.
func (o *Owner) ServeNotes(bytes []byte) error {
	all := new(wire.Notes)
	if err := proto.Unmarshal(bytes, all); err != nil {
		return fmt.Errorf("decode notes: %w", err)
	}
	for _, note := range all.GetNotes() {
		var id channel.ID
		if len(note.GetChannel()) != len(id) {
			return fmt.Errorf("decode notes: an ID of %d bytes", len(note.GetChannel()))
		}
		copy(id[:], note.GetChannel())
		if note.GetBounded() {
			o.primary.Bound(id, note.GetIncarnation(), time.Duration(max(note.GetBoundUs(), 0))*time.Microsecond)
		}
		if note.GetSize() > 0 {
			o.primary.Sized(id, note.GetIncarnation(), note.GetSize())
		}
	}
	return nil
}

// leads reports whether this node owns a channel.
func (o *Owner) leads(id channel.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.led.At(id.Bucket()) != nil
}
