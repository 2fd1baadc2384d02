package deltas

import (
	"fmt"
	"slices"
	"strings"
)

// maxValues is how many values a JSON document may hold: each costs memory many
// times its length.
const maxValues = 250_000

// jsonValue is a value of a JSON document. Its texts stand in the document, as
// far as they are written there as they are meant.
type jsonValue struct {
	kind     byte        // what it begins with; '0' for all numbers
	name     string      // of an object's member
	text     string      // of a string, decoded; of all else, as written
	children []jsonValue // members, in the order of their names, each once; elements
}

// readJSON reads a JSON document. The error is [ErrTooLarge], or a [*ParseError]
// of the kind given.
func readJSON(text string, kind Kind) (jsonValue, error) {
	r := jsonReader{text: text}
	root := r.value()
	if r.peek(); r.at < len(text) {
		r.fail()
	}
	switch {
	case r.large:
		return jsonValue{}, fmt.Errorf("%w: JSON of more than %d values, or more than %d deep", ErrTooLarge, maxValues, maxDepth)
	case r.failed:
		return jsonValue{}, &ParseError{Kind: kind, Reason: "not valid JSON, or cut short"}
	}
	return root, nil
}

// jsonReader reads JSON in one pass, as encoding/json does. After a failure it
// stands at the end.
type jsonReader struct {
	text          string
	at            int
	values, depth int
	open          []jsonValue // the children, so far, of what has not ended yet
	order         []int       // of the members of the object that ended last
	scratch       []byte
	failed, large bool
}

func (r *jsonReader) fail() {
	r.failed, r.at = true, len(r.text)
}

// peek passes over white space and returns the byte behind it, 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

func (r *jsonReader) value() jsonValue {
	switch c := r.peek(); c {
	case '"':
		return jsonValue{kind: c, text: r.string()}
	case '{', '[':
		return r.container(c)
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	default:
		return jsonValue{kind: '0', text: r.number()}
	}
}

func (r *jsonReader) literal(word string) jsonValue {
	if !strings.HasPrefix(r.text[r.at:], word) {
		r.fail()
		return jsonValue{}
	}
	r.at += len(word)
	return jsonValue{kind: word[0], text: word}
}

// container reads the object or array that begins here.
func (r *jsonReader) container(begin byte) jsonValue {
	begins := r.at
	r.at++
	if r.depth++; r.depth > maxDepth {
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
	v := jsonValue{kind: begin, text: r.text[begins:r.at]}
	if begin == '{' {
		v.children = r.members(r.open[from:])
	} else {
		v.children = slices.Clone(r.open[from:])
	}
	r.open = r.open[:from]
	return v
}

// child reads a member of an object or an element of an array.
func (r *jsonReader) child(parent byte) jsonValue {
	if r.values++; r.values > maxValues {
		r.large = true
		r.fail()
		return jsonValue{}
	}
	name := ""
	if parent == '{' {
		if r.peek() != '"' {
			r.fail()
			return jsonValue{}
		}
		if name = r.string(); !r.take(':') {
			r.fail()
		}
	}
	v := r.value()
	v.name = name
	return v
}

// members returns the members of an object in the order of their names. Of those
// with one name the last counts.
func (r *jsonReader) members(read []jsonValue) []jsonValue {
	r.order = r.order[:0]
	for i := range read {
		r.order = append(r.order, i)
	}
	slices.SortFunc(r.order, func(a, b int) int {
		if c := strings.Compare(read[a].name, read[b].name); c != 0 {
			return c
		}
		return a - b
	})
	members := make([]jsonValue, 0, len(read))
	for i, at := range r.order {
		if i+1 == len(read) || read[r.order[i+1]].name != read[at].name {
			members = append(members, read[at])
		}
	}
	return members
}

// member returns the object's member of that name, the zero value if it has none.
func (v *jsonValue) member(name string) jsonValue {
	if v.kind == '{' {
		at, ok := slices.BinarySearchFunc(v.children, name, func(m jsonValue, name string) int { return strings.Compare(m.name, name) })
		if ok {
			return v.children[at]
		}
	}
	return jsonValue{}
}

// number reads a number and returns it as written.
func (r *jsonReader) number() string {
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
func (r *jsonReader) skip(any string) bool {
	ok := r.at < len(r.text) && strings.IndexByte(any, r.text[r.at]) >= 0
	if ok {
		r.at++
	}
	return ok
}

func (r *jsonReader) digits() bool {
	from := r.at
	for r.at < len(r.text) && isDigit(r.text[r.at]) {
		r.at++
	}
	return r.at > from
}

// string reads the string that begins here.
func (r *jsonReader) string() string {
	text, size := jsonString(r.text[r.at:], &r.scratch)
	if size == 0 {
		r.fail()
		return ""
	}
	r.at += size
	return text
}
