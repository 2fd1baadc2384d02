// Package codec makes contents small: as deltas against another content, for nodes that
// hold that one, and packed, for stores of many. DESIGN.md of package deltas has the
// formats.
package codec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/deltas/content"
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

// ErrBase says that a delta starts from other content than the one given.
var ErrBase = errors.New("delta is for another base")

// Encode returns the smallest patch that makes next of base, for [Apply]. A nil
// base is allowed and gives a delta that needs none.
//
// The delta carries next's content and the notes of those of its entries that
// base has not, or has with another text and other dates. It is a script where little
// changed, a frame otherwise.
func Encode(base, next *content.Core) []byte {
	n := notesBeside(base, next)
	delta := header(deltaScript, base, next, n)
	if base != nil {
		dated, canonical := dated(n)
		if steps, small := makeSteps(base.Content(), next.Content()); small && canonical {
			w := newBitWriter(delta)
			encodeSteps(w, base.Content(), steps)
			codeFeed(w, n.FeedURL, base.FeedURL)
			codeNotes(w, dated)
			return w.close()
		}
	}
	delta[0] = deltaFrame
	return compressSmall(delta, n.Append(next.Content()), base.Content())
}

// EncodeFast returns a frame with the same effect as [Encode], which [Apply] takes as well:
// half as many bytes more on recorded histories, made in an eighth of the time
// (docs/decisions/2026-11-24-deltas-between-nodes.md).
func EncodeFast(base, next *content.Core) []byte {
	n := notesBeside(base, next)
	return compressFast(header(deltaFrame, base, next, n), n.Append(next.Content()), base.Content())
}

// header returns the beginning of a delta that carries notes.
func header(form byte, base, next *content.Core, carried content.Notes) []byte {
	from, check := hashOrZero(base), checkOf(next.Hash, carried.Append(nil))
	delta := append(make([]byte, 0, 256), form)
	return append(append(delta, from[:deltaBaseLen]...), check[:]...)
}

func hashOrZero(c *content.Core) content.Hash {
	if c == nil {
		return content.Hash{}
	}
	return c.Hash
}

// checkOf binds a delta to its result's hash and to the notes that it carries,
// which no hash covers.
func checkOf(result content.Hash, notes []byte) [deltaCheck]byte {
	sum := content.HashOf(append(result[:], notes...))
	return [deltaCheck]byte(sum[:])
}

// notesBeside returns the notes of next that a delta from base carries: those of
// entries that base has not, or has with another text and other dates. A build that
// rewrites all dates adds none.
func notesBeside(base, next *content.Core) content.Notes {
	n := content.Notes{FeedURL: next.FeedURL}
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
		n.Entries = append(n.Entries, content.Note{Place: next.Places()[i], Published: is.Published, Updated: is.Updated})
	}
	return n
}

// Apply returns the content that the delta was made for: its Content and
// Hash are those of next. Entries that the delta has no dates for keep base's and
// stand behind the others. base is nil for a delta that was made without one.
// The error is [ErrBase], [content.ErrVersion] or [content.ErrCorrupt].
func Apply(base *content.Core, delta []byte) (*content.Core, error) {
	if len(delta) < deltaHeader {
		return nil, fmt.Errorf("%w: delta of %d bytes", content.ErrCorrupt, len(delta))
	}
	if delta[0] != deltaScript && delta[0] != deltaFrame {
		return nil, fmt.Errorf("%w of delta: %d", content.ErrVersion, delta[0])
	}
	from := hashOrZero(base)
	if !bytes.Equal(delta[1:1+deltaBaseLen], from[:deltaBaseLen]) {
		return nil, fmt.Errorf("%w: it starts from %x…", ErrBase, delta[1:1+deltaBaseLen])
	}
	text, err := patched(base, delta)
	if err != nil {
		return nil, err
	}
	next, err := content.ParseCore(text)
	if err != nil {
		return nil, err
	}
	if checkOf(next.Hash, text[len(next.ContentText()):]) != [deltaCheck]byte(delta[1+deltaBaseLen:]) {
		return nil, fmt.Errorf("%w: a delta's result is not the one it was made for", content.ErrCorrupt)
	}
	return inherit(next, base)
}

// patched returns the core text that a delta's body makes of base.
func patched(base *content.Core, delta []byte) ([]byte, error) {
	body := delta[deltaHeader:]
	if delta[0] == deltaFrame {
		return decompress(body, base.Content(), content.MaxCoreText)
	}
	if base == nil {
		return nil, fmt.Errorf("%w: a script without a base", content.ErrCorrupt)
	}
	r := newBitReader(body)
	patched, err := decodeSteps(r, base.Content())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", content.ErrCorrupt, err)
	}
	n := content.Notes{FeedURL: codeFeed(r, "", base.FeedURL)}
	n.Entries = undated(codeNotes(r, nil))
	if r.cut() {
		return nil, fmt.Errorf("%w: notes of a delta", content.ErrCorrupt)
	}
	return n.Append(patched), nil
}

// inherit completes the notes that a delta left out, dates and order, from base's
// entries of the same identities.
func inherit(c, base *content.Core) (*content.Core, error) {
	if base == nil || base.Kind != c.Kind {
		return c, nil
	}
	noted, err := content.ParseNotes(string(c.Text[len(c.ContentText())+len(content.NotesMark):]), len(c.Entries))
	if err != nil {
		return nil, err
	}
	has := make([]bool, len(c.Entries))
	for _, e := range noted.Entries {
		has[e.Place] = true
	}
	placeOf := make(map[uint64]int, len(c.Identities()))
	for i, place := range c.Places() {
		placeOf[c.Identities()[i]] = place
	}
	for i, e := range base.Entries {
		if place, ok := placeOf[base.Identities()[i]]; ok && !has[place] {
			has[place] = true
			noted.Entries = append(noted.Entries, content.Note{Place: place, Published: e.Published, Updated: e.Updated})
		}
	}
	return content.ParseCore(noted.Append(c.Content()))
}
