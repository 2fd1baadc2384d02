package deltas

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Most entries of a changed document are those of the document before, byte for
// byte. A Core that [Extract] made remembers what its entries were read from, and
// with it as [Document.Base] they need not be read again.

// sources are what a content's entries were read from.
type sources struct {
	context uint64   // digest of all else in the document that decides what they say: see contextOf
	entries []uint64 // of each entry, parallel to Entries: digest of its bytes, 0: not remembered; nil: none is
}

// contextOf returns a digest of what entries depend on besides their own bytes.
func contextOf(base *url.URL, parts ...string) uint64 {
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

func sourceOf(raw string) uint64 { return xxhash.Sum64String(raw) }

// sources returns what the draft's entries were read from.
func (d *draft) sources() (s sources) {
	for i := range d.entries {
		if source := d.entries[i].source; source != 0 {
			if s.entries == nil {
				s = sources{d.context, make([]uint64, len(d.entries))}
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

// parseSources is the inverse of [Core.AppendSources]; it returns what follows too.
func parseSources(b []byte) (s sources, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	switch b = b[max(size, 0):]; {
	case size <= 0, n > MaxEntries, n > 0 && uint64(len(b)) < 8+8*n:
		return sources{}, nil, false
	case n == 0:
		return sources{}, b, true
	}
	s = sources{binary.BigEndian.Uint64(b), make([]uint64, n)}
	b = b[8:]
	for i := range s.entries {
		s.entries[i], b = binary.BigEndian.Uint64(b), b[8:]
	}
	return s, b, true
}

// setSources notes what the content's entries were read from. The error is
// [ErrCorrupt] if these are the sources of another number of entries.
func (c *Core) setSources(s sources) error {
	if s.entries != nil && len(s.entries) != len(c.Entries) {
		return fmt.Errorf("%w: sources of %d entries, and %d", ErrCorrupt, len(s.entries), len(c.Entries))
	}
	c.sources = s
	return nil
}

// familiar finds entries of the document before by their bytes. A nil one finds none.
type familiar struct {
	base  *Core
	at    map[uint64]int // of a source: the entry
	taken bool           // some entry was
}

// familiarWith returns nil where nothing is remembered.
func familiarWith(base *Core) *familiar {
	if base == nil || base.sources.entries == nil {
		return nil
	}
	f := &familiar{base: base, at: make(map[uint64]int, len(base.sources.entries))}
	for i, source := range base.sources.entries {
		if source != 0 {
			f.at[source] = i
		}
	}
	return f
}

// take returns the entry that was read from bytes with that digest. It is what
// they say only if the context turns out to be the same: see misled.
func (f *familiar) take(source uint64) (draftEntry, bool) {
	if f == nil {
		return draftEntry{}, false
	}
	i, ok := f.at[source]
	if !ok {
		return draftEntry{}, false
	}
	f.taken = true
	e := &f.base.Entries[i]
	_, rest, _ := strings.Cut(f.base.sections[i], "\n")
	taken := draftEntry{id: e.ID, published: e.Published, updated: e.Updated, rest: rest, source: source}
	if f.base.Kind == KindFeed {
		taken.title = e.Title
	}
	return taken, true
}

// misled reports that entries were taken that may mean something else in this context.
func (f *familiar) misled(context uint64) bool {
	return f != nil && f.taken && f.base.sources.context != context
}
