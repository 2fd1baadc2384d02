package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// Writer writes values as lines. Commas are left out: they say nothing that
// the lines do not, and would make an edit of the line before an added one.
type Writer struct {
	text  []byte // of lines, not flushed yet
	ends  []int  // of the lines in text
	large bool
}

// Flush returns the lines written since the last flush.
func (w *Writer) Flush() []string {
	text, from := string(w.text), 0
	lines := make([]string, len(w.ends))
	for i, end := range w.ends {
		lines[i], from = text[from:end], end
	}
	w.text, w.ends = w.text[:0], w.ends[:0]
	return lines
}

func (w *Writer) err() error {
	if w.large {
		return fmt.Errorf("%w: JSON of more than %d bytes, a value a line", content.ErrTooLarge, content.MaxText)
	}
	return nil
}

// end ends the line.
func (w *Writer) end() {
	if len(w.text)+len(w.ends) > content.MaxText {
		w.large = true
		w.text, w.ends = w.text[:0], w.ends[:0]
	}
	w.ends = append(w.ends, len(w.text))
}

func (w *Writer) margin(depth int) {
	for range depth {
		w.text = append(w.text, content.Indent...)
	}
}

// Value writes v behind what stands on the line, and ends it.
func (w *Writer) Value(depth int, v *Value) {
	if w.large {
		return
	}
	if v.Kind != '{' && v.Kind != '[' {
		w.scalar(v)
		w.end()
		return
	}
	w.text = append(w.text, v.Kind)
	w.end()
	if v.Kind == '{' {
		w.members(depth+1, v.Children)
	} else {
		w.elements(depth+1, v.Children)
	}
	w.margin(depth)
	w.text = append(w.text, v.Kind+2)
	w.end()
}

func (w *Writer) elements(depth int, elements []Value) {
	for i := range elements {
		w.margin(depth)
		w.Value(depth, &elements[i])
	}
}

// members writes an object's members, those aside that only say when the
// document was made.
func (w *Writer) members(depth int, members []Value) {
	for i := range members {
		if m := &members[i]; !m.isStamp() {
			w.margin(depth)
			w.quote(m.Name)
			w.text = append(w.text, ": "...)
			w.Value(depth, m)
		}
	}
}

// scalar writes a scalar as JSON, < and & as they are.
func (w *Writer) scalar(v *Value) {
	if v.Kind == '"' {
		w.quote(links.WithoutTracking(v.Text))
	} else {
		w.text = append(w.text, v.Text...)
	}
}

// quote writes a string as JSON, < and & as they are.
func (w *Writer) quote(s string) {
	b := bytes.NewBuffer(w.text)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // of a string, to memory
	}
	w.text = b.Bytes()[:b.Len()-1] // Encode ends the line
}
