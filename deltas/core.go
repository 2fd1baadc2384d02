package deltas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// ExtractorVersion counts the rules of [Extract] that decide what core content
// is. Another version may give other content for the same document, which is
// no update: see [VerdictRebase]. A poller whose stored content was made by
// another version must fetch and report once before it answers by hash again.
const ExtractorVersion = 6

// Caps on what comes from outside.
const (
	MaxDocument = 8 << 20 // bytes of a document, as fetched and as decoded to UTF-8
	MaxText     = 8 << 20 // bytes of core content
	MaxLines    = 250_000 // lines of a page or text
	MaxEntries  = 5000    // entries of a document; what follows is not looked at

	maxDepth = 256 // nested elements or JSON values
)

var (
	// ErrEmpty says that a document holds nothing but white space.
	ErrEmpty = errors.New("document is empty")
	// ErrTooLarge says that a document is beyond a cap.
	ErrTooLarge = errors.New("document is too large")
	// ErrCorrupt says that stored or received bytes are not what this package wrote.
	ErrCorrupt = errors.New("corrupt data")
	// ErrVersion says that stored or received bytes have a version unknown here.
	ErrVersion = errors.New("unknown format version")
	// ErrBase says that a delta starts from other content than the one given.
	ErrBase = errors.New("delta is for another base")
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

func hashOf(content []byte) (h Hash) {
	sum := sha256.Sum256(content)
	copy(h[:], sum[:])
	return h
}

// RawHash is a fast hash of a body as fetched: equal bodies need no extraction.
// It is for comparison within one node, not for proof.
func RawHash(body []byte) uint64 { return xxhash.Sum64(body) }

// Document is what a poll brought. Extract keeps no reference to Body.
type Document struct {
	Body        []byte
	ContentType string // the header's value; a hint, may be empty
	URL         string // where it came from, against which links are resolved; may be empty
	Kind        Kind   // 0: found from content

	// Base is what the document said before, if known. It makes reading faster, and
	// changes nothing of what is read. What is read may share memory with it.
	Base *Core
}

// Core is a document's core content. It is made by [Extract], [ParseCore] and
// [ApplyDelta] alone, and is not changed afterwards.
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
	sources  sources                        // what the entries were read from; found by Extract alone
}

// Content returns the lines that say what the document says: Text without the
// notes on order and dates. It is not to be written to.
func (c *Core) Content() []byte { return c.Text[:len(c.content):len(c.content)] }

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

// Extract returns a document's core content. The error is a [*ParseError],
// [ErrEmpty] or [ErrTooLarge]. It never panics, expands no XML entity and
// opens nothing; its work is bounded by [MaxDocument].
func Extract(doc Document) (core *Core, err error) {
	kind := doc.Kind
	defer func() {
		// The feed parser is a third party's and panics on some input.
		if r := recover(); r != nil {
			core, err = nil, &ParseError{Kind: kind, Reason: fmt.Sprintf("parser failed: %.200v", r)}
		}
	}()
	if len(doc.Body) > MaxDocument {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, len(doc.Body), MaxDocument)
	}
	text, err := decodeText(doc.Body, doc.ContentType)
	if err != nil {
		return nil, err
	}
	var root string
	if kind, root, err = detect(text, doc); err != nil {
		return nil, err
	}
	known := familiarWith(doc.Base)
	d, err := extractKind(kind, root, baseURL(doc.URL), doc.Kind, known)
	if err == nil && known.misled(d.context) {
		d, err = extractKind(kind, root, baseURL(doc.URL), doc.Kind, nil)
	}
	if err != nil {
		return nil, err
	}
	rendered, err := d.render()
	if err != nil {
		return nil, err
	}
	if core, err = parseCore(rendered, doc.Base); err != nil {
		return nil, err
	}
	core.Hints, core.Cut, core.sources = d.hints, d.cut, d.sources()
	return core, nil
}

// extractKind reads a document of a kind that was found, where asked was asked for.
func extractKind(kind Kind, text string, base *url.URL, asked Kind, known *familiar) (*draft, error) {
	switch kind {
	case KindFeed:
		return extractFeed(text, base, known)
	case KindHTML:
		return extractHTML(text, base), nil
	case KindJSON:
		return extractJSON(text, base, asked, known)
	default:
		return extractText(text), nil
	}
}

// baseURL returns nil for what links cannot be resolved against.
func baseURL(raw string) *url.URL {
	base, err := url.Parse(raw)
	if err != nil || base.Host == "" {
		return nil
	}
	return base
}
