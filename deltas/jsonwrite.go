package deltas

import (
	"fmt"
	"strings"
)

// jsonWriter writes values as lines. Commas are left out: they say nothing that
// the lines do not, and would make an edit of the line before an added one.
type jsonWriter struct {
	text  []byte // of lines, not flushed yet
	ends  []int  // of the lines in text
	large bool
}

// flush returns the lines written since the last flush.
func (w *jsonWriter) flush() []string {
	text, from := string(w.text), 0
	lines := make([]string, len(w.ends))
	for i, end := range w.ends {
		lines[i], from = text[from:end], end
	}
	w.text, w.ends = w.text[:0], w.ends[:0]
	return lines
}

func (w *jsonWriter) err() error {
	if w.large {
		return fmt.Errorf("%w: JSON of more than %d bytes, a value a line", ErrTooLarge, MaxText)
	}
	return nil
}

// end ends the line.
func (w *jsonWriter) end() {
	if len(w.text)+len(w.ends) > MaxText {
		w.large = true
		w.text, w.ends = w.text[:0], w.ends[:0]
	}
	w.ends = append(w.ends, len(w.text))
}

func (w *jsonWriter) margin(depth int) {
	for range depth {
		w.text = append(w.text, indent...)
	}
}

// value writes v behind what stands on the line, and ends it.
func (w *jsonWriter) value(depth int, v *jsonValue) {
	if w.large {
		return
	}
	if v.kind != '{' && v.kind != '[' {
		w.scalar(v)
		w.end()
		return
	}
	w.text = append(w.text, v.kind)
	w.end()
	if v.kind == '{' {
		w.members(depth+1, v.children)
	} else {
		w.elements(depth+1, v.children)
	}
	w.margin(depth)
	w.text = append(w.text, v.kind+2)
	w.end()
}

func (w *jsonWriter) elements(depth int, elements []jsonValue) {
	for i := range elements {
		w.margin(depth)
		w.value(depth, &elements[i])
	}
}

// members writes an object's members, those aside that only say when the
// document was made.
func (w *jsonWriter) members(depth int, members []jsonValue) {
	for i := range members {
		if m := &members[i]; !m.isStamp() {
			w.margin(depth)
			w.quote(m.name)
			w.text = append(w.text, ": "...)
			w.value(depth, m)
		}
	}
}

// scalar writes a scalar as JSON, < and & as they are.
func (w *jsonWriter) scalar(v *jsonValue) {
	if v.kind == '"' {
		w.quote(withoutTracking(v.text))
	} else {
		w.text = append(w.text, v.text...)
	}
}

// quote writes a string as encoding/json does, < and & as they are.
func (w *jsonWriter) quote(s string) {
	w.text = append(w.text, '"')
	separated := strings.Contains(s, "\u2028"[:2]) && (strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029"))
	for {
		n := plainJSON(s)
		plain := s[:n]
		if separated {
			plain = separators.Replace(plain)
		}
		if w.text = append(w.text, plain...); n == len(s) {
			break
		}
		w.text = appendEscape(w.text, s[n])
		s = s[n+1:]
	}
	w.text = append(w.text, '"')
}

var separators = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

func appendEscape(b []byte, c byte) []byte {
	if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
		return append(b, '\\', `"\bfnrt`[at])
	}
	return fmt.Appendf(b, `\u%04x`, c)
}
