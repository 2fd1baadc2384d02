package deltas

import (
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
	geoLabel   = "geometry: "
	catLabel   = "category: "
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
	hints          Hints
	cut            bool
	context        uint64 // see sources
}

// draftEntry is an entry on its way to text. In JSON documents the lines hold
// all that the document says, and title, link and summary are read back from them.
type draftEntry struct {
	id                   string
	title, link, summary string
	more                 []string // lines of geometry and categories, with their labels
	published, updated   string   // RFC 3339 or empty
	lines                []string
	rest                 string // if the document before had it: its section behind the ID, instead of the above but title
	source               uint64 // digest of what it was read from, 0: not remembered
}

// section returns the entry's lines in the content.
func (e *draftEntry) section() string { return string(e.appendSection(nil)) }

func (e *draftEntry) appendSection(b []byte) []byte {
	b = appendLine(b, entryLabel, e.id)
	if e.rest != "" {
		return append(b, e.rest...)
	}
	for _, field := range [...]struct{ label, value string }{
		{titleLabel, e.title}, {linkLabel, e.link}, {sumLabel, e.summary},
	} {
		if field.value != "" {
			b = appendLine(b, field.label, field.value)
		}
	}
	for _, line := range e.more {
		b = appendLine(b, "", line)
	}
	for _, line := range e.lines {
		b = appendLine(b, indent, line)
	}
	return b
}

func appendLine(b []byte, label, text string) []byte {
	return append(append(append(b, label...), text...), '\n')
}

// size is a length in bytes that the core text hardly exceeds.
func (d *draft) size() int {
	n := 512 + len(d.title) + len(d.feedURL)
	for _, line := range d.lines {
		n += len(line) + 4
	}
	for i := range d.entries {
		e := &d.entries[i]
		n += len(e.id) + len(e.title) + len(e.link) + len(e.summary) + len(e.rest) + 100
		for _, line := range e.more {
			n += len(line) + 1
		}
		for _, line := range e.lines {
			n += len(line) + 4
		}
	}
	return n
}

// render returns the core text. Entries stand in the order of their identity,
// so that the content does not depend on the document's order, which the notes
// keep.
func (d *draft) render() ([]byte, error) {
	if len(d.lines) > MaxLines {
		return nil, fmt.Errorf("%w: more than %d lines", ErrTooLarge, MaxLines)
	}
	b := appendLine(make([]byte, 0, d.size()), textMagic, d.kind.String())
	if d.title != "" {
		b = appendLine(b, titleLabel, d.title)
	}
	b = d.appendBody(b)
	order := d.sorted()
	for _, i := range order {
		b = d.entries[i].appendSection(b)
	}
	if len(b) > MaxText {
		return nil, fmt.Errorf("%w: %d bytes of content, at most %d are kept", ErrTooLarge, len(b), MaxText)
	}
	return d.notes(order).append(b), nil
}

// core returns the content that the draft renders, many of whose entries may be those
// of base, which may be nil.
func (d *draft) core(base *Core) (*Core, error) {
	rendered, err := d.render()
	if err != nil {
		return nil, err
	}
	core, err := parseCore(rendered, base)
	if err != nil {
		return nil, err
	}
	core.Hints, core.Cut, core.sources = d.hints, d.cut, d.sources()
	return core, nil
}

func (d *draft) appendBody(b []byte) []byte {
	prefix := indent
	if d.kind == KindHTML || d.kind == KindText {
		prefix = ""
		b = append(b, '\n')
	}
	for _, line := range d.lines {
		b = appendLine(b, prefix, line)
	}
	return b
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

// notes returns the notes of a content whose entries stand in the given order.
func (d *draft) notes(order []int) *notes {
	n := &notes{feedURL: d.feedURL, entries: make([]note, len(order))}
	for place, i := range order {
		n.entries[i] = note{place: place, published: d.entries[i].published, updated: d.entries[i].updated}
	}
	return n
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

func (n *notes) append(b []byte) []byte {
	b = append(b, notesMark...)
	if n.feedURL != "" {
		b = appendLine(b, feedLabel, n.feedURL)
	}
	for _, e := range n.entries {
		b = append(strconv.AppendInt(b, int64(e.place), 10), ' ')
		b = append(append(b, dash(e.published)...), ' ')
		b = append(append(b, dash(e.updated)...), '\n')
	}
	return b
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
