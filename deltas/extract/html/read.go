package html

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// reader reads HTML token by token, in place, as the tokenizer of x/net does,
// which is its oracle. It skips what is not shown: comments, declarations, and the
// content of scripts and the like.
type reader struct {
	rest string // what is not read yet

	// The last token.
	raw     string // of text, as it is written; empty: it is a tag
	literal bool   // the text holds no entities
	element        // of a tag
	end     bool   // </name>
	attrs   attributes
}

// next reads a token; false at the end.
func (r *reader) next() bool {
	if r.raw == "" && r.is(rawTag) && !r.end && r.content() {
		return true
	}
	for r.rest != "" {
		if n := textLength(r.rest); n > 0 {
			r.raw, r.literal, r.rest = r.rest[:n], false, r.rest[n:]
			return true
		}
		switch c := r.rest[1]; {
		case scan.IsLetter(c):
			return r.tag(len("<"))
		case c == '/' && scan.IsLetter(r.rest[2]):
			return r.tag(len("</"))
		}
		r.rest = r.rest[asideLength(r.rest):]
	}
	return false
}

// content reads what stands in an element that holds no markup; false if there is
// nothing of it to see.
func (r *reader) content() bool {
	n := rawLength(r.rest, r.name)
	r.raw, r.rest = r.rest[:n], r.rest[n:]
	if r.is(unread) {
		return false
	}
	r.literal = !r.is(titleTag)
	if strings.IndexByte(r.raw, 0) >= 0 {
		r.raw = strings.ReplaceAll(r.raw, "\x00", "\ufffd")
	}
	return r.raw != ""
}

// textLength returns the length of the text that s begins with: up to where
// another token begins.
func textLength(s string) int {
	for at := 0; at < len(s); at++ {
		if s[at] != '<' {
			n := strings.IndexByte(s[at:], '<')
			if n < 0 {
				break
			}
			at += n
		}
		if beginsTag(s[at+1:]) {
			return at
		}
	}
	return len(s)
}

// beginsTag reports what another token than text has behind its <.
func beginsTag(s string) bool {
	return s != "" && (scan.IsLetter(s[0]) || s[0] == '!' || s[0] == '?' || s[0] == '/' && len(s) > 1)
}

// tag reads a tag whose name begins at the given place; false if it does not end,
// which is as if it had never begun.
func (r *reader) tag(at int) bool {
	s, from := r.rest, at
	for at < len(s) && !nameEnds[s[at]] {
		at++
	}
	r.raw, r.end, r.element = "", s[1] == '/', elementNamed(s[from:at])
	r.attrs.had = 0
	for {
		at = scan.SpaceEnd(s, at)
		if at == len(s) {
			r.rest = ""
			return false
		}
		if s[at] == '>' {
			r.rest = s[at+1:]
			return true
		}
		at = r.attribute(s, at)
	}
}

// attribute reads the attribute, or the slash, that stands at the given place, and
// returns where it ends.
func (r *reader) attribute(s string, at int) int {
	from := at
	if s[at] == '=' {
		at++
	}
	for at < len(s) && !nameEnds[s[at]] && s[at] != '=' {
		at++
	}
	name := s[from:at]
	if at = scan.SpaceEnd(s, at); at == len(s) || s[at] != '=' {
		r.attrs.set(name, "")
		if strings.HasPrefix(s[at:], "/") {
			at++
		}
		return at
	}
	value, at := attributeValue(s, scan.SpaceEnd(s, at+1))
	r.attrs.set(name, value)
	return at
}

// attributeValue returns the value that stands at the given place, and where it ends.
func attributeValue(s string, at int) (value string, end int) {
	if at == len(s) {
		return "", at
	}
	if quote := s[at]; quote == '"' || quote == '\'' {
		n := strings.IndexByte(s[at+1:], quote)
		if n < 0 {
			return "", len(s)
		}
		return s[at+1 : at+1+n], at + n + 2
	}
	from := at
	for at < len(s) && s[at] != '>' && !scan.IsHTMLSpace[s[at]] {
		at++
	}
	return s[from:at], at
}

// nameEnds holds what ends a name within a tag.
var nameEnds = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '\f': true, '/': true, '>': true}

// unixLines returns s with \n for all line ends.
func unixLines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return newlines.Replace(s)
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
