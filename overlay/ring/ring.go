// Package ring is the paper's overlay: nodes and channels in one space of IDs that are
// read as digits, the wedges of nodes that share leading digits with a channel, and the
// routing tables that lead through them.
//
// No node uses it: benchmarks/sim does, to show the paper's way beside this project's. A
// cluster chooses its pollers with [overlay.Pollers], at any width.
package ring

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// A Ring is the paper's overlay seen from above: all nodes, numbered from 0 in
// the order of their IDs. A wedge, the nodes whose IDs begin like a channel's,
// is a run of numbers.
//
// It serves where widths are levels of prefixes. A cluster that polls at any
// width uses [overlay.Pollers].
type Ring struct{ ids []channel.ID }

// New returns a ring of nodes. Equal IDs count once.
func New(ids []channel.ID) *Ring {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, channel.ID.Compare)
	return &Ring{slices.Compact(sorted)}
}

// Len returns the number of nodes.
func (r *Ring) Len() int { return len(r.ids) }

// ID returns the ID of a node.
func (r *Ring) ID(node int) channel.ID { return r.ids[node] }

// Top returns the level of an owner alone, K = ⌈log N⌉: the lowest level whose
// wedges hold a node at most, on average.
func (r *Ring) Top() int {
	level := 0
	for wedges := 1; wedges < len(r.ids); wedges *= Base {
		level++
	}
	return level
}

// Wedge returns the nodes that share so many leading digits with an ID: from one
// number up to, not including, another.
func (r *Ring) Wedge(id channel.ID, level int) (from, to int) {
	from, _ = slices.BinarySearchFunc(r.ids, fill(id, level, false), channel.ID.Compare)
	last, found := slices.BinarySearchFunc(r.ids, fill(id, level, true), channel.ID.Compare)
	if found {
		last++
	}
	return from, last
}

// Orphan says whether a channel cannot be polled by more than its owner, short
// of every wider wedge: whether its wedge of level K−1 is empty.
func (r *Ring) Orphan(id channel.ID) bool {
	top := r.Top()
	if top == 0 {
		return false
	}
	from, to := r.Wedge(id, top-1)
	return from == to
}

// Owner returns the node whose ID is numerically closest to a channel's, around
// the ring; of two as close the one that follows. −1: there are no nodes.
func (r *Ring) Owner(id channel.ID) int {
	if len(r.ids) == 0 {
		return -1
	}
	next, _ := slices.BinarySearchFunc(r.ids, id, channel.ID.Compare)
	before := (next + len(r.ids) - 1) % len(r.ids)
	next %= len(r.ids)
	ahead, behind := minus(r.ids[next], id), minus(id, r.ids[before])
	if bytes.Compare(behind[:], ahead[:]) < 0 {
		return before
	}
	return next
}

// minus returns a − b modulo the size of the ID space.
func minus(a, b channel.ID) (d channel.ID) {
	var borrow uint64
	for _, i := range []int{12, 4} {
		var word uint64
		word, borrow = bits.Sub64(binary.BigEndian.Uint64(a[i:]), binary.BigEndian.Uint64(b[i:]), borrow)
		binary.BigEndian.PutUint64(d[i:], word)
	}
	high := binary.BigEndian.Uint32(a[:]) - binary.BigEndian.Uint32(b[:]) - uint32(borrow)
	binary.BigEndian.PutUint32(d[:], high)
	return d
}
