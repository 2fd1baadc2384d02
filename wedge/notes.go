package wedge

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
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
	size        int64     // 0: not said
	spared      time.Time // until then the origin asked not to be asked; zero: not said
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
	if r.spared.IsZero() {
		r.spared = earlier.spared
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
func (r *reporter) Bound(id channel.ID, incarnation uint64, atLeast time.Duration) {
	if r.owner.leads(id) {
		r.owner.primary.Bound(id, incarnation, atLeast)
		return
	}
	r.notes.add(id, remark{incarnation: incarnation, bounded: true, bound: atLeast})
}

// Sized implements [engine.Owner].
func (r *reporter) Sized(id channel.ID, incarnation uint64, bytes int64) {
	if r.owner.leads(id) {
		r.owner.primary.Sized(id, incarnation, bytes)
		return
	}
	r.notes.add(id, remark{incarnation: incarnation, size: bytes})
}

// Spared is told by the engine until when an origin asked not to be asked for a channel; its
// other pollers hear of it.
func (r *reporter) Spared(s engine.Spare) {
	if r.owner.leads(s.Channel) {
		r.owner.tellSpare(s)
		return
	}
	r.notes.add(s.Channel, remark{incarnation: s.Incarnation, spared: s.Until})
}

// tellNotes tells owners what waits for them. What cannot be told waits on; of channels
// that this node polls no more it is dropped.
func (r *reporter) tellNotes(ctx context.Context) {
	said := r.notes.take()
	if len(said) == 0 {
		return
	}
	left := make(map[channel.ID]remark)
	for first, notes := range r.byRange(said) {
		bytes, err := proto.Marshal(encodeNotes(notes))
		if err == nil {
			r.metrics.count(ofNotes, len(bytes))
			err = r.config.Ask.Note(ctx, first, bytes)
		}
		if err != nil {
			maps.Copy(left, notes)
		}
	}
	if len(left) > 0 {
		r.notes.back(left)
	}
}

// byRange sorts remarks by the first bucket of the range.
func (r *reporter) byRange(said map[channel.ID]remark) map[channel.Bucket]map[channel.ID]remark {
	sorted := make(map[channel.Bucket]map[channel.ID]remark)
	for id, one := range said {
		of, ok := r.rangeOf(id)
		if !ok {
			continue
		}
		if sorted[of.From] == nil {
			sorted[of.From] = make(map[channel.ID]remark)
		}
		sorted[of.From][id] = one
	}
	return sorted
}

func encodeNotes(said map[channel.ID]remark) *wire.Notes {
	all := new(wire.Notes)
	for id, one := range said {
		all.Notes = append(all.Notes, &wire.Note{
			Channel: id[:], Incarnation: one.incarnation, Bounded: one.bounded, BoundUs: one.bound.Microseconds(), Size: one.size,
			SparedUs: untilMicros(one.spared),
		})
	}
	return all
}

// serveNotes accepts what another node's poller says of channels that this node owns.
func (s *reportServer) serveNotes(bytes []byte) error {
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
			s.primary.Bound(id, note.GetIncarnation(), time.Duration(max(note.GetBoundUs(), 0))*time.Microsecond)
		}
		if note.GetSize() > 0 {
			s.primary.Sized(id, note.GetIncarnation(), note.GetSize())
		}
		if until := note.GetSparedUs(); until > 0 {
			s.tellSpare(engine.Spare{Channel: id, Incarnation: note.GetIncarnation(), Until: untilTime(until)})
		}
	}
	return nil
}
