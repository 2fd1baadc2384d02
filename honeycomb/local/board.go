package local

import (
	"cmp"
	"slices"
)

// A Board keeps the latest summary of every range: the newest term wins, within
// it the newest round, and a summary that is Lifetime rounds old no longer counts.
// The zero value is ready.
type Board struct{ entries map[uint32]entry }

// Lifetime is how many maintenance intervals a summary counts.
const Lifetime = 3

type entry struct {
	term, round uint64
	heard       uint64 // the reader's own round
	summary     Summary
}

// Put takes a summary of a range, made by the owner of a term in its round,
// heard in the reader's own round now. It returns false when a newer one is
// known. The summary's clusters are kept, not copied.
func (b *Board) Put(rangeID uint32, term, round, now uint64, s Summary) bool {
	if b.entries == nil {
		b.entries = make(map[uint32]entry)
	}
	old, known := b.entries[rangeID]
	if known && cmp.Or(cmp.Compare(term, old.term), cmp.Compare(round, old.round)) <= 0 {
		return false
	}
	b.entries[rangeID] = entry{term, round, now, s}
	return true
}

// Others returns the summaries that count in the reader's round now, of ranges other
// than its own, in the order of their numbers; ranges is how many there are.
func (b *Board) Others(now uint64, own []uint32, ranges int) Others {
	var known []uint32
	for id, e := range b.entries {
		if now-e.heard < Lifetime && !slices.Contains(own, id) {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	o := Others{Ranges: ranges, Missing: max(ranges-len(own)-len(known), 0)}
	for _, id := range known {
		o.Summaries = append(o.Summaries, b.entries[id].summary)
	}
	return o
}
