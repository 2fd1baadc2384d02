// Package scan finds where runs of bytes end, and what single bytes and
// references are: the ground that all readers of documents stand on. It knows no
// document and keeps nothing.
package scan

import (
	"strconv"
	"strings"
)

// Set returns a set of names.
func Set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// Ranks gives names their places as ranks.
func Ranks(names ...string) map[string]int {
	ranks := make(map[string]int, len(names))
	for i, name := range names {
		ranks[name] = i
	}
	return ranks
}

// IsDigit reports a decimal digit of ASCII.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsHex reports a hexadecimal digit, in either case.
func IsHex(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// SpaceEnd returns where the white space of HTML at the given place ends.
func SpaceEnd(s string, at int) int {
	for at < len(s) && IsHTMLSpace[s[at]] {
		at++
	}
	return at
}

// IsLetter reports a letter of ASCII.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsWordByte reports a letter or digit of ASCII, or a byte of a character beyond it.
func IsWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// LowerByte returns a letter of ASCII in lower case, any other byte as it is.
func LowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// CharacterReference returns the code that s begins with, as it stands behind &#; false
// if it has no end.
func CharacterReference(s string) (code rune, ok bool) {
	base, s := 10, s[:min(len(s), MaxEntity)]
	if hex, ok := strings.CutPrefix(s, "x"); ok {
		s, base = hex, 16
	}
	end := strings.IndexByte(s, ';')
	if end < 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:end], base, 21)
	return rune(n), err == nil || n > 0 // beyond the range it is illegal: all bits are set
}

// MaxEntity is how far behind its & an entity ends at most, in bytes.
const MaxEntity = 64

// CommonHead returns the length in bytes of the lines that both begin with.
func CommonHead(a, b string) int { return strings.LastIndexByte(a[:commonPrefix(a, b)], '\n') + 1 }

// CommonTail returns the length in bytes of the lines that both end with.
func CommonTail(a, b string) int {
	n := commonSuffix(a, b)
	if n == len(a) && (n == len(b) || b[len(b)-n-1] == '\n') || n == len(b) && a[len(a)-n-1] == '\n' {
		return n
	}
	return n - (strings.IndexByte(a[len(a)-n:], '\n') + 1)
}

// IsHTMLSpace holds the white space of HTML.
var IsHTMLSpace = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '\f': true}

// MaxDepth is how many elements or JSON values stand in each other at most.
const MaxDepth = 256

// isJunk reports control characters other than white space, byte order marks and what
// is no character.
func isJunk(r rune) bool {
	switch {
	case r < ' ':
		return r != '\t' && r != '\n' && r != '\r'
	case r < 0x7f:
		return false
	default:
		return r < 0xa0 || r == '\ufeff' || r&0xfffe == 0xfffe
	}
}

// IsInvisible reports characters without width that pages are sprinkled with.
// The joiners are kept: scripts and emoji need them.
func IsInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u180e', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff', '\ufffc':
		return true
	}
	return r < ' ' || r >= 0x7f && r < 0xa0
}
