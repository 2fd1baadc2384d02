package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// FoundingIndex is where the log of a range that is split off begins: its state says that it
// has this entry, which there is none of.
const FoundingIndex = 1

// NewSplit returns the command that ends a range before the first bucket of another one.
func NewSplit(child uint32, from channel.Bucket, founders []string) *wire.Command {
	return &wire.Command{Change: &wire.Command_Split{Split: &wire.Split{Child: child, From: uint32(from), Founders: founders}}}
}

// applySplit takes the buckets from one on out of the range, and begins the state of the range
// that they make, which goes on from this command's time. Their records stay where they are.
func applySplit(tx *Tx, c *wire.Split) (Result, error) {
	from, err := wireBucket(c.From)
	switch {
	case err != nil:
		return Result{}, err
	case from > tx.to:
		return Result{}, nil // it was split before
	case from <= tx.m.from || c.Child == tx.m.group || len(c.Founders) == 0:
		return Result{}, fmt.Errorf("%w: split of range %d before bucket %d, with %d founders", ErrInvalid, tx.m.group, from, len(c.Founders))
	}
	for b := from; b <= tx.to; b++ {
		if tx.look(b).Restoring {
			return Result{}, ErrRestoring
		}
	}
	begins := &wire.Applied{
		Index: FoundingIndex, Term: tx.term, TimeUs: tx.now, Founders: c.Founders,
		Span: &wire.Span{From: c.From, To: uint32(tx.to)},
	}
	if err := tx.put(AppliedKey(c.Child), begins); err != nil {
		return Result{}, err
	}
	tx.to, tx.spanned = from-1, true
	return Result{}, nil
}

// divide forgets what the machine has in memory of the buckets behind its new last one.
// Readers that do not know of it yet find that Range has changed.
func (m *Machine) divide(to channel.Bucket) {
	before := m.last()
	m.to.Store(uint32(to))
	m.knowing.Lock()
	for b := to + 1; b <= before; b++ {
		m.known[b-m.from] = known{}
	}
	m.knowing.Unlock()
	for b := to + 1; b <= before; b++ {
		i := int(b - m.from)
		none := &wire.Bucket{}
		m.hot.count(i, m.buckets[i], none)
		m.buckets[i] = none
	}
	for id := range m.recent.records {
		if id.Bucket() > to {
			m.recent.forget(id)
		}
	}
	m.news.leave(to)
}

// Founding returns what a range that was split off here begins with, nil if it has had entries
// since, or nothing of it is here.
func (r *Reader) Founding(id uint32) (*wire.Applied, error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	at := &wire.Applied{}
	if err := Get(r.db, AppliedKey(id), at); errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if len(at.Founders) == 0 {
		return nil, nil
	}
	return at, nil
}
