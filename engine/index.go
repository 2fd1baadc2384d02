package engine

import (
	"hash/maphash"
	"iter"
	"math/bits"

	"github.com/seed-91e7e7c1/corona/channel"
)

// index finds targets by their IDs. It keeps nothing but pointers, since the ID is
// in the target: 12 bytes for each, where a map takes 50. It is many small tables,
// each with linear probing, so that growing one takes a moment.
type index struct {
	seed   maphash.Seed // else URLs could be chosen that all come to one place
	count  int
	tables [indexTables]indexTable
}

type indexTable struct {
	slots []*target
	used  int
}

const (
	indexTables = 1024
	leastTable  = 4
)

func newIndex() *index { return &index{seed: maphash.MakeSeed()} }

func (x *index) len() int { return x.count }

// get returns the target with an ID, nil when there is none.
func (x *index) get(id channel.ID) *target {
	hash := x.hash(id)
	table := x.table(hash)
	if table.used == 0 {
		return nil
	}
	return table.slots[table.find(hash, id)]
}

// put adds a target, whose ID no other has.
func (x *index) put(t *target) {
	hash := x.hash(t.ID)
	table := x.table(hash)
	if 5*(table.used+1) > 4*len(table.slots) { // four fifths are full
		x.grow(table)
	}
	table.slots[table.find(hash, t.ID)] = t
	table.used++
	x.count++
}

func (x *index) grow(table *indexTable) {
	old := table.slots
	table.slots = make([]*target, max(len(old)+len(old)/2, leastTable))
	for _, t := range old {
		if t != nil {
			table.slots[table.find(x.hash(t.ID), t.ID)] = t
		}
	}
}

// remove removes the target with an ID, if it is in. Those behind it move up, so
// that none is cut off from its place.
func (x *index) remove(id channel.ID) {
	if x.get(id) == nil {
		return
	}
	hash := x.hash(id)
	table := x.table(hash)
	table.used--
	x.count--
	hole := table.find(hash, id)
	for i := table.next(hole); table.slots[i] != nil; i = table.next(i) {
		if home := table.place(x.hash(table.slots[i].ID)); !between(hole, home, i) {
			table.slots[hole], hole = table.slots[i], i
		}
	}
	table.slots[hole] = nil
}

func (x *index) hash(id channel.ID) uint64 { return maphash.Bytes(x.seed, id[:]) }

func (x *index) table(hash uint64) *indexTable { return &x.tables[hash%indexTables] }

// find returns where the target with an ID is or would be. There is always room.
func (t *indexTable) find(hash uint64, id channel.ID) (i int) {
	for i = t.place(hash); t.slots[i] != nil && t.slots[i].ID != id; i = t.next(i) {
	}
	return i
}

// place spreads hashes over a table in their order.
func (t *indexTable) place(hash uint64) int {
	high, _ := bits.Mul64(hash, uint64(len(t.slots)))
	return int(high)
}

func (t *indexTable) next(i int) int {
	if i++; i < len(t.slots) {
		return i
	}
	return 0
}

// between reports that home lies after hole and not after i, around the end.
func between(hole, home, i int) bool {
	if hole <= i {
		return hole < home && home <= i
	}
	return hole < home || home <= i
}

// all returns every target, in no order.
func (x *index) all() iter.Seq[*target] {
	return func(yield func(*target) bool) {
		for i := range x.tables {
			for _, t := range x.tables[i].slots {
				if t != nil && !yield(t) {
					return
				}
			}
		}
	}
}
