package solve

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// nameList is the channels' names by row, made for tens of millions: a block's names
// lie one after another in one text.
type nameList struct {
	texts  [][]byte
	starts []uint64 // by row: text<<32 | place in it
}

// at returns the name of a row. It must not be written to.
func (l *nameList) at(row int) []byte {
	number, start := l.starts[row]>>32, uint32(l.starts[row])
	text := l.texts[number]
	if row+1 < len(l.starts) && l.starts[row+1]>>32 == number {
		text = text[:uint32(l.starts[row+1])]
	}
	return text[start:]
}

// nameIndex finds names that are there twice by a partitioned hash join: rows are
// put into parts by the first bits of their name's hash, and each part is searched
// with a hash table that fits a processor's cache, beside the others.
type nameIndex struct {
	names *nameList
	parts [256][]uint64 // by row: hash<<32 | row
}

// add appends the names of a block: its text, and by row hash<<32 | start in the text.
func (x *nameIndex) add(text []byte, names []uint64) {
	block, row := uint64(len(x.names.texts))<<32, uint64(len(x.names.starts))
	x.names.texts = append(x.names.texts, text)
	for _, name := range names {
		x.names.starts = append(x.names.starts, block|uint64(uint32(name)))
		part := &x.parts[name>>56]
		*part = append(*part, name>>32<<32|row)
		row++
	}
}

// reserve makes room for so many names, before there are any.
func (x *nameIndex) reserve(names int) {
	x.names.starts = make([]uint64, 0, names)
	for i := range x.parts {
		x.parts[i] = make([]uint64, 0, names/len(x.parts))
	}
}

// repeated is a row whose name an earlier row has; noRepeat stands for none.
type repeated struct{ row, earlier int }

var noRepeat = repeated{row: -1, earlier: -1}

// first returns the first row whose name an earlier row has.
func (x *nameIndex) first() repeated {
	var next atomic.Int64
	var workers sync.WaitGroup
	found := make([]repeated, len(x.parts))
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var table []uint64
			for i := int(next.Add(1)) - 1; i < len(x.parts); i = int(next.Add(1)) - 1 {
				found[i], table = x.search(x.parts[i], table)
			}
		})
	}
	workers.Wait()
	found = slices.DeleteFunc(found, func(r repeated) bool { return r == noRepeat })
	if len(found) == 0 {
		return noRepeat
	}
	return slices.MinFunc(found, func(a, b repeated) int { return a.row - b.row })
}

// search returns the first row of a part whose name an earlier row has. It searches
// with a table, open addressing, that may be used again.
func (x *nameIndex) search(part, table []uint64) (repeated, []uint64) {
	size := 4
	for size*3 < len(part)*4 {
		size *= 2
	}
	table = slices.Grow(table[:0], size)[:size]
	clear(table) // of entries+1: 0 is free
	mask := uint64(size - 1)
	for _, entry := range part {
		i := entry >> 32 & mask
		for ; table[i] != 0; i = (i + 1) & mask {
			if other := table[i] - 1; other>>32 == entry>>32 && x.same(other, entry) {
				return repeated{row: int(uint32(entry)), earlier: int(uint32(other))}, table
			}
		}
		table[i] = entry + 1
	}
	return noRepeat, table
}

// same says whether the rows of two entries have the same name.
func (x *nameIndex) same(a, b uint64) bool {
	return bytes.Equal(x.names.at(int(uint32(a))), x.names.at(int(uint32(b))))
}
