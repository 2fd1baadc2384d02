package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// maxValues is how many values a JSON document may hold: each costs memory many
// times its length.
const maxValues = 250_000

var errTooLarge = fmt.Errorf("%w: JSON of more than %d values, or more than %d deep", content.ErrTooLarge, maxValues, scan.MaxDepth)

// Value is a value of a JSON document.
type Value struct {
	Kind     byte    // what it begins with; '0' for all numbers
	Name     string  // of an object's member
	Text     string  // of a string, decoded; of all else, as written
	Children []Value // members, in the order of their names, each once; elements
}

// Read reads a JSON document. The error is [content.ErrTooLarge], or a
// [*content.ParseError] of the kind given.
func Read(text string, kind content.Kind) (Value, error) {
	r := reader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text}
	r.UseNumber()
	root, err := r.value(0)
	if errors.Is(err, content.ErrTooLarge) {
		return Value{}, err
	}
	if _, end := r.Token(); err != nil || end != io.EOF {
		return Value{}, &content.ParseError{Kind: kind, Reason: "not valid JSON, or cut short"}
	}
	return root, nil
}

// reader reads a document token by token.
type reader struct {
	*json.Decoder
	text   string
	values int // read so far
}

// value reads a value that stands in as many others as depth says.
func (r *reader) value(depth int) (Value, error) {
	token, err := r.Token()
	if err != nil {
		return Value{}, err
	}
	switch token := token.(type) {
	case json.Delim:
		return r.container(byte(token), depth+1)
	case string:
		return Value{Kind: '"', Text: token}, nil
	case json.Number:
		return Value{Kind: '0', Text: token.String()}, nil
	case bool:
		text := strconv.FormatBool(token)
		return Value{Kind: text[0], Text: text}, nil
	default:
		return Value{Kind: 'n', Text: "null"}, nil
	}
}

// container reads the object or array whose bracket was read.
func (r *reader) container(begin byte, depth int) (Value, error) {
	if depth > scan.MaxDepth {
		return Value{}, errTooLarge
	}
	from := r.InputOffset() - 1
	v := Value{Kind: begin}
	for r.More() {
		if r.values++; r.values > maxValues {
			return Value{}, errTooLarge
		}
		child, err := r.child(begin, depth)
		if err != nil {
			return Value{}, err
		}
		v.Children = append(v.Children, child)
	}
	if _, err := r.Token(); err != nil {
		return Value{}, err
	}
	v.Text = r.text[from:r.InputOffset()]
	if begin == '{' {
		v.Children = sortedMembers(v.Children)
	}
	return v, nil
}

// child reads a member of an object or an element of an array.
func (r *reader) child(parent byte, depth int) (Value, error) {
	name := ""
	if parent == '{' {
		token, err := r.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ = token.(string) // nothing else stands there without an error
	}
	v, err := r.value(depth)
	v.Name = name
	return v, err
}

// sortedMembers returns members in the order of their names, in the memory of those
// given. Of those with one name the last counts.
func sortedMembers(members []Value) []Value {
	slices.SortStableFunc(members, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	kept := members[:0]
	for i, m := range members {
		if i+1 == len(members) || members[i+1].Name != m.Name {
			kept = append(kept, m)
		}
	}
	return kept
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
