package feed

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// xmlReader reads well-formed XML as most feeds are, in place and without a
// tree. Whatever is unusual (names beyond ASCII, attributes without quotes, end
// tags that do not match) is left to gofeed: fallback is set, and what was read so
// far is dropped.
type xmlReader struct {
	text       string
	at         int
	begin      int            // of the last tag
	fallback   bool           // the document is left to gofeed
	closes     bool           // a CDATA section's end stands somewhere
	attributes []xmlAttribute // of the last tag
	elements   int
	open       []xmlTag // scratch of inner
}

func newXMLReader(text string) xmlReader {
	return xmlReader{text: text, closes: strings.Contains(text, cdataClose)}
}

// hasIllegalReference reports a character by its number that XML does not allow.
func hasIllegalReference(text string) bool {
	for at := strings.Index(text, "&#"); at >= 0; at = strings.Index(text, "&#") {
		text = text[at+2:]
		if code, ok := scan.CharacterReference(text); ok && (code < ' ' && !isXMLSpace[code] || !utf8.ValidRune(code) || code&0xfffe == 0xfffe) {
			return true
		}
	}
	return false
}

// xmlAttribute is an attribute as written.
type xmlAttribute struct{ name, value string }

// xmlTag is a start or end tag.
type xmlTag struct {
	prefix, name string // as written
	end, empty   bool   // </x>, <x/>
}

const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// next returns the next tag of an element that holds nothing but elements; false
// when fallback is set. Text between them is passed over.
func (r *xmlReader) next() (xmlTag, bool) {
	for r.toMarkup() {
		if !strings.HasPrefix(r.text[r.at:], "<!--") {
			return r.tag()
		}
		r.comment()
	}
	return xmlTag{}, false
}

// toMarkup passes over text; false if fallback is set.
func (r *xmlReader) toMarkup() bool {
	n := strings.IndexByte(r.text[r.at:], '<')
	if n < 0 || r.closes && strings.Contains(r.text[r.at:r.at+n], cdataClose) {
		r.fallback = true
		return false
	}
	r.at += n
	return !r.fallback
}

// comment reads past the comment that begins here and returns what it says.
func (r *xmlReader) comment() string {
	body, _, ok := strings.Cut(r.text[r.at+len("<!--"):], "-->")
	r.fallback = r.fallback || !ok || strings.Contains(body, "--") || strings.HasSuffix(body, "-")
	r.at = after(r.text, r.at, "-->")
	return body
}

// tag reads the tag that begins here.
func (r *xmlReader) tag() (xmlTag, bool) {
	var t xmlTag
	r.begin = r.at
	r.at++
	if t.end = r.take('/'); !t.end {
		r.elements++
		r.fallback = r.fallback || r.elements > maxElements
	}
	t.prefix, t.name = r.name()
	r.attributes = r.attributes[:0]
	if r.take('>') {
		return t, !r.fallback
	}
	r.readAttributes()
	t.empty = r.take('/')
	r.fallback = r.fallback || !r.take('>') || t.end && (t.empty || len(r.attributes) > 0)
	return t, !r.fallback
}

// take reads one byte if it is c.
func (r *xmlReader) take(c byte) bool {
	if r.at >= len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// name reads a tag's name of ASCII characters.
func (r *xmlReader) name() (prefix, name string) {
	name = r.word()
	if at := strings.IndexByte(name, ':'); at >= 0 {
		prefix, name = name[:at], name[at+1:]
		r.fallback = r.fallback || prefix == ""
	}
	r.fallback = r.fallback || name == ""
	return prefix, name
}

// word reads what a name is made of.
func (r *xmlReader) word() string {
	from := r.at
	for r.at < len(r.text) && isXMLName[r.text[r.at]] {
		r.at++
	}
	word := r.text[from:r.at]
	r.fallback = r.fallback || word != "" && strings.IndexByte("0123456789-.", word[0]) >= 0 || strings.Count(word, ":") > 1
	return word
}

var (
	isXMLName = func() (is [256]bool) {
		for c := range is {
			is[c] = c < 0x80 && scan.IsWordByte(byte(c)) || strings.IndexByte(":-_.", byte(c)) >= 0
		}
		return is
	}()
	isXMLSpace = [256]bool{' ': true, '\t': true, '\r': true, '\n': true}
)

// readAttributes reads the attributes of a tag.
func (r *xmlReader) readAttributes() {
	for !r.fallback {
		from := r.at
		for r.at < len(r.text) && isXMLSpace[r.text[r.at]] {
			r.at++
		}
		if r.at >= len(r.text) || r.text[r.at] == '/' || r.text[r.at] == '>' {
			return
		}
		spaced := r.at > from
		name := r.word()
		r.fallback = r.fallback || name == "" || !spaced || !r.take('=') || len(r.attributes) > maxAttributes
		quote := byte('"')
		if !r.take(quote) {
			quote = '\''
			r.fallback = r.fallback || !r.take(quote)
		}
		n := strings.IndexByte(r.text[r.at:], quote)
		if n < 0 {
			r.fallback = true
			return
		}
		value := r.text[r.at : r.at+n]
		r.fallback = r.fallback || strings.IndexByte(value, '<') >= 0
		r.at += n + 1
		r.attributes = append(r.attributes, xmlAttribute{name, value})
	}
}

// attribute returns the last tag's attribute, "" if it is missing.
func (r *xmlReader) attribute(name string) string {
	for _, a := range r.attributes {
		if a.name == name {
			return decodeXML(a.value)
		}
	}
	return ""
}

// xmlText is what stands in an element, as written, without white space around it.
type xmlText struct {
	raw      string
	sections bool // some of it in CDATA sections
	markup   bool // there are elements or comments in it
}

// inner returns what stands in the element whose start tag was read, and reads
// its end tag.
func (r *xmlReader) inner(t xmlTag) (x xmlText) {
	if t.empty {
		return x
	}
	from := r.at
	r.open = append(r.open[:0], t)
	for r.toMarkup() {
		rest := r.text[r.at:]
		if strings.HasPrefix(rest, cdataOpen) {
			x.sections = true
			r.at = after(r.text, r.at, cdataClose)
			continue
		}
		if strings.HasPrefix(rest, "<!--") {
			x.markup = true
			r.fallback = r.fallback || strings.Contains(r.comment(), cdataOpen)
			continue
		}
		to := r.at
		if r.step(); len(r.open) == 0 {
			x.raw = strings.TrimSpace(r.text[from:to])
			return x
		}
		x.markup = true
	}
	return xmlText{}
}

// step reads a tag within elements that are open.
func (r *xmlReader) step() {
	t, _ := r.tag()
	last := r.open[len(r.open)-1]
	switch {
	case t.end && (t.name != last.name || t.prefix != last.prefix), len(r.open) > scan.MaxDepth:
		r.fallback = true
	case t.end:
		r.open = r.open[:len(r.open)-1]
	case !t.empty:
		r.open = append(r.open, t)
	}
}

// skip reads past the element whose start tag was read.
func (r *xmlReader) skip(t xmlTag) { r.inner(t) }

// content returns the text of the element whose start tag was read, with its
// entities decoded, those of HTML too, and reads its end tag. Markup in it is text.
func (r *xmlReader) content(t xmlTag) string { return decodeContent(r.inner(t)) }

// foreign is content for elements of other vocabularies, which have the entities
// of XML alone, and no markup.
func (r *xmlReader) foreign(t xmlTag) string {
	x := r.inner(t)
	r.fallback = r.fallback || x.markup
	return strings.TrimSpace(decodeSections(x, decodeXML))
}
