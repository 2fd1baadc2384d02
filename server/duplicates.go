package server

import (
	"bytes"
	"encoding/json"
	"strings"
)

// duplicateName returns the first name that an object has twice, at any depth of a
// JSON text that is well-formed; encoding/json would let the last one count, other
// programs the first (RFC 8259, section 4). Names that encoding/json takes for the
// same field, whatever their case, are the same. path has the names around it, with
// dots between them, and is empty if no name comes twice.
func duplicateName(text []byte) (path string) {
	w := nameWalk{json.NewDecoder(bytes.NewReader(text))}
	w.decoder.UseNumber()
	return w.value()
}

// nameWalk walks through one JSON text, whose nesting has been bounded.
type nameWalk struct{ decoder *json.Decoder }

// token returns nil at the end, too.
func (w *nameWalk) token() json.Token {
	token, _ := w.decoder.Token() // the text is well-formed
	return token
}

// value returns the path of a duplicate in the value that comes next.
func (w *nameWalk) value() string {
	switch w.token() {
	case json.Delim('{'):
		return w.object()
	case json.Delim('['):
		return w.array()
	}
	return ""
}

func (w *nameWalk) object() string {
	var names []string
	for w.decoder.More() {
		name, _ := w.token().(string)
		for _, before := range names {
			if strings.EqualFold(name, before) {
				return name
			}
		}
		names = append(names, name)
		if inner := w.value(); inner != "" {
			return name + "." + inner
		}
	}
	w.token()
	return ""
}

func (w *nameWalk) array() string {
	for w.decoder.More() {
		if inner := w.value(); inner != "" {
			return inner
		}
	}
	w.token()
	return ""
}
