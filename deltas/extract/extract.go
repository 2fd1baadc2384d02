// Package extract makes content of a document's bytes: it decodes them, tells what kind
// of document they are, and has the reader of that kind make a draft.
package extract

import (
	"fmt"
	"net/url"

	"github.com/cespare/xxhash/v2"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
	"github.com/seed-91e7e7c1/corona/deltas/extract/jsondoc"
)

// RawHash is a fast hash of a body as fetched: equal bodies need no extraction.
// It is for comparison within one node, not for proof.
func RawHash(body []byte) uint64 { return xxhash.Sum64(body) }

// Document is what a poll brought. [Content] keeps no reference to Body.
type Document struct {
	Body        []byte
	ContentType string       // the header's value; a hint, may be empty
	URL         string       // where it came from, against which links are resolved; may be empty
	Kind        content.Kind // 0: found from content

	// Base is what the document said before, if known. It makes reading faster, and
	// changes nothing of what is read. What is read may share memory with it.
	Base *content.Core
}

// Content returns a document's core content. The error is a [*content.ParseError],
// [content.ErrEmpty] or [content.ErrTooLarge]. It never panics, expands no XML entity
// and opens nothing; its work is bounded by [content.MaxDocument].
func Content(doc Document) (core *content.Core, err error) {
	kind := doc.Kind
	defer func() {
		// The feed parser is a third party's and panics on some input.
		if r := recover(); r != nil {
			core, err = nil, &content.ParseError{Kind: kind, Reason: fmt.Sprintf("parser failed: %.200v", r)}
		}
	}()
	if len(doc.Body) > content.MaxDocument {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", content.ErrTooLarge, len(doc.Body), content.MaxDocument)
	}
	text, err := Decode(doc.Body, doc.ContentType)
	if err != nil {
		return nil, err
	}
	var root string
	if kind, root, err = Detect(text, doc); err != nil {
		return nil, err
	}
	known := content.FamiliarWith(doc.Base)
	d, err := extractKind(kind, root, baseURL(doc.URL), doc.Kind, known)
	if err == nil && known.Misled(d.Context) {
		d, err = extractKind(kind, root, baseURL(doc.URL), doc.Kind, nil)
	}
	if err != nil {
		return nil, err
	}
	return d.Core(doc.Base)
}

// extractKind reads a document of a kind that was found, where asked was asked for. A
// JSON document that calls itself a JSON Feed is a feed, unless JSON was asked for.
func extractKind(kind content.Kind, text string, base *url.URL, asked content.Kind, known *content.Familiar) (*content.Draft, error) {
	switch kind {
	case content.KindFeed:
		return feed.Read(text, base, known)
	case content.KindHTML:
		title, feedURL, lines := html.Read(text, base)
		return &content.Draft{Kind: content.KindHTML, Title: title, FeedURL: feedURL, Lines: lines}, nil
	case content.KindJSON:
		root, err := jsondoc.Read(text, content.KindJSON)
		if err != nil {
			return nil, err
		}
		if asked == 0 && feed.IsJSON(&root) {
			return feed.FromJSON(&root, base, known), nil
		}
		return jsondoc.Draft(&root, base, known)
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
