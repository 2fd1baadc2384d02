package deltas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxValues is how many values a JSON document may hold: each costs memory many
// times its length.
const maxValues = 250_000

// extractJSON makes canonical lines of a JSON document: members in the order of
// their names, a line for each value. A list whose members have an identity
// becomes entries, so that its order and what moves in it is no update.
func extractJSON(text string, base *url.URL) (*draft, error) {
	root, err := parseJSON(text, KindJSON)
	if err != nil {
		return nil, err
	}
	d := &draft{kind: KindJSON}
	list, name := findList(root)
	if list != nil {
		candidates := make([]candidate, 0, len(list.items))
		for _, item := range list.items {
			candidates = append(candidates, jsonCandidate(item, list.key, base))
		}
		d.entries = identify(candidates, "")
		root = without(root, name)
	}
	var w jsonWriter
	if root != nil {
		w.value("", root)
	}
	d.lines = w.lines
	return d, w.err()
}

// parseJSON returns the document's tree: map[string]any, []any, json.Number,
// string, bool and nil.
func parseJSON(text string, kind Kind) (any, error) {
	if values, depth := measureJSON(text); values > maxValues || depth > maxDepth {
		return nil, fmt.Errorf("%w: JSON of %d values, %d deep", ErrTooLarge, values, depth)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, &ParseError{Kind: kind, Reason: fmt.Sprintf("%.200v", err)}
	}
	return root, nil
}

// measureJSON returns about how many values a JSON text holds and how deep they
// are nested, without parsing it.
func measureJSON(text string) (values, deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return values, deepest
}

// list is a JSON array whose members have an identity under key.
type list struct {
	items []map[string]any
	key   string
}

// identityNames are the members that identify, the surest first.
var identityNames = [...]string{"id", "guid", "_id", "uuid", "node_id", "link", "permalink", "html_url", "url", "href", "uri", "slug", "key"}

// listNames are what the list of a document's items is called, the likeliest first.
var listNames = [...]string{"items", "entries", "results", "data", "posts", "articles", "stories", "records", "list", "hits", "children"}

// findList returns the list of a document's items and the member it stands
// under, "" for the document itself; nil if there is none.
func findList(root any) (*list, string) {
	if l := asList(root); l != nil {
		return l, ""
	}
	object, _ := root.(map[string]any)
	for _, name := range append(listNames[:], sortedNames(object)...) {
		if l := asList(object[name]); l != nil {
			return l, name
		}
	}
	return nil, ""
}

func asList(v any) *list {
	array, _ := v.([]any)
	if len(array) == 0 || len(array) > MaxEntries {
		return nil
	}
	l := &list{items: make([]map[string]any, 0, len(array))}
	for _, member := range array {
		if member == nil {
			continue
		}
		object, ok := member.(map[string]any)
		if !ok {
			return nil
		}
		l.items = append(l.items, object)
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
func identifies(items []map[string]any, key string) bool {
	distinct := make(map[string]bool, len(items))
	for _, item := range items {
		id := scalar(item[key])
		if id == "" {
			return false
		}
		distinct[id] = true
	}
	return len(items) > 0 && len(distinct)*10 >= len(items)*9
}

// without returns the document without the list, nil if nothing is left.
func without(root any, name string) any {
	object, ok := root.(map[string]any)
	if !ok || name == "" {
		return nil
	}
	delete(object, name)
	if len(object) == 0 {
		return nil
	}
	return object
}

// jsonCandidate makes an entry of a list's member. Its dates go to the notes.
func jsonCandidate(item map[string]any, key string, base *url.URL) candidate {
	e := draftEntry{published: memberDate(item, publishedNames[:]), updated: memberDate(item, updatedNames[:])}
	var w jsonWriter
	w.members("", item)
	e.lines = w.lines
	id := scalar(item[key])
	if isHTTP(id) {
		id = firstOf(cleanLink(id, base), id)
	}
	return candidate{guid: oneLine(id), entry: e}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

func sortedNames(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// jsonWriter writes values as lines. Commas are left out: they say nothing that
// the lines do not, and would make an edit of the line before an added one.
type jsonWriter struct {
	lines []string
	bytes int
}

func (w *jsonWriter) add(line string) {
	if w.bytes += len(line) + 1; w.bytes <= MaxText {
		w.lines = append(w.lines, line)
	}
}

func (w *jsonWriter) err() error {
	if w.bytes > MaxText {
		return fmt.Errorf("%w: JSON of more than %d bytes, a value a line", ErrTooLarge, MaxText)
	}
	return nil
}

// value writes v behind prefix, which ends with the member's name if it has one.
func (w *jsonWriter) value(prefix string, v any) {
	margin := prefix[:len(prefix)-len(strings.TrimLeft(prefix, " "))]
	switch v := v.(type) {
	case map[string]any:
		w.add(prefix + "{")
		w.members(margin+indent, v)
		w.add(margin + "}")
	case []any:
		w.add(prefix + "[")
		for _, member := range v {
			w.value(margin+indent, member)
		}
		w.add(margin + "]")
	default:
		w.add(prefix + quoteJSON(v))
	}
}

// members writes an object's members, those aside that only say when the
// document was made.
func (w *jsonWriter) members(margin string, object map[string]any) {
	for _, name := range sortedNames(object) {
		if !stampNames[strings.ToLower(name)] {
			w.value(margin+quoteJSON(name)+": ", object[name])
		}
	}
}

// quoteJSON returns a scalar as JSON, < and & as they are.
func quoteJSON(v any) string {
	switch v := v.(type) {
	case string:
		return quoteString(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

func quoteString(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= 0x7f }) < 0 {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("deltas: quote: %v", err)) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
