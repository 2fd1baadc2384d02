package local

import (
	"cmp"
	"slices"
	"time"
)

// Told is a summary of a range with what makes it newer or older than another: the term
// of its owner, and a number that rises with each that the owner makes in it.
type Told struct {
	Range          uint32
	Term, Sequence uint64
	Summary        Summary
}

// newer compares two of one range.
func (t Told) newer(than Told) bool {
	return cmp.Or(cmp.Compare(t.Term, than.Term), cmp.Compare(t.Sequence, than.Sequence)) > 0
}

// A Board keeps the newest summary of every range, its reader's own among them. One that
// was heard Lifetime maintenance intervals ago no longer counts.
type Board struct {
	interval time.Duration
	entries  map[uint32]entry
}

// Lifetime is how many maintenance intervals a summary counts.
const Lifetime = 3

type entry struct {
	Told
	heard time.Duration
}

// NewBoard returns an empty board of a maintenance interval.
func NewBoard(interval time.Duration) *Board {
	return &Board{interval: interval, entries: make(map[uint32]entry)}
}

// Put takes a summary that is heard at a time, on any clock that only rises. It returns
// false when one as new is known. The summary's clusters are kept, not copied.
func (b *Board) Put(told Told, now time.Duration) bool {
	if old, known := b.entries[told.Range]; known && !told.newer(old.Told) {
		return false
	}
	b.entries[told.Range] = entry{told, now}
	return true
}

// Others returns what counts at a time for the owner of some ranges, by rising number of
// range. part is the part of all channels that a range has, of which 1 is all.
func (b *Board) Others(now time.Duration, own []uint32, part func(rangeID uint32) float64) Others {
	var o Others
	for _, id := range own {
		o.Part += part(id)
		o.Share += part(id)
		if e, known := b.counting(id, now); known {
			o.Own = append(o.Own, e.Summary)
		} else {
			o.Untold += part(id)
		}
	}
	for _, id := range b.known() {
		e, counts := b.counting(id, now)
		if counts && !slices.Contains(own, id) {
			o.Part += part(id)
			o.Summaries = append(o.Summaries, e.Summary)
		}
	}
	return o
}

func (b *Board) counting(id uint32, now time.Duration) (entry, bool) {
	e, known := b.entries[id]
	return e, known && now-e.heard < Lifetime*b.interval
}

func (b *Board) known() []uint32 {
	var ids []uint32
	for id := range b.entries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
