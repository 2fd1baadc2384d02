package codec

// bitWriter is a range coder: a bit of probability p takes −log2 p bits. The zero
// bitWriter is not usable; see newBitWriter.
type bitWriter struct {
	low, high uint32
	out       []byte
}

func newBitWriter(out []byte) *bitWriter { return &bitWriter{high: ^uint32(0), out: out} }

// bit writes a bit that is 1 with probability p of 65536, 0 < p < 65536.
func (w *bitWriter) bit(bit int, p uint32) {
	mid := split(w.low, w.high, p)
	if bit == 1 {
		w.high = mid
	} else {
		w.low = mid + 1
	}
	for (w.low^w.high)>>24 == 0 {
		w.out = append(w.out, byte(w.high>>24))
		w.low, w.high = w.low<<8, w.high<<8|0xff
	}
}

// close writes the fewest bytes that identify the remaining interval when followed by
// zeros, which a reader supplies, and returns all.
func (w *bitWriter) close() []byte {
	for length := 0; length < 4; length++ {
		if v := w.high &^ (^uint32(0) >> (8 * length)); v >= w.low {
			for i := range length {
				w.out = append(w.out, byte(v>>(24-8*i)))
			}
			return w.out
		}
	}
	return append(w.out, byte(w.high>>24), byte(w.high>>16), byte(w.high>>8), byte(w.high))
}

// bitReader is the inverse of bitWriter.
type bitReader struct {
	low, high, point uint32
	in               []byte
	beyond           int // zeros read behind the end
}

func newBitReader(in []byte) *bitReader {
	r := &bitReader{high: ^uint32(0), in: in}
	for range 4 {
		r.shift()
	}
	return r
}

func (r *bitReader) shift() {
	next := byte(0)
	if len(r.in) > 0 {
		next, r.in = r.in[0], r.in[1:]
	} else {
		r.beyond++
	}
	r.point = r.point<<8 | uint32(next)
}

func (r *bitReader) bit(p uint32) int {
	mid := split(r.low, r.high, p)
	bit := 0
	if r.point <= mid {
		bit, r.high = 1, mid
	} else {
		r.low = mid + 1
	}
	for (r.low^r.high)>>24 == 0 {
		r.low, r.high = r.low<<8, r.high<<8|0xff
		r.shift()
	}
	return bit
}

// cut reports that more was read than was written.
func (r *bitReader) cut() bool { return r.beyond > 4 }

// split divides an interval in proportion to p.
func split(low, high, p uint32) uint32 {
	return low + uint32(uint64(high-low)*uint64(p)>>16)
}

// coder writes bits or reads them, so that one description of a format serves
// both: bit writes the bit it is given and returns it, or returns the one it reads.
type coder interface {
	code(bit int, p uint32) int
}

func (w *bitWriter) code(bit int, p uint32) int {
	w.bit(bit, p)
	return bit
}

func (r *bitReader) code(_ int, p uint32) int { return r.bit(p) }

// counter is an adaptive probability of a 1: 22 bits, the highest of them
// inverted so that the zero counter is even, and 10 bits of how often it was
// asked, which say how fast it moves.
type counter uint32

const even counter = 1 << 31

// newCounter returns a counter that has seen nothing and expects a 1 with
// probability p of 65536.
func newCounter(p int) counter { return counter(p)<<16 ^ even }

// probability returns the probability of a 1, of 4096.
func (c counter) probability() uint32 { return uint32((c ^ even) >> 20) }

// counterRates are the shares, of 65536, by which a counter moves at its nth bit.
var counterRates = func() (rates [256]int64) {
	for n := range rates {
		rates[n] = 655_360 / int64(10*n+16)
	}
	return rates
}()

// learn moves the counter towards a bit, from then on at the rate of the bits
// seen, at most limit.
func (c *counter) learn(bit int, limit counter) {
	n, p := *c&0x3ff, int64((*c^even)>>10)
	p += (int64(-bit&(1<<22-1)) - p) * counterRates[n] >> 16
	if n < limit {
		n++
	}
	*c = counter(p)<<10 ^ even | n
}

// numbers codes numbers that are mostly small: as many ones as the number has
// bits, a zero, and the bits.
type numbers struct {
	length [32]counter
	small  [smallLength + 1][1 << smallLength]counter // the bits of short numbers, by those before
	second [32]counter                                // the bit behind the first, of others
}

const smallLength = 4

// code codes a number from 0 to 2^31−2.
func (n *numbers) code(c coder, value int) int {
	bits := 0
	for (value+1)>>(bits+1) > 0 {
		bits++
	}
	length := 0
	for length < len(n.length)-1 && codeBit(c, &n.length[length], toBit(length < bits)) == 1 {
		length++
	}
	coded := 1
	for i := length - 1; i >= 0; i-- {
		bit := (value + 1) >> i & 1
		if length <= smallLength {
			bit = codeBit(c, &n.small[length][coded], bit)
		} else if i == length-1 {
			bit = codeBit(c, &n.second[length], bit)
		} else {
			bit = c.code(bit, 1<<15)
		}
		coded = coded<<1 | bit
	}
	return coded - 1
}

// codeBit codes a bit by a counter that learns it.
func codeBit(c coder, p *counter, bit int) int {
	bit = c.code(bit, min(max(p.probability(), 4), 4096-4)<<4)
	p.learn(bit, 30)
	return bit
}

func toBit(b bool) int {
	if b {
		return 1
	}
	return 0
}
