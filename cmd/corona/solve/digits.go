package solve

import (
	"encoding/binary"
	"math/bits"
)

// parseShort reads the number that a text begins with, and returns its length, 0 if
// it is none of 15 digits or fewer, with or without a point. These and the power of
// ten are exact in a float64, so that strconv.ParseFloat rounds to the same (Clinger,
// How to Read Floating Point Numbers Accurately, 1990).
func parseShort(text []byte) (value float64, length int) {
	whole, length := leadingDigits(text)
	if length == 0 || length > 15 {
		return 0, 0
	}
	if length == len(text) || text[length] != '.' {
		return float64(whole), length
	}
	part, places := leadingDigits(text[length+1:])
	if length+places > 15 {
		return 0, 0
	}
	power := powersOfTen[places]
	return float64(whole*power+part) / float64(power), length + 1 + places
}

var powersOfTen = [...]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}

// leadingDigits reads the digits that a text begins with. Of more than 19 the number
// is not theirs.
func leadingDigits(text []byte) (number uint64, length int) {
	if cap(text) >= 8 {
		if number, length = eightDigits(binary.LittleEndian.Uint64(text[:8]), len(text)); length < 8 {
			return number, length
		}
	}
	for ; length < len(text) && text[length]-'0' <= 9; length++ {
		number = number*10 + uint64(text[length]-'0')
	}
	return number, length
}

// eightDigits reads the digits that a word of text begins with, most at most, all at
// once: without branches that a processor would have to guess from the text.
func eightDigits(word uint64, most int) (number uint64, length int) {
	word ^= 0x3030303030303030                                        // digits are 0 to 9
	others := (word + 0x7676767676767676 | word) & 0x8080808080808080 // right up to the first
	length = min(bits.TrailingZeros64(others)/8, most)
	word <<= 64 - 8*length // noughts before them
	word = (word*10 + word>>8) & 0x00ff00ff00ff00ff
	word = (word*100 + word>>16) & 0x0000ffff0000ffff
	return (word*10000 + word>>32) & 0xffffffff, length
}
