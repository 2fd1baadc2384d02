package codec

// tally is an adaptive probability of a 1: 12 bits, the highest of them inverted
// so that the zero tally is even, and 4 bits of how often it was asked, which say
// how fast it moves. It is a [counter] of half the size: predictors have very many.
type tally uint16

const evenTally tally = 1 << 15

// probability returns the probability of a 1, of 4096.
func (t tally) probability() uint32 { return uint32(t^evenTally) >> 4 }

func (t *tally) learn(bit int) {
	n, p := *t&0xf, int64((*t^evenTally)>>4)
	p += ((int64(-bit&0xfff)-p)*counterRates[n] + 1<<15) >> 16
	if n < 0xf {
		n++
	}
	*t = tally(p)<<4 ^ evenTally | n
}

// logistic holds 4096/(1+exp(−x)) for x from −8 to 8 in steps of a half.
var logistic = [33]int32{1, 2, 4, 6, 10, 17, 27, 45, 74, 120, 194, 311, 488, 747, 1102, 1546, 2048,
	2550, 2994, 3349, 3608, 3785, 3902, 3976, 4022, 4051, 4069, 4079, 4086, 4090, 4092, 4094, 4095}

// squash returns 4096/(1+exp(−x/256)), interpolated, for x from −2047 to 2047:
// a probability of 4096 that is neither 0 nor 1.
func squash(x int32) int32 {
	x += 2048
	at, rest := x>>7, x&127
	return (logistic[at]*(128-rest) + logistic[at+1]*rest + 64) >> 7
}

// stretched is the inverse of squash.
var stretched = func() (table [4096]int32) {
	next := 0
	for x := int32(-2047); x <= 2047; x++ {
		for ; next <= int(squash(x)); next++ {
			table[next] = x
		}
	}
	for ; next < len(table); next++ {
		table[next] = 2047
	}
	return table
}()
