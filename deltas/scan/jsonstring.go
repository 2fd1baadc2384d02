package scan

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONString reads the JSON string that s begins with, a quotation mark, and returns
// its text and its length in s, 0 if it has no end or is none. What has escapes is
// decoded in scratch, which grows as it has to.
func JSONString(s string, scratch *[]byte) (text string, size int) {
	end := 1 + PlainJSON(s[1:])
	if end < len(s) && s[end] == '"' {
		return s[1:end], end + 1
	}
	b := append((*scratch)[:0], s[1:end]...)
	for end < len(s) && s[end] == '\\' {
		decoded, size := unescape(s[end:])
		if size == 0 {
			break
		}
		end += size
		n := PlainJSON(s[end:])
		b = append(utf8.AppendRune(b, decoded), s[end:end+n]...)
		end += n
	}
	*scratch = b
	if end == len(s) || s[end] != '"' {
		return "", 0
	}
	return string(b), end + 1
}

// unescape returns the character that the escape at the beginning of s stands
// for and the escape's length, 0 if it is none. Half a surrogate pair stands for
// [unicode.ReplacementChar].
func unescape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if s[1] != 'u' {
		at := strings.IndexByte(`"\/bfnrt`, s[1])
		if at < 0 {
			return 0, 0
		}
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	r, ok := hexRune(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hexRune(s[6:]); ok {
		if r := utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
			return r, 12
		}
	}
	return unicode.ReplacementChar, 6
}

// hexRune reads \u and four hex digits.
func hexRune(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		c := s[i]
		switch {
		case IsDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
