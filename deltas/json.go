package deltas

import (
	"net/url"
	"strings"
)

// extractJSON makes canonical lines of a JSON document: members in the order of
// their names, a line for each value. A list whose members have an identity
// becomes entries, so that its order and what moves in it is no update. A
// document that calls itself a JSON Feed is a feed, unless JSON was asked for.
func extractJSON(text string, base *url.URL, asked Kind, known *familiar) (*draft, error) {
	root, err := readJSON(text, KindJSON)
	if err != nil {
		return nil, err
	}
	if asked == 0 && isJSONFeed(&root) {
		return jsonFeed(&root, base, known), nil
	}
	d := &draft{kind: KindJSON}
	var w jsonWriter
	rest := true
	if list, name := findList(&root); list != nil {
		d.entries = make([]draftEntry, 0, len(list.items))
		for i := range list.items {
			d.entries = append(d.entries, w.entry(&list.items[i], list.key, base, known))
		}
		d.entries = identify(d.entries, "")
		d.context = contextOf(base, "json", list.key)
		rest = root.leave(name)
	}
	if rest {
		w.value(0, &root)
		d.lines = w.flush()
	}
	return d, w.err()
}

// isJSONFeed goes by the version that JSON Feed asks for.
func isJSONFeed(root *jsonValue) bool {
	version := ""
	for _, m := range root.children {
		switch {
		case strings.EqualFold(m.name, "version"):
			if version = m.text; m.kind != '"' && m.kind != 'n' {
				return false
			}
		case strings.EqualFold(m.name, "items"):
			if m.kind != '[' && m.kind != 'n' {
				return false
			}
		}
	}
	return root.kind == '{' && strings.Contains(version, "jsonfeed.org/version/")
}

// list is a JSON array whose members have an identity under key.
type list struct {
	items []jsonValue
	key   string
}

// identityNames are the members that identify, the surest first.
var identityNames = [...]string{"id", "guid", "_id", "uuid", "node_id", "link", "permalink", "html_url", "url", "href", "uri", "slug", "key"}

// listNames are what the list of a document's items is called, the likeliest first.
var listNames = [...]string{"items", "entries", "results", "data", "posts", "articles", "stories", "records", "list", "hits", "children"}

// findList returns the list of a document's items and the member it stands
// under, "" for the document itself; nil if there is none.
func findList(root *jsonValue) (*list, string) {
	if root.kind != '{' {
		return asList(*root), ""
	}
	for _, name := range listNames {
		if l := asList(root.member(name)); l != nil {
			return l, name
		}
	}
	for _, m := range root.children {
		if l := asList(m); l != nil {
			return l, m.name
		}
	}
	return nil, ""
}

func asList(v jsonValue) *list {
	if v.kind != '[' || len(v.children) == 0 || len(v.children) > MaxEntries {
		return nil
	}
	l := &list{items: make([]jsonValue, 0, len(v.children))}
	for _, member := range v.children {
		switch member.kind {
		case '{':
			l.items = append(l.items, member)
		case 'n':
		default:
			return nil
		}
	}
	for _, key := range identityNames {
		if identifies(l.items, key) {
			l.key = key
			return l
		}
	}
	return nil
}

// identifies reports whether every item has a scalar under key and nearly all
// have another one.
func identifies(items []jsonValue, key string) bool {
	distinct := make(map[string]bool, len(items))
	for i := range items {
		id := items[i].scalar(key)
		if id == "" {
			return false
		}
		distinct[id] = true
	}
	return len(items) > 0 && len(distinct)*10 >= len(items)*9
}

// leave leaves out the member of that name, or all that there is; false if
// nothing stays.
func (v *jsonValue) leave(name string) bool {
	if name == "" {
		return false
	}
	rest := make([]jsonValue, 0, len(v.children))
	for _, m := range v.children {
		if m.name != name {
			rest = append(rest, m)
		}
	}
	v.children = rest
	return len(rest) > 0
}

// scalar returns the text of the object's member of that name, if it is a string
// or a number.
func (v *jsonValue) scalar(name string) string {
	switch m := v.member(name); m.kind {
	case '"':
		return strings.TrimSpace(m.text)
	case '0':
		return m.text
	}
	return ""
}

// entry makes an entry, that has no identity yet, of a list's member. Its dates go
// to the notes.
func (w *jsonWriter) entry(item *jsonValue, key string, base *url.URL, known *familiar) draftEntry {
	source := sourceOf(item.text)
	if e, ok := known.take(source); ok {
		return e
	}
	w.members(0, item.children)
	id := item.scalar(key)
	if isHTTP(id) {
		id = firstOf(cleanLink(id, base), id)
	}
	e := draftEntry{id: cleanLine(id), source: source, lines: w.flush()}
	e.published, e.updated = memberDates(item)
	return e
}
