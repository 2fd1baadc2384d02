// Package content is what a document says once it is read: lines with a hash, and
// entries with identities. It has the text format, which is kept and sent, the draft
// that readers fill, and what a content remembers of the bytes it was read from.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// ExtractorVersion counts the rules of [extract.Content] that decide what core content
// is. Another version may give other content for the same document, which is
// no update: see [judge.VerdictRebase]. A poller whose stored content was made by
// another version must fetch and report once before it answers by hash again.
const ExtractorVersion = 6

// Caps on what comes from outside.
const (
	MaxDocument = 8 << 20   // bytes of a document, as fetched and as decoded to UTF-8
	MaxText     = 8 << 20   // bytes of core content
	MaxLines    = lines.Max // lines of a page or text
	MaxEntries  = 5000      // entries of a document; what follows is not looked at

	MaxFeedURL  = links.MaxLength                             // bytes of Core.FeedURL
	MaxCoreText = MaxText + MaxEntries*64 + MaxFeedURL + 1024 // bytes of Core.Text: content and notes
)

var (
	// ErrEmpty says that a document holds nothing but white space.
	ErrEmpty = errors.New("document is empty")
	// ErrTooLarge says that a document is beyond a cap.
	ErrTooLarge = errors.New("document is too large")
	// ErrCorrupt says that stored or received bytes are not what these packages wrote.
	ErrCorrupt = errors.New("corrupt data")
	// ErrVersion says that stored or received bytes have a version unknown here.
	ErrVersion = errors.New("unknown format version")
	// ErrMerge says that contents are not feeds, which alone can be merged.
	ErrMerge = errors.New("only feeds can be merged")
)

// ParseError says why a document could not be read as what it is.
type ParseError struct {
	Kind   Kind   // 0 when not even that was found
	Reason string // what is wrong, in a few words
}

func (e *ParseError) Error() string {
	if e.Kind == 0 {
		return "document: " + e.Reason
	}
	return fmt.Sprintf("%s document: %s", e.Kind, e.Reason)
}

// Hash names core content: the first 16 bytes of its SHA-256. The zero Hash is
// no content's.
type Hash [16]byte

// String returns 32 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashOf returns the hash of lines of content.
func HashOf(content []byte) (h Hash) {
	sum := sha256.Sum256(content)
	copy(h[:], sum[:])
	return h
}

// Core is a document's core content. It is made by [extract.Content], [ParseCore] and
// [codec.Apply] alone, and is not changed afterwards.
type Core struct {
	Kind    Kind
	Title   string  // of the feed or page; may be empty
	FeedURL string  // the feed that an HTML page names; may be empty
	Entries []Entry // in the document's order; of feeds, and of JSON lists whose members have an identity
	Text    []byte  // canonical lines, each ending in \n: the content, then notes (see DESIGN.md)
	Hash    Hash    // of Content; equal for documents that say the same, in whatever order and with whatever dates
	Cut     bool    // the document, a feed, ended too early: what Entries lack may still be there; as Hints
	Hints   Hints   // what a feed says of how often to ask; found by Extract alone, no part of Text and Hash

	content  string                         // the same as Content
	sections []string                       // of each entry, parallel to Entries: its lines in the content
	ids      []uint64                       // of each entry, parallel to Entries: its identity
	indexed  atomic.Pointer[map[uint64]int] // see index
	places   []int                          // of each entry, parallel to Entries: its place in the content, from 0
	body     string                         // of HTML and text: the content's lines after its head
	sources  Sources                        // what the entries were read from; found by Extract alone
}

// Content returns the lines that say what the document says: Text without the
// notes on order and dates; nothing of a nil Core. It is not to be written to.
func (c *Core) Content() []byte {
	if c == nil {
		return nil
	}
	return c.Text[:len(c.content):len(c.content)]
}

// ContentText returns what Content does, as a string.
func (c *Core) ContentText() string { return c.content }

// Body returns what the content says outside of its title and entries, as lines that
// end in \n: all of a page or text, the rest of a JSON document, nothing of a feed.
func (c *Core) Body() string { return c.body }

// Sections returns the entries' lines in the content, parallel to Entries. They are
// not to be written to.
func (c *Core) Sections() []string { return c.sections }

// Places returns the entries' places in the content, from 0, parallel to Entries.
func (c *Core) Places() []int { return c.places }

// Identities returns the entries' identities, parallel to Entries.
func (c *Core) Identities() []uint64 { return c.ids }

// Empty reports whether there is nothing to read: no entries where entries
// would be, no lines otherwise.
func (c *Core) Empty() bool {
	switch c.Kind {
	case KindFeed:
		return len(c.Entries) == 0
	case KindJSON:
		return len(c.Entries) == 0 && c.body == ""
	default:
		return c.body == ""
	}
}

// Index returns where each entry stands, by identity and by alias. It is made
// once, and not to be written to.
func (c *Core) Index() map[uint64]int {
	if known := c.indexed.Load(); known != nil {
		return *known
	}
	at := make(map[uint64]int, 2*len(c.ids))
	for i := range c.ids {
		if alias, ok := c.aliasOf(i); ok {
			at[alias] = i
		}
	}
	for i, id := range c.ids {
		at[id] = i
	}
	c.indexed.Store(&at)
	return at
}
