package deltas

import (
	"net/url"
	"slices"
	"strings"
)

// extractJSON makes canonical lines of a JSON document: members in the order of
// their names, a line for each value. A list whose members have an identity
// becomes entries, so that its order and what moves in it is no update. The document
// is used up.
func extractJSON(root *jsonValue, base *url.URL, known *familiar) (*draft, error) {
	d := &draft{kind: KindJSON, context: contextOf(base, "json")}
	var w jsonWriter
	lists := takeLists(root)
	for _, l := range lists {
		d.entries = slices.Grow(d.entries, len(l.items))
		for i := range l.items {
			d.entries = append(d.entries, w.entry(&l.items[i], l, base, known))
		}
	}
	d.entries = identify(d.entries, "")
	if lists == nil || len(root.children) > 0 {
		w.value(0, root)
		d.lines = w.flush()
	}
	return d, w.err()
}

// scalar returns the text of the object's member of that name, if it is a string
// or a number.
func (v *jsonValue) scalar(name string) string {
	m := v.member(name)
	return scalarOf(&m)
}

func scalarOf(v *jsonValue) string {
	switch v.kind {
	case '"':
		return strings.TrimSpace(v.text)
	case '0':
		return v.text
	}
	return ""
}

// entry makes an entry, whose identity is not yet told from others, of an item. Its
// dates go to the notes.
func (w *jsonWriter) entry(item *jsonValue, l *jsonList, base *url.URL, known *familiar) draftEntry {
	source := sourceOf(item.text) ^ l.salt
	if e, ok := known.take(source); ok {
		return e
	}
	w.members(0, item.children)
	e := draftEntry{id: l.idOf(item, base), source: source, lines: w.flush()}
	e.published, e.updated = memberDates(item)
	return e
}
