package jsondoc

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// list is an array of a JSON document whose items become entries: objects, or rows
// of a table as objects whose members are named 1, 2, ….
type list struct {
	items  []Value
	key    []column // what identifies an item: one column, if that is an ID, which a few items may lack, or a URL
	prefix string   // of the identities, unless the key is an ID or a URL
	salt   uint64   // digest of prefix and key, on which depends what an item's bytes mean
}

func newList(items []Value, key []column, prefix string) *list {
	l := &list{items: items, key: key, prefix: prefix}
	for _, c := range key {
		prefix += "\x00" + c.path()
	}
	l.salt = content.SourceOf(prefix)
	return l
}

// idOf returns the identity of an item by the list's key. An item without the ID that
// the others have is known by the first of identityNames that it has; empty: it has
// none.
func (l *list) idOf(item *Value, base *url.URL) string {
	if l.prefix == "" {
		id := scalarOf(l.key[0].in(item))
		for i := 0; id == "" && i < len(identityNames); i++ {
			id = item.Scalar(identityNames[i])
		}
		if links.IsHTTP(id) {
			id = cmp.Or(links.Clean(id, base), id)
		}
		return lines.Clean(id)
	}
	parts := make([]string, len(l.key))
	for i, c := range l.key {
		parts[i] = c.path() + "=" + links.WithoutTracking(scalarOf(c.in(item)))
	}
	return lines.Clean(l.prefix + strings.Join(parts, "&") + "]")
}

// identityNames are the members that identify, the surest first.
var identityNames = [...]string{"id", "guid", "_id", "uuid", "node_id", "link", "permalink", "html_url", "url", "href", "uri", "slug", "key"}

// listNames are what the list of a document's items is called, the likeliest first.
var listNames = [...]string{"items", "entries", "results", "data", "posts", "articles", "stories", "records", "list", "hits", "children"}

// takeLists takes the lists whose items become entries out of a document: the first of
// its members whose items have IDs, else all lists at any depth whose items can be told
// apart, the first that has IDs by these, the others by their texts.
func takeLists(root *Value) []*list {
	var t listTaker
	if root.Kind != '{' {
		if t.takes(root, "") {
			root.Children = nil
		}
		return t.lists
	}
	for _, name := range listNames {
		m := root.Member(name)
		if l := listWithIDs(&m); l != nil {
			root.leave(name)
			return []*list{l}
		}
	}
	for i := range root.Children {
		if l := listWithIDs(&root.Children[i]); l != nil {
			root.leave(root.Children[i].Name)
			return []*list{l}
		}
	}
	t.object(root, "")
	return t.lists
}

// leave leaves out the member of that name.
func (v *Value) leave(name string) {
	v.Children = slices.DeleteFunc(v.Children, func(m Value) bool { return m.Name == name })
}

// listTaker takes lists without IDs out of objects.
type listTaker struct {
	lists          []*list
	entries, depth int
	known          bool // one of them by IDs, which another may have too
}

// maxListDepth is how many objects a list without IDs stands in at most.
const maxListDepth = 4

// object takes the lists out of an object whose members' paths begin with path.
func (t *listTaker) object(v *Value, path string) {
	rest := make([]Value, 0, len(v.Children))
	for _, m := range v.Children {
		if !t.takes(&m, path+m.Name) {
			rest = append(rest, m)
		}
	}
	v.Children = rest
}

// takes takes the lists out of a member, and reports whether nothing stays of it.
func (t *listTaker) takes(m *Value, path string) bool {
	switch {
	case m.Kind == '{' && len(m.Children) > 0 && t.depth < maxListDepth:
		t.depth++
		t.object(m, path+".")
		t.depth--
		return len(m.Children) == 0
	case m.Kind == '[' && len(m.Children) <= content.MaxEntries-t.entries:
		l := listWithIDs(m)
		if t.known || l == nil {
			l = chosenList(m, path)
		} else {
			t.known = true
		}
		if l == nil {
			return false
		}
		t.lists = append(t.lists, l)
		t.entries += len(l.items)
		return true
	}
	return false
}

// itemsOf returns an array's objects and rows, null passed over; nil if it holds
// anything else.
func itemsOf(v *Value) []Value {
	if v.Kind != '[' || len(v.Children) > content.MaxEntries {
		return nil
	}
	objects := 0
	for i := range v.Children {
		switch v.Children[i].Kind {
		case '{':
			objects++
		case '[', 'n':
		default:
			return nil
		}
	}
	if objects == len(v.Children) {
		return v.Children
	}
	items := make([]Value, 0, len(v.Children))
	for _, item := range v.Children {
		if item.Kind != 'n' {
			items = append(items, item.asObject())
		}
	}
	return items
}

// asObject returns a row as an object.
func (v Value) asObject() Value {
	if v.Kind == '[' {
		v.Kind, v.Children = '{', slices.Clone(v.Children)
		for i := range v.Children {
			v.Children[i].Name = strconv.Itoa(i + 1)
		}
	}
	return v
}

// listWithIDs returns an array as a list whose items have IDs.
func listWithIDs(v *Value) *list {
	items := itemsOf(v)
	for _, name := range identityNames {
		if identifies(items, name) {
			return newList(items, []column{{name: name}}, "")
		}
	}
	return nil
}

// identifies reports whether three quarters of the items have a scalar under a name, and
// there are nine different ones for ten of these items. A few items without it do not
// change how the others are known.
func identifies(items []Value, name string) bool {
	var ids []string
	for i := range items {
		if id := items[i].Scalar(name); id != "" {
			ids = append(ids, id)
		} else if missing := i + 1 - len(ids); 4*missing > len(items) {
			return false
		}
	}
	return len(ids) > 0 && nearlyAll(distinct(ids), len(ids))
}

func nearlyAll(some, all int) bool { return some*10 >= all*9 }
