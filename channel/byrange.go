package channel

import (
	"cmp"
	"iter"
	"slices"
)

// ByRange maps ranges that share no bucket to values: what a node keeps of each range
// that it leads. The zero value is empty.
type ByRange[T any] struct {
	parts []rangePart[T] // by From
}

type rangePart[T any] struct {
	Range
	value T
}

// Set puts a range in the map, in the place of one that begins at the same bucket.
func (m *ByRange[T]) Set(r Range, value T) {
	i, found := m.find(r.From)
	if !found {
		m.parts = slices.Insert(m.parts, i, rangePart[T]{})
	}
	m.parts[i] = rangePart[T]{r, value}
}

// Remove takes a range out of the map and returns the value that it had: the zero
// value when it was not there.
func (m *ByRange[T]) Remove(r Range) (value T) {
	i, found := m.find(r.From)
	if !found {
		return value
	}
	value = m.parts[i].value
	m.parts = slices.Delete(m.parts, i, i+1)
	return value
}

// At returns the value of the range that holds a bucket, the zero value when no range
// of the map does.
func (m *ByRange[T]) At(b Bucket) (value T) {
	i, found := m.find(b)
	if !found {
		i--
	}
	if i < 0 || !m.parts[i].Has(b) {
		return value
	}
	return m.parts[i].value
}

// All visits the ranges in the order of their buckets. The map must not change
// meanwhile.
func (m *ByRange[T]) All() iter.Seq2[Range, T] {
	return func(yield func(Range, T) bool) {
		for _, part := range m.parts {
			if !yield(part.Range, part.value) {
				return
			}
		}
	}
}

// find returns the place of the range that begins at a bucket, or would.
func (m *ByRange[T]) find(from Bucket) (at int, found bool) {
	return slices.BinarySearchFunc(m.parts, from, func(part rangePart[T], from Bucket) int { return cmp.Compare(part.From, from) })
}
