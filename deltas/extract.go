package deltas

import (
	"fmt"
	"net/url"

	"github.com/cespare/xxhash/v2"
)

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
	return d.core(doc.Base)
}

// extractKind reads a document of a kind that was found, where asked was asked for. A
// JSON document that calls itself a JSON Feed is a feed, unless JSON was asked for.
func extractKind(kind Kind, text string, base *url.URL, asked Kind, known *familiar) (*draft, error) {
	switch kind {
	case KindFeed:
		return extractFeed(text, base, known)
	case KindHTML:
		title, feedURL, lines := readPage(text, base)
		return &draft{kind: KindHTML, title: title, feedURL: feedURL, lines: lines}, nil
	case KindJSON:
		root, err := readJSON(text, KindJSON)
		if err != nil {
			return nil, err
		}
		if asked == 0 && isJSONFeed(&root) {
			return jsonFeed(&root, base, known), nil
		}
		return extractJSON(&root, base, known)
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
