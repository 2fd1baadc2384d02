package deltas

import (
	"bytes"
	"fmt"
	"slices"
)

// The layout of a delta: version, the first bytes of the base's hash, the
// result's hash, a zstd frame without its magic number (DESIGN.md, "Delta").
const (
	deltaVersion = 1
	deltaBaseLen = 8
	deltaHeader  = 1 + deltaBaseLen + len(Hash{})
)

// MakeDelta returns the patch that makes next of base, for [ApplyDelta]. A nil
// base is allowed and gives a delta that needs none.
//
// The delta carries next's content and the notes of those of its entries that
// base has not, or has otherwise: nobody wants the dates of the others again.
func MakeDelta(base, next *Core) []byte {
	var n notes
	n.feedURL = next.FeedURL
	c := compareEntries(base, next)
	for _, i := range slices.Sorted(slices.Values(slices.Concat(c.added, c.changed, c.renamed))) {
		n.entries = append(n.entries, note{next.places[i], next.Entries[i].Published, next.Entries[i].Updated})
	}
	var b bytes.Buffer
	b.Write(next.Content())
	n.render(&b)

	var from Hash
	if base != nil {
		from = base.Hash
	}
	delta := append([]byte{deltaVersion}, from[:deltaBaseLen]...)
	delta = append(delta, next.Hash[:]...)
	return compress(delta, b.Bytes(), contentOf(base))
}

// ApplyDelta returns the content that the delta was made for: its Content and
// Hash are those of next. Entries that base has alike keep base's dates and
// stand behind the others. base is nil for a delta that was made without one.
// The error is [ErrBase], [ErrVersion] or [ErrCorrupt].
func ApplyDelta(base *Core, delta []byte) (*Core, error) {
	if len(delta) < deltaHeader {
		return nil, fmt.Errorf("%w: delta of %d bytes", ErrCorrupt, len(delta))
	}
	if delta[0] != deltaVersion {
		return nil, fmt.Errorf("%w of delta: %d", ErrVersion, delta[0])
	}
	var from Hash
	if base != nil {
		from = base.Hash
	}
	if !bytes.Equal(delta[1:1+deltaBaseLen], from[:deltaBaseLen]) {
		return nil, fmt.Errorf("%w: it starts from %x…", ErrBase, delta[1:1+deltaBaseLen])
	}
	text, err := decompress(delta[deltaHeader:], contentOf(base), maxCoreText)
	if err != nil {
		return nil, err
	}
	next, err := ParseCore(text)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(next.Hash[:], delta[1+deltaBaseLen:deltaHeader]) {
		return nil, fmt.Errorf("%w: delta's result does not have the hash it names", ErrCorrupt)
	}
	return next.inherit(base)
}

// maxCoreText is the longest Text: content and notes.
const maxCoreText = MaxText + MaxEntries*64 + maxLink + 1024

// inherit completes notes that a delta left out: the dates and order of entries
// that base has alike.
func (c *Core) inherit(base *Core) (*Core, error) {
	if base == nil || base.Kind != c.Kind {
		return c, nil
	}
	noted, err := parseNotes(string(c.Text[c.content+len(notesMark):]), len(c.Entries))
	if err != nil {
		return nil, err
	}
	has := make([]bool, len(c.Entries))
	for _, e := range noted.entries {
		has[e.place] = true
	}
	placeOf := make(map[uint64]int, len(c.ids))
	for i, place := range c.places {
		placeOf[c.ids[i]] = place
	}
	for i, e := range base.Entries {
		if place, ok := placeOf[base.ids[i]]; ok && !has[place] {
			has[place] = true
			noted.entries = append(noted.entries, note{place, e.Published, e.Updated})
		}
	}
	var b bytes.Buffer
	b.Write(c.Content())
	noted.render(&b)
	return ParseCore(b.Bytes())
}
