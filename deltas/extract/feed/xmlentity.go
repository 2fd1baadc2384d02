package feed

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// decodeContent returns what an element says to readers of feeds: with entities
// decoded, those of HTML too.
func decodeContent(x xmlText) string { return decodeSections(x, decodeHTML) }

// decodeSections decodes text, but for its CDATA sections, which stand for themselves.
func decodeSections(x xmlText, decode func(string) string) string {
	if !x.sections {
		return decode(x.raw)
	}
	s := x.raw
	if inner, ok := strings.CutPrefix(s, cdataOpen); ok && strings.Index(inner, cdataClose) == len(inner)-len(cdataClose) {
		return inner[:len(inner)-len(cdataClose)]
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		before, rest, ok := strings.Cut(s, cdataOpen)
		b.WriteString(decode(before))
		if !ok {
			return b.String()
		}
		section, rest, _ := strings.Cut(rest, cdataClose)
		b.WriteString(section)
		s = rest
	}
}

// decodeXML decodes the entities of XML. What is none stays as it is.
func decodeXML(s string) string { return decodeEntities(s, xmlEntity) }

// decodeHTML decodes the entities of XML and HTML that a semicolon ends. What is
// none stays as it is.
func decodeHTML(s string) string { return decodeEntities(s, htmlEntity) }

// decodeEntities replaces what entity takes for one: it returns what an entity
// stands for, and "" for what is none.
func decodeEntities(s string, entity func(string) string) string {
	at := strings.IndexByte(s, '&')
	if at < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; at >= 0; at = strings.IndexByte(s, '&') {
		b = append(b, s[:at]...)
		s = s[at:]
		if decoded, size := commonEntity(s); size > 0 {
			b = append(b, decoded)
			s = s[size:]
			continue
		}
		decoded, size := "&", 1
		if end := strings.IndexByte(s[:min(len(s), scan.MaxEntity)], ';'); end > 0 {
			if known := entity(s[:end+1]); known != "" {
				decoded, size = known, end+1
			}
		}
		b = append(b, decoded...)
		s = s[size:]
	}
	return string(append(b, s...))
}

// commonEntity returns what the entity at the beginning of s stands for, and its
// length; 0 if it is none of those that XML knows by name.
func commonEntity(s string) (c byte, size int) {
	switch {
	case strings.HasPrefix(s, "&lt;"):
		return '<', 4
	case strings.HasPrefix(s, "&gt;"):
		return '>', 4
	case strings.HasPrefix(s, "&amp;"):
		return '&', 5
	case strings.HasPrefix(s, "&quot;"):
		return '"', 6
	case strings.HasPrefix(s, "&apos;"):
		return '\'', 6
	}
	return 0, 0
}

// xmlEntity knows characters by their number.
func xmlEntity(entity string) string {
	number, ok := strings.CutPrefix(entity, "&#")
	if !ok {
		return ""
	}
	if code, ok := scan.CharacterReference(number); ok {
		return string(code)
	}
	return ""
}

// htmlEntity knows those of HTML.
func htmlEntity(entity string) string {
	if number, ok := strings.CutPrefix(entity, "&#"); ok {
		if code, ok := scan.CharacterReference(number); ok && code > 0x9f {
			return string(code)
		}
	}
	if strings.ContainsAny(entity, " \t\r\n") {
		return ""
	}
	decoded := html.UnescapeString(entity)
	if strings.HasSuffix(decoded, ";") && decoded == html.UnescapeString(entity[:len(entity)-1])+";" {
		return "" // the semicolon is none of its own: "&copy=2;"
	}
	return decoded
}
