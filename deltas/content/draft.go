package content

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The words of the core text format (DESIGN.md, "Core text").
const (
	TextMagic     = "corona-core 1 "
	TitleLabel    = "title: "
	EntryLabel    = "entry: "
	linkLabel     = "link: "
	sumLabel      = "summary: "
	GeometryLabel = "geometry: "
	CategoryLabel = "category: "
	Indent        = "  "
	NotesMark     = "\x1enotes 1\n" // no line of content holds a control character
	feedLabel     = "feed: "
)

// Draft is core content on its way to text.
type Draft struct {
	Kind           Kind
	Title, FeedURL string
	Lines          []string // of the document itself: all that HTML and text have
	Entries        []DraftEntry
	Hints          Hints
	Cut            bool
	Context        uint64 // see [ContextOf]
}

// DraftEntry is an entry on its way to text. In JSON documents the lines hold
// all that the document says, and title, link and summary are read back from them.
type DraftEntry struct {
	ID                   string
	Title, Link, Summary string
	More                 []string // lines of geometry and categories, with their labels
	Published, Updated   string   // RFC 3339 or empty
	Lines                []string
	rest                 string // if the document before had it: its section behind the ID, instead of the above but title
	Source               uint64 // digest of what it was read from, 0: not remembered
}

// section returns the entry's lines in the content.
func (e *DraftEntry) section() string { return string(e.appendSection(nil)) }

func (e *DraftEntry) appendSection(b []byte) []byte {
	b = appendLine(b, EntryLabel, e.ID)
	if e.rest != "" {
		return append(b, e.rest...)
	}
	for _, field := range [...]struct{ label, value string }{
		{TitleLabel, e.Title}, {linkLabel, e.Link}, {sumLabel, e.Summary},
	} {
		if field.value != "" {
			b = appendLine(b, field.label, field.value)
		}
	}
	for _, line := range e.More {
		b = appendLine(b, "", line)
	}
	for _, line := range e.Lines {
		b = appendLine(b, Indent, line)
	}
	return b
}

func appendLine(b []byte, label, text string) []byte {
	return append(append(append(b, label...), text...), '\n')
}

// size is a length in bytes that the core text hardly exceeds.
func (d *Draft) size() int {
	n := 512 + len(d.Title) + len(d.FeedURL)
	for _, line := range d.Lines {
		n += len(line) + 4
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		n += len(e.ID) + len(e.Title) + len(e.Link) + len(e.Summary) + len(e.rest) + 100
		for _, line := range e.More {
			n += len(line) + 1
		}
		for _, line := range e.Lines {
			n += len(line) + 4
		}
	}
	return n
}

// render returns the core text. Entries stand in the order of their identity,
// so that the content does not depend on the document's order, which the notes
// keep.
func (d *Draft) render() ([]byte, error) {
	if len(d.Lines) > MaxLines {
		return nil, fmt.Errorf("%w: more than %d lines", ErrTooLarge, MaxLines)
	}
	b := appendLine(make([]byte, 0, d.size()), TextMagic, d.Kind.String())
	if d.Title != "" {
		b = appendLine(b, TitleLabel, d.Title)
	}
	b = d.appendBody(b)
	order := d.sorted()
	for _, i := range order {
		b = d.Entries[i].appendSection(b)
	}
	if len(b) > MaxText {
		return nil, fmt.Errorf("%w: %d bytes of content, at most %d are kept", ErrTooLarge, len(b), MaxText)
	}
	return d.notes(order).Append(b), nil
}

// Core returns the content that the draft renders, many of whose entries may be those
// of base, which may be nil.
func (d *Draft) Core(base *Core) (*Core, error) {
	rendered, err := d.render()
	if err != nil {
		return nil, err
	}
	core, err := parseCore(rendered, base)
	if err != nil {
		return nil, err
	}
	core.Hints, core.Cut, core.sources = d.Hints, d.Cut, d.sources()
	return core, nil
}

func (d *Draft) appendBody(b []byte) []byte {
	prefix := Indent
	if d.Kind == KindHTML || d.Kind == KindText {
		prefix = ""
		b = append(b, '\n')
	}
	for _, line := range d.Lines {
		b = appendLine(b, prefix, line)
	}
	return b
}

// sorted returns the entries' indexes in the order of their identity.
func (d *Draft) sorted() []int {
	order := make([]int, len(d.Entries))
	keys := make([]string, len(d.Entries))
	for i := range order {
		order[i], keys[i] = i, identityKey(d.Entries[i].ID)
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := strings.Compare(keys[a], keys[b]); c != 0 {
			return c
		}
		return strings.Compare(d.Entries[a].ID, d.Entries[b].ID)
	})
	return order
}

// notes returns the notes of a content whose entries stand in the given order.
func (d *Draft) notes(order []int) *Notes {
	n := &Notes{FeedURL: d.FeedURL, Entries: make([]Note, len(order))}
	for place, i := range order {
		n.Entries[i] = Note{Place: place, Published: d.Entries[i].Published, Updated: d.Entries[i].Updated}
	}
	return n
}

// Notes are what is kept beside the content and never makes an update: the
// document's order, dates, and the feed that a page names.
type Notes struct {
	FeedURL string
	Entries []Note // in the document's order
}

// Note is what is kept of one entry. Dates are RFC 3339 or empty.
type Note struct {
	Place              int // in the content, from 0
	Published, Updated string
}

// Append appends the notes to the content b; together they are a [Core]'s Text.
func (n *Notes) Append(b []byte) []byte {
	b = append(b, NotesMark...)
	if n.FeedURL != "" {
		b = appendLine(b, feedLabel, n.FeedURL)
	}
	for _, e := range n.Entries {
		b = append(strconv.AppendInt(b, int64(e.Place), 10), ' ')
		b = append(append(b, dash(e.Published)...), ' ')
		b = append(append(b, dash(e.Updated)...), '\n')
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
