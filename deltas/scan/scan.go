package scan

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Where runs of bytes end is looked for eight bytes at a time: a byte at a time,
// looking costs as much as all that is done with what is found. In the masks
// below the upper bit of a byte marks it; only the lowest mark is for sure.
const (
	everyByte = 0x0101010101010101
	UpperBits = 0x80 * everyByte
)

// Eight returns the first eight bytes of s, the first the lowest.
func Eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// below marks bytes less than n, which is at most 128.
func below(x, n uint64) uint64 { return (x - n*everyByte) &^ x & UpperBits }

// equal marks bytes that are c.
func equal(x uint64, c byte) uint64 { return below(x^uint64(c)*everyByte, 1) }

// lowest returns the place of the lowest mark.
func lowest(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// StringOf returns the bytes as a string, without a copy. They are not written to as
// long as it is there.
func StringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// commonPrefix returns how many bytes both begin with.
func commonPrefix(a, b string) int {
	n := 0
	for ; n+8 <= len(a) && n+8 <= len(b); n += 8 {
		if differ := Eight(a[n:]) ^ Eight(b[n:]); differ != 0 {
			return n + lowest(differ)
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// commonSuffix returns how many bytes both end with.
func commonSuffix(a, b string) int {
	n := 0
	for ; n+8 <= len(a) && n+8 <= len(b); n += 8 {
		if differ := Eight(a[len(a)-n-8:]) ^ Eight(b[len(b)-n-8:]); differ != 0 {
			return n + bits.LeadingZeros64(differ)/8
		}
	}
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// JunkAt returns where the first character stands that [isJunk], the length of s
// if there is none.
func JunkAt(s string) int {
	for n := 0; n < len(s); {
		if n+8 <= len(s) {
			x := Eight(s[n:])
			if visible(x) {
				n += 8
				continue
			}
			// From 0xef on: the upper bit, and the others at least 0x6f.
			rare := x & (x&^UpperBits + 0x11*everyByte) & UpperBits
			marks := rare | below(x, ' ') | equal(x, 0x7f) | equal(x, 0xc2)
			if marks == 0 {
				n += 8
				continue
			}
			n += lowest(marks)
			if c := s[n]; c == '\n' || c == '\t' || c == '\r' {
				n++
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if isJunk(r) {
			return n
		}
		n += size
	}
	return len(s)
}

// visible reports eight characters of ASCII of which none is a control character;
// it may miss some.
func visible(x uint64) bool { return ((x-' '*everyByte)|(x+everyByte)|x)&UpperBits == 0 }

// DigitAt returns where the first digit stands, the length of s if there is none.
func DigitAt(s string) int {
	n := 0
	for ; n+8 <= len(s); n += 8 {
		if marks := below(Eight(s[n:])^'0'*everyByte, 10); marks != 0 {
			return n + lowest(marks)
		}
	}
	for n < len(s) && !IsDigit(s[n]) {
		n++
	}
	return n
}

// PlainRun returns how many bytes s begins with that are words of visible
// characters with single spaces between them.
func PlainRun(s string) int {
	n := 0
	for {
		for n+8 <= len(s) && isPlainWord(Eight(s[n:])) {
			n += 8
		}
		if n >= len(s) || !isPlain[s[n]] {
			return n
		}
		if n++; n+1 < len(s) && s[n] == ' ' && isPlain[s[n+1]] {
			n++
		}
	}
}

// isPlain holds the bytes of visible ASCII, and of characters beyond it but for
// those whose first byte white space and invisible characters begin with too.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c > ' ' && c != 0x7f
	}
	for _, c := range [...]byte{0xc2, 0xe1, 0xe2, 0xe3, 0xef} {
		plain[c] = false
	}
	return plain
}()

// isPlainWord reports visible ASCII that neither begins nor ends with a space
// and has no two of them in a row.
func isPlainWord(x uint64) bool {
	if x&UpperBits|below(x, ' ')|equal(x, 0x7f) != 0 {
		return false
	}
	spaces := ^((x ^ ' '*everyByte) + 0x7f*everyByte) & UpperBits
	return spaces&(spaces>>8|0x80|0x80<<56) == 0
}

// mayEnd holds the bytes that the end of a sentence begins with.
var mayEnd = [256]bool{'.': true, '!': true, '?': true, 0xe3: true}

// NextEnd returns where the first of [mayEnd] stands from n on, the length of s
// if there is none.
func NextEnd(s string, n int) int {
	for ; n+8 <= len(s); n += 8 {
		x := Eight(s[n:])
		if marks := equal(x, '.') | equal(x, '!') | equal(x, '?') | equal(x, 0xe3); marks != 0 {
			return n + lowest(marks)
		}
	}
	for n < len(s) && !mayEnd[s[n]] {
		n++
	}
	return n
}
