package extract

import (
	"bytes"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// Decode returns a body as UTF-8 without byte order mark, NULs and
// control characters other than tab, newline and carriage return.
//
// A body that is valid UTF-8 is UTF-8, whatever is declared: declarations lie
// more often than bytes do. Otherwise the byte order mark counts, then the
// Content-Type, then the document's own declaration. In what then claims to be
// UTF-8, each invalid byte is read as windows-1252, which is what such bytes are.
//
// The text may stand in the body.
func Decode(body []byte, contentType string) (string, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return "", content.ErrEmpty
	}
	text, err := toUTF8(body, contentType)
	if err != nil {
		return "", err
	}
	text, dropped := dropControls(text)
	if dropped > 64 && dropped > len(text)/16 {
		return "", &content.ParseError{Reason: "binary data, not text"}
	}
	if len(text) > content.MaxDocument {
		return "", fmt.Errorf("%w: %d bytes as UTF-8, at most %d are read", content.ErrTooLarge, len(text), content.MaxDocument)
	}
	if strings.TrimSpace(text) == "" {
		return "", content.ErrEmpty
	}
	return text, nil
}

func toUTF8(body []byte, contentType string) (string, error) {
	if enc := sniffWide(body); enc != nil {
		return decodeWith(enc, body)
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	enc, name, err := declaredEncoding(body, contentType)
	if err != nil {
		return "", err
	}
	// A 7-bit encoding with escapes is valid UTF-8 all the same.
	escaped := name == "iso-2022-jp" && bytes.IndexByte(body, 0x1b) >= 0
	switch {
	case utf8.Valid(body) && !escaped:
		return scan.StringOf(body), nil
	case enc == nil:
		return repairUTF8(body), nil
	default:
		return decodeWith(enc, body)
	}
}

// decodeWith decodes at most what [content.MaxDocument] lets through, and a little more
// so that the caller sees the excess.
func decodeWith(enc encoding.Encoding, body []byte) (string, error) {
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return "", &content.ParseError{Reason: fmt.Sprintf("cannot decode: %v", err)}
	}
	if !utf8.Valid(out) {
		return repairUTF8(out), nil
	}
	return scan.StringOf(out), nil
}

// sniffWide finds UTF-16 and UTF-32 by their byte order mark or by where the
// zero bytes of a first ASCII character stand.
func sniffWide(body []byte) encoding.Encoding {
	begins := func(prefix string) bool { return bytes.HasPrefix(body, []byte(prefix)) }
	pattern := func(zeros ...bool) bool {
		for i, zero := range zeros {
			if i >= len(body) || (body[i] == 0) != zero {
				return false
			}
		}
		return true
	}
	switch {
	case begins("\xff\xfe\x00\x00"), pattern(false, true, true, true):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case begins("\x00\x00\xfe\xff"), pattern(true, true, true, false):
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case begins("\xff\xfe"), pattern(false, true, false, true):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case begins("\xfe\xff"), pattern(true, false, true, false):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}

var (
	xmlEncoding = regexp.MustCompile(`^<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"']{1,40})["']`)
	metaCharset = regexp.MustCompile(`(?i)^<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-z0-9_:.-]{1,40})`)
)

// declaredEncoding returns the encoding that the header or the document names
// and its canonical name; nil for UTF-8, for what cannot be true of ASCII-like
// bytes, and for unknown names. Encodings that only serve to smuggle
// markup are refused.
func declaredEncoding(body []byte, contentType string) (encoding.Encoding, string, error) {
	label := ""
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		label = params["charset"]
	}
	if label == "" {
		label = ownLabel(body[:min(len(body), 2048)])
	}
	label = strings.ToLower(strings.TrimSpace(label))
	if strings.Contains(label, "utf-7") || label == "utf7" {
		return nil, "", &content.ParseError{Reason: "encoding UTF-7 is not supported"}
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, "", nil
	}
	name, err := htmlindex.Name(enc)
	switch {
	case err != nil, name == "utf-8", strings.HasPrefix(name, "utf-16"):
		return nil, "", nil
	case name == "replacement":
		return nil, "", &content.ParseError{Reason: fmt.Sprintf("encoding %q is not supported", label)}
	}
	return enc, name, nil
}

// ownLabel returns the encoding that the beginning of a document names, "" if
// there is none.
func ownLabel(head []byte) string {
	if begin := bytes.TrimLeft(head, " \t\r\n\f"); bytes.HasPrefix(begin, []byte("<?xml")) {
		declaration, _, _ := bytes.Cut(begin, []byte(">"))
		if m := xmlEncoding.FindSubmatch(declaration); m != nil {
			return string(m[1])
		}
	}
	for at := bytes.IndexByte(head, '<'); at >= 0; at = bytes.IndexByte(head, '<') {
		if head = head[at:]; len(head) > 5 && bytes.EqualFold(head[:5], []byte("<meta")) {
			if m := metaCharset.FindSubmatch(head); m != nil {
				return string(m[1])
			}
		}
		head = head[1:]
	}
	return ""
}

// repairUTF8 reads each invalid byte as windows-1252.
func repairUTF8(body []byte) string {
	var b strings.Builder
	b.Grow(len(body) + len(body)/8)
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(body[0])
		}
		b.WriteRune(r)
		body = body[size:]
	}
	return b.String()
}

// dropControls removes what no text holds: control characters (C1 too), byte
// order marks and noncharacters. It counts what it dropped.
func dropControls(s string) (string, int) {
	n := scan.JunkAt(s)
	if n == len(s) {
		return s, 0
	}
	dropped := 0
	var clean strings.Builder
	clean.Grow(len(s))
	for ; n < len(s); n = scan.JunkAt(s) {
		clean.WriteString(s[:n])
		_, size := utf8.DecodeRuneInString(s[n:])
		s = s[n+size:]
		dropped++
	}
	clean.WriteString(s)
	return clean.String(), dropped
}
