package jsondoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// maxValues is how many values a JSON document may hold: each costs memory many
// times its length.
const maxValues = 250_000

// Value is a value of a JSON document. Its texts stand in the document, as
// far as they are written there as they are meant.
type Value struct {
	Kind     byte    // what it begins with; '0' for all numbers
	Name     string  // of an object's member
	Text     string  // of a string, decoded; of all else, as written
	Children []Value // members, in the order of their names, each once; elements
}

// Read reads a JSON document. The error is [content.ErrTooLarge], or a
// [*content.ParseError] of the kind given.
func Read(text string, kind content.Kind) (Value, error) {
	r := reader{text: text}
	root := r.value()
	if r.peek(); r.at < len(text) {
		r.fail()
	}
	switch {
	case r.large:
		return Value{}, fmt.Errorf("%w: JSON of more than %d values, or more than %d deep", content.ErrTooLarge, maxValues, scan.MaxDepth)
	case r.failed:
		return Value{}, &content.ParseError{Kind: kind, Reason: "not valid JSON, or cut short"}
	}
	return root, nil
}

// reader reads JSON in one pass, as encoding/json does. After a failure it
// stands at the end.
type reader struct {
	text          string
	at            int
	values, depth int
	open          []Value // the children, so far, of what has not ended yet
	order         []int   // of the members of the object that ended last
	scratch       []byte
	failed, large bool
}

func (r *reader) fail() {
	r.failed, r.at = true, len(r.text)
}

// peek passes over white space and returns the byte behind it, 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) value() Value {
	switch c := r.peek(); c {
	case '"':
		return Value{Kind: c, Text: r.string()}
	case '{', '[':
		return r.container(c)
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	default:
		return Value{Kind: '0', Text: r.number()}
	}
}

func (r *reader) literal(word string) Value {
	if !strings.HasPrefix(r.text[r.at:], word) {
		r.fail()
		return Value{}
	}
	r.at += len(word)
	return Value{Kind: word[0], Text: word}
}

// container reads the object or array that begins here.
func (r *reader) container(begin byte) Value {
	begins := r.at
	r.at++
	if r.depth++; r.depth > scan.MaxDepth {
		r.large = true
		r.fail()
	}
	end, from := begin+2, len(r.open) // in ASCII the brackets are two apart
	if !r.take(end) {
		for more := true; more; more = r.take(',') {
			r.open = append(r.open, r.child(begin))
		}
		if !r.take(end) {
			r.fail()
		}
	}
	r.depth--
	v := Value{Kind: begin, Text: r.text[begins:r.at]}
	if begin == '{' {
		v.Children = r.members(r.open[from:])
	} else {
		v.Children = slices.Clone(r.open[from:])
	}
	r.open = r.open[:from]
	return v
}

// child reads a member of an object or an element of an array.
func (r *reader) child(parent byte) Value {
	if r.values++; r.values > maxValues {
		r.large = true
		r.fail()
		return Value{}
	}
	name := ""
	if parent == '{' {
		if r.peek() != '"' {
			r.fail()
			return Value{}
		}
		if name = r.string(); !r.take(':') {
			r.fail()
		}
	}
	v := r.value()
	v.Name = name
	return v
}

// members returns the members of an object in the order of their names. Of those
// with one name the last counts.
func (r *reader) members(read []Value) []Value {
	r.order = r.order[:0]
	for i := range read {
		r.order = append(r.order, i)
	}
	slices.SortFunc(r.order, func(a, b int) int {
		if c := strings.Compare(read[a].Name, read[b].Name); c != 0 {
			return c
		}
		return a - b
	})
	members := make([]Value, 0, len(read))
	for i, at := range r.order {
		if i+1 == len(read) || read[r.order[i+1]].Name != read[at].Name {
			members = append(members, read[at])
		}
	}
	return members
}

// Member returns the object's member of that name, the zero value if it has none.
func (v *Value) Member(name string) Value {
	if v.Kind == '{' {
		at, ok := slices.BinarySearchFunc(v.Children, name, func(m Value, name string) int { return strings.Compare(m.Name, name) })
		if ok {
			return v.Children[at]
		}
	}
	return Value{}
}

// number reads a number and returns it as written.
func (r *reader) number() string {
	from := r.at
	r.skip("-")
	ok := (r.skip("0") || r.digits()) && (!r.skip(".") || r.digits())
	if ok && r.skip("eE") {
		r.skip("+-")
		ok = r.digits()
	}
	if !ok {
		r.fail()
		return ""
	}
	return r.text[from:r.at]
}

// skip passes over one byte if it is one of those given.
func (r *reader) skip(any string) bool {
	ok := r.at < len(r.text) && strings.IndexByte(any, r.text[r.at]) >= 0
	if ok {
		r.at++
	}
	return ok
}

func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.text) && scan.IsDigit(r.text[r.at]) {
		r.at++
	}
	return r.at > from
}

// string reads the string that begins here.
func (r *reader) string() string {
	text, size := scan.JSONString(r.text[r.at:], &r.scratch)
	if size == 0 {
		r.fail()
		return ""
	}
	r.at += size
	return text
}
