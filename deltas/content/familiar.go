package content

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Most entries of a changed document are those of the document before, byte for
// byte. A Core that [extract.Content] made remembers what its entries were read from, and
// with it as [extract.Document.Base] they need not be read again.

// Sources are what a content's entries were read from.
type Sources struct {
	context uint64   // digest of all else in the document that decides what they say: see ContextOf
	entries []uint64 // of each entry, parallel to Entries: digest of its bytes, 0: not remembered; nil: none is
}

// ContextOf returns a digest of what entries depend on besides their own bytes.
func ContextOf(base *url.URL, parts ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	where := ""
	if base != nil {
		where = base.String()
	}
	d.Write([]byte{ExtractorVersion})
	for _, part := range append(parts, where) {
		d.WriteString(part)
		d.Write([]byte{0}) // no text holds it
	}
	return d.Sum64()
}

// SourceOf returns the digest by which the bytes of an entry are remembered.
func SourceOf(raw string) uint64 { return xxhash.Sum64String(raw) }

// sources returns what the draft's entries were read from.
func (d *Draft) sources() (s Sources) {
	for i := range d.Entries {
		if source := d.Entries[i].Source; source != 0 {
			if s.entries == nil {
				s = Sources{d.Context, make([]uint64, len(d.Entries))}
			}
			s.entries[i] = source
		}
	}
	return s
}

// AppendSources appends what the content's entries were read from to b: how many are
// remembered, and if there are any the digests of their context and of each.
func (c *Core) AppendSources(b []byte) []byte {
	s := &c.sources
	b = binary.AppendUvarint(b, uint64(len(s.entries)))
	if s.entries == nil {
		return b
	}
	b = binary.BigEndian.AppendUint64(b, s.context)
	for _, source := range s.entries {
		b = binary.BigEndian.AppendUint64(b, source)
	}
	return b
}

// ParseSources is the inverse of [Core.AppendSources]; it returns what follows too.
func ParseSources(b []byte) (s Sources, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	switch b = b[max(size, 0):]; {
	case size <= 0, n > MaxEntries, n > 0 && uint64(len(b)) < 8+8*n:
		return Sources{}, nil, false
	case n == 0:
		return Sources{}, b, true
	}
	s = Sources{binary.BigEndian.Uint64(b), make([]uint64, n)}
	b = b[8:]
	for i := range s.entries {
		s.entries[i], b = binary.BigEndian.Uint64(b), b[8:]
	}
	return s, b, true
}

// SetSources notes what the content's entries were read from, before the content is
// shared. The error is [ErrCorrupt] if these are the sources of another number of entries.
func (c *Core) SetSources(s Sources) error {
	if s.entries != nil && len(s.entries) != len(c.Entries) {
		return fmt.Errorf("%w: sources of %d entries, and %d", ErrCorrupt, len(s.entries), len(c.Entries))
	}
	c.sources = s
	return nil
}

// Familiar finds entries of the document before by their bytes. A nil one finds none.
type Familiar struct {
	base  *Core
	at    map[uint64]int // of a source: the entry
	taken bool           // some entry was
}

// FamiliarWith returns nil where nothing is remembered.
func FamiliarWith(base *Core) *Familiar {
	if base == nil || base.sources.entries == nil {
		return nil
	}
	f := &Familiar{base: base, at: make(map[uint64]int, len(base.sources.entries))}
	for i, source := range base.sources.entries {
		if source != 0 {
			f.at[source] = i
		}
	}
	return f
}

// Take returns the entry that was read from bytes with that digest. It is what
// they say only if the context turns out to be the same: see misled.
func (f *Familiar) Take(source uint64) (DraftEntry, bool) {
	if f == nil {
		return DraftEntry{}, false
	}
	i, ok := f.at[source]
	if !ok {
		return DraftEntry{}, false
	}
	f.taken = true
	e := &f.base.Entries[i]
	_, rest, _ := strings.Cut(f.base.sections[i], "\n")
	taken := DraftEntry{ID: e.ID, Published: e.Published, Updated: e.Updated, rest: rest, Source: source}
	if f.base.Kind == KindFeed {
		taken.Title = e.Title
	}
	return taken, true
}

// Misled reports that entries were taken that may mean something else in this context.
func (f *Familiar) Misled(context uint64) bool {
	return f != nil && f.taken && f.base.sources.context != context
}
