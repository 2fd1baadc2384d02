// Package jsondoc reads JSON in one pass, and makes entries and lines of documents that
// are not JSON Feed.
package jsondoc

import (
	"net/url"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Draft makes canonical lines of a JSON document: members in the order of
// their names, a line for each value. A list whose members have an identity
// becomes entries, so that its order and what moves in it is no update. The document
// is used up.
func Draft(root *Value, base *url.URL, known *content.Familiar) (*content.Draft, error) {
	d := &content.Draft{Kind: content.KindJSON, Context: content.ContextOf(base, "json")}
	var w Writer
	lists := takeLists(root)
	for _, l := range lists {
		d.Entries = slices.Grow(d.Entries, len(l.items))
		for i := range l.items {
			d.Entries = append(d.Entries, w.entry(&l.items[i], l, base, known))
		}
	}
	d.Entries = content.Identify(d.Entries, "")
	if lists == nil || len(root.Children) > 0 {
		w.Value(0, root)
		d.Lines = w.Flush()
	}
	return d, w.err()
}

// Scalar returns the text of the object's member of that name, if it is a string
// or a number.
func (v *Value) Scalar(name string) string {
	m := v.Member(name)
	return scalarOf(&m)
}

func scalarOf(v *Value) string {
	switch v.Kind {
	case '"':
		return strings.TrimSpace(v.Text)
	case '0':
		return v.Text
	}
	return ""
}

// entry makes an entry, whose identity is not yet told from others, of an item. Its
// dates go to the notes.
func (w *Writer) entry(item *Value, l *list, base *url.URL, known *content.Familiar) content.DraftEntry {
	source := content.SourceOf(item.Text) ^ l.salt
	if e, ok := known.Take(source); ok {
		return e
	}
	w.members(0, item.Children)
	e := content.DraftEntry{ID: l.idOf(item, base), Source: source, Lines: w.Flush()}
	e.Published, e.Updated = memberDates(item)
	return e
}
