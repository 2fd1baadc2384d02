package main

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// nameSet numbers different names from 0, in the order in which they come. It is
// made for tens of millions: names lie one after another in large blocks, and a
// slot of the index is a number and 32 bits of hash.
type nameSet struct {
	blocks [][]byte // of names, each behind its length; none is in two
	starts []uint64 // by number: block·nameBlock + place in it
	seed   maphash.Seed
	slots  []uint64 // open addressing: hash<<32 | number+1; 0: free
}

// nameBlock is the bytes of a block, enough for a name as long as a record.
const nameBlock = 1 << 20

func newNameSet() *nameSet {
	return &nameSet{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)}
}

// reserve makes room for so many names.
func (s *nameSet) reserve(names int) {
	s.starts = slices.Grow(s.starts, names)
	for names*4 > len(s.slots)*3 {
		s.grow()
	}
}

// add returns a name's number, and whether it is new. hash is of the set's seed.
func (s *nameSet) add(name []byte, hash uint64) (number int, fresh bool) {
	if (len(s.starts)+1)*4 > len(s.slots)*3 {
		s.grow()
	}
	hash >>= 32
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		number := int(uint32(s.slots[i])) - 1
		if s.slots[i]>>32 == hash && bytes.Equal(s.at(number), name) {
			return number, false
		}
	}
	number = len(s.starts)
	s.slots[i] = hash<<32 | uint64(number+1)
	s.keep(name)
	return number, true
}

// at returns the name of a number. It must not be written to.
func (s *nameSet) at(number int) []byte {
	start := s.starts[number]
	tail := s.blocks[start/nameBlock][start%nameBlock:]
	length, n := binary.Uvarint(tail)
	return tail[n : n+int(length)]
}

// seal drops the index: names can be read, no more added.
func (s *nameSet) seal() { s.slots = nil }

func (s *nameSet) keep(name []byte) {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last])+len(name)+binary.MaxVarintLen64 > nameBlock {
		s.blocks = append(s.blocks, make([]byte, 0, nameBlock))
		last++
	}
	block := s.blocks[last]
	s.starts = append(s.starts, uint64(last)*nameBlock+uint64(len(block)))
	block = binary.AppendUvarint(block, uint64(len(name)))
	s.blocks[last] = append(block, name...)
}

// grow doubles the index.
func (s *nameSet) grow() {
	slots := make([]uint64, 2*len(s.slots))
	mask := uint64(len(slots) - 1)
	for _, slot := range s.slots {
		if slot == 0 {
			continue
		}
		i := slot >> 32 & mask
		for slots[i] != 0 {
			i = (i + 1) & mask
		}
		slots[i] = slot
	}
	s.slots = slots
}
