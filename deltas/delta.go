package deltas

import (
	"bytes"
	"fmt"
)

// The layout of a delta: version, the first bytes of the base's hash, a check of
// the result, a script or a zstd frame without its magic number (DESIGN.md,
// "Delta").
const (
	deltaScript  = 6
	deltaFrame   = 5
	deltaBaseLen = 2
	deltaCheck   = 4
	deltaHeader  = 1 + deltaBaseLen + deltaCheck
)

// MakeDelta returns the patch that makes next of base, for [ApplyDelta]. A nil
// base is allowed and gives a delta that needs none.
//
// The delta carries next's content and the notes of those of its entries that
// base has not, or has with other dates: nobody wants the others again. A script
// where little changed, a frame otherwise.
func MakeDelta(base, next *Core) []byte {
	from := hashOrZero(base)
	delta := append(make([]byte, 0, 256), deltaScript)
	n := notesBeside(base, next)
	check := checkOf(next.Hash, n.append(nil))
	delta = append(append(delta, from[:deltaBaseLen]...), check[:]...)
	if base != nil {
		dated, canonical := dated(n)
		if steps, small := makeSteps(base.Content(), next.Content()); small && canonical {
			w := newBitWriter(delta)
			encodeSteps(w, base.Content(), steps)
			codeFeed(w, n.feedURL, base.FeedURL)
			codeNotes(w, dated)
			return w.close()
		}
	}
	delta[0] = deltaFrame
	return compress(delta, n.append(next.Content()), base.Content())
}

func hashOrZero(c *Core) Hash {
	if c == nil {
		return Hash{}
	}
	return c.Hash
}

// checkOf binds a delta to its result's hash and to the notes that it carries,
// which no hash covers.
func checkOf(result Hash, notes []byte) [deltaCheck]byte {
	sum := hashOf(append(result[:], notes...))
	return [deltaCheck]byte(sum[:])
}

// notesBeside returns the notes of next that one who has base's cannot know or
// would not want: those of entries that base has not, or has with another text
// and other dates. A build that rewrites all dates says nothing.
func notesBeside(base, next *Core) notes {
	n := notes{feedURL: next.FeedURL}
	was := make(map[uint64]int)
	if base != nil && base.Kind == next.Kind {
		for i, id := range base.Identities() {
			was[id] = i
		}
	}
	for i, id := range next.Identities() {
		is := next.Entries[i]
		at, known := was[id]
		if known && (base.Sections()[at] == next.Sections()[i] || base.Entries[at].Published == is.Published && base.Entries[at].Updated == is.Updated) {
			continue
		}
		n.entries = append(n.entries, note{next.Places()[i], is.Published, is.Updated})
	}
	return n
}

// ApplyDelta returns the content that the delta was made for: its Content and
// Hash are those of next. Entries that the delta has no dates for keep base's and
// stand behind the others. base is nil for a delta that was made without one.
// The error is [ErrBase], [ErrVersion] or [ErrCorrupt].
func ApplyDelta(base *Core, delta []byte) (*Core, error) {
	if len(delta) < deltaHeader {
		return nil, fmt.Errorf("%w: delta of %d bytes", ErrCorrupt, len(delta))
	}
	if delta[0] != deltaScript && delta[0] != deltaFrame {
		return nil, fmt.Errorf("%w of delta: %d", ErrVersion, delta[0])
	}
	from := hashOrZero(base)
	if !bytes.Equal(delta[1:1+deltaBaseLen], from[:deltaBaseLen]) {
		return nil, fmt.Errorf("%w: it starts from %x…", ErrBase, delta[1:1+deltaBaseLen])
	}
	text, err := patched(base, delta)
	if err != nil {
		return nil, err
	}
	next, err := ParseCore(text)
	if err != nil {
		return nil, err
	}
	if checkOf(next.Hash, text[len(next.ContentText()):]) != [deltaCheck]byte(delta[1+deltaBaseLen:]) {
		return nil, fmt.Errorf("%w: a delta's result is not the one it was made for", ErrCorrupt)
	}
	return inherit(next, base)
}

// patched returns the core text that a delta's body makes of base.
func patched(base *Core, delta []byte) ([]byte, error) {
	body := delta[deltaHeader:]
	if delta[0] == deltaFrame {
		return decompress(body, base.Content(), maxCoreText)
	}
	if base == nil {
		return nil, fmt.Errorf("%w: a script without a base", ErrCorrupt)
	}
	r := newBitReader(body)
	patched, err := decodeSteps(r, base.Content())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	n := notes{feedURL: codeFeed(r, "", base.FeedURL)}
	n.entries = undated(codeNotes(r, nil))
	if r.cut() {
		return nil, fmt.Errorf("%w: notes of a delta", ErrCorrupt)
	}
	return n.append(patched), nil
}

// inherit completes notes that a delta left out: the dates and order of entries
// that base has alike.
func inherit(c, base *Core) (*Core, error) {
	if base == nil || base.Kind != c.Kind {
		return c, nil
	}
	noted, err := parseNotes(string(c.Text[len(c.ContentText())+len(notesMark):]), len(c.Entries))
	if err != nil {
		return nil, err
	}
	has := make([]bool, len(c.Entries))
	for _, e := range noted.entries {
		has[e.place] = true
	}
	placeOf := make(map[uint64]int, len(c.Identities()))
	for i, place := range c.Places() {
		placeOf[c.Identities()[i]] = place
	}
	for i, e := range base.Entries {
		if place, ok := placeOf[base.Identities()[i]]; ok && !has[place] {
			has[place] = true
			noted.entries = append(noted.entries, note{place, e.Published, e.Updated})
		}
	}
	return ParseCore(noted.append(c.Content()))
}
