package deltas

import (
	"strconv"
	"strings"
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// ranked gives names their places as ranks.
func ranked(names ...string) map[string]int {
	ranks := make(map[string]int, len(names))
	for i, name := range names {
		ranks[name] = i
	}
	return ranks
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// spaceEnd returns where the white space at the given place ends.
func spaceEnd(s string, at int) int {
	for at < len(s) && isHTMLSpace[s[at]] {
		at++
	}
	return at
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// referenced returns the code that s begins with, as it stands behind &#; false
// if it has no end.
func referenced(s string) (code rune, ok bool) {
	base, s := 10, s[:min(len(s), maxEntity)]
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

// maxEntity is how far behind its & an entity ends at most, in bytes.
const maxEntity = 64

// commonHead returns the length in bytes of the lines that both begin with.
func commonHead(a, b string) int { return strings.LastIndexByte(a[:commonPrefix(a, b)], '\n') + 1 }

// commonTail returns the length in bytes of the lines that both end with.
func commonTail(a, b string) int {
	n := commonSuffix(a, b)
	if n == len(a) && (n == len(b) || b[len(b)-n-1] == '\n') || n == len(b) && a[len(a)-n-1] == '\n' {
		return n
	}
	return n - (strings.IndexByte(a[len(a)-n:], '\n') + 1)
}

var isHTMLSpace = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '\f': true}

// maxDepth is how many elements or JSON values stand in each other at most.
const maxDepth = 256

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

// isInvisible reports characters without width that pages are sprinkled with.
// The joiners are kept: scripts and emoji need them.
func isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u180e', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff', '\ufffc':
		return true
	}
	return r < ' ' || r >= 0x7f && r < 0xa0
}
