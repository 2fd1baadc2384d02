package ring

import (
	"math/bits"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Base is the base of the digits that IDs are read in, most significant first:
// an ID has [Digits] of them. The paper's overlay has 16 too (section 4).
const Base = 16

// Digits is how many digits an ID has.
const Digits = 2 * channel.IDLen

// Digit returns digit i of an ID, from 0, the most significant.
func Digit(id channel.ID, i int) int {
	if i%2 == 0 {
		return int(id[i/2] >> 4)
	}
	return int(id[i/2] & 0xf)
}

// SharedDigits returns how many leading digits two IDs have in common.
func SharedDigits(a, b channel.ID) int {
	for i := range a {
		if diff := a[i] ^ b[i]; diff != 0 {
			return 2*i + bits.LeadingZeros8(diff)/4
		}
	}
	return Digits
}

// fill returns an ID with its digits from one on all replaced: by 0, or by the
// highest.
func fill(id channel.ID, from int, highest bool) channel.ID {
	var pad byte
	if highest {
		pad = 0xff
	}
	for i := from / 2; i < len(id); i++ {
		keep := byte(0)
		if i == from/2 && from%2 == 1 {
			keep = 0xf0
		}
		id[i] = id[i]&keep | pad&^keep
	}
	return id
}

// withDigit returns an ID with digit i replaced.
func withDigit(id channel.ID, i, digit int) channel.ID {
	if i%2 == 0 {
		id[i/2] = id[i/2]&0x0f | byte(digit)<<4
	} else {
		id[i/2] = id[i/2]&0xf0 | byte(digit)
	}
	return id
}
