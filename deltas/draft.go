package deltas

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The words of the core text format (DESIGN.md, "Core text").
const (
	textMagic  = "corona-core 1 "
	titleLabel = "title: "
	entryLabel = "entry: "
	linkLabel  = "link: "
	sumLabel   = "summary: "
	indent     = "  "
	notesMark  = "\x1enotes 1\n" // no line of content holds a control character
	feedLabel  = "feed: "
)

// draft is core content on its way to text.
type draft struct {
	kind           Kind
	title, feedURL string
	lines          []string // of the document itself: all that HTML and text have
	entries        []draftEntry
}

// draftEntry is an entry on its way to text. In JSON documents the lines hold
// all that the document says, and title, link and summary are read back from them.
type draftEntry struct {
	id                   string
	title, link, summary string
	published, updated   string // RFC 3339 or empty
	lines                []string
}

// section returns the entry's lines in the content.
func (e *draftEntry) section() string {
	var b strings.Builder
	b.WriteString(entryLabel + e.id + "\n")
	for _, field := range [...]struct{ label, value string }{
		{titleLabel, e.title}, {linkLabel, e.link}, {sumLabel, e.summary},
	} {
		if field.value != "" {
			b.WriteString(field.label + field.value + "\n")
		}
	}
	for _, line := range e.lines {
		b.WriteString(indent + line + "\n")
	}
	return b.String()
}

// render returns the core text. Entries stand in the order of their identity,
// so that the content does not depend on the document's order, which the notes
// keep.
func (d *draft) render() ([]byte, error) {
	if len(d.lines) > MaxLines {
		return nil, fmt.Errorf("%w: more than %d lines", ErrTooLarge, MaxLines)
	}
	var b bytes.Buffer
	b.WriteString(textMagic + d.kind.String() + "\n")
	if d.title != "" {
		b.WriteString(titleLabel + d.title + "\n")
	}
	d.renderBody(&b)
	order := d.sorted()
	for _, i := range order {
		b.WriteString(d.entries[i].section())
	}
	if b.Len() > MaxText {
		return nil, fmt.Errorf("%w: %d bytes of content, at most %d are kept", ErrTooLarge, b.Len(), MaxText)
	}
	d.renderNotes(&b, order)
	return b.Bytes(), nil
}

func (d *draft) renderBody(b *bytes.Buffer) {
	prefix := indent
	if d.kind == KindHTML || d.kind == KindText {
		prefix = ""
		b.WriteByte('\n')
	}
	for _, line := range d.lines {
		b.WriteString(prefix + line + "\n")
	}
}

// sorted returns the entries' indexes in the order of their identity.
func (d *draft) sorted() []int {
	order := make([]int, len(d.entries))
	keys := make([]string, len(d.entries))
	for i := range order {
		order[i], keys[i] = i, identityKey(d.entries[i].id)
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := strings.Compare(keys[a], keys[b]); c != 0 {
			return c
		}
		return strings.Compare(d.entries[a].id, d.entries[b].id)
	})
	return order
}

func (d *draft) renderNotes(b *bytes.Buffer, order []int) {
	notes := notes{feedURL: d.feedURL, entries: make([]note, len(order))}
	for place, i := range order {
		notes.entries[i] = note{place: place, published: d.entries[i].published, updated: d.entries[i].updated}
	}
	notes.render(b)
}

// notes are what is kept beside the content and never makes an update: the
// document's order, dates, and the feed that a page names.
type notes struct {
	feedURL string
	entries []note // in the document's order
}

type note struct {
	place              int // in the content, from 0
	published, updated string
}

func (n *notes) render(b *bytes.Buffer) {
	b.WriteString(notesMark)
	if n.feedURL != "" {
		b.WriteString(feedLabel + n.feedURL + "\n")
	}
	for _, e := range n.entries {
		b.WriteString(strconv.Itoa(e.place) + " " + dash(e.published) + " " + dash(e.updated) + "\n")
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// undash is the inverse of dash.
func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}
