package codec

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// predictor predicts a text from what precedes it. Where a match in what it has read
// predicts the next byte, it codes one decision, whether that is right: most inserted
// text stands in the base, a little changed. Without a match, or after a wrong one, it
// codes the byte bit by bit: it mixes the predictions of contexts (the last one to
// three bytes, the begun word) with those of the matches. It uses integers only, so
// that encoder and decoder agree to the bit on every machine. Every constant here is
// part of the delta's format.
//
// Such models are known as context mixing (M. Mahoney, "Adaptive weighing of
// context models for lossless data compression", 2005), guessing whole bytes as LZP
// (C. Bloom, "LZP: a new data compression algorithm", 1996).
type predictor struct {
	model
	near match // in the base, at what this text takes the place of
	far  match // wherever the last bytes stood before

	last  uint64 // the last bytes, the newest lowest
	word  uint32 // hash of the begun word
	begun uint32 // the bits of the begun byte behind a 1
	half  uint32 // those of its begun half behind a 1

	history []byte // the primer, the base, what was coded

	// The last prediction, for learn.
	at     [contexts]*bucket
	missed int // 1: a guess of the byte was wrong
	input  [inputs]int32
	mixer  [2]*weights
	mixed  [2]int32
}

// model is what a predictor has learned.
type model struct {
	buckets [contexts][1 << bucketBits]bucket
	matches [2 * 8 * matchClasses * matchClasses]weights // by the matches, the bit's place, and missed
	begins  [1 << 8]weights                              // by the begun byte
	guesses guesses
	heads   [1 << headBits]int32 // where in the history follows what ends in a hash of five bytes
}

// bucket holds tallies of half a byte, by its begun bits behind a 1.
type bucket [16]tally

type weights [inputs]int32

const (
	contexts   = orders + 1 // the last bytes, and the word
	orders     = 3
	bucketBits = 13
	inputs     = contexts + 3 // the matches, and a constant
	headBits   = 15
	minMatch   = 5

	mixerRate   = 8
	mixerWeight = 18_000
)

// primed is the predictor that has read the primer, from which all others begin.
var primed = sync.OnceValue(func() *predictor {
	p := new(predictor)
	for _, mixer := range [...][]weights{p.matches[:], p.begins[:]} {
		for i := range mixer {
			for j := range mixer[i] {
				mixer[i][j] = mixerWeight
			}
		}
	}
	p.guesses.reset()
	p.near.reset()
	p.far.reset()
	p.follow(nil)
	for _, c := range []byte(primer) {
		p.code(reading{}, c)
	}
	return p
})

// reading is a coder without output or input: the predictor only learns.
type reading struct{}

func (reading) code(bit int, _ uint32) int { return bit }

// reset makes the predictor one that has read the primer and indexed base, behind which
// it appends.
func (p *predictor) reset(base []byte) {
	history := p.history
	*p = *primed()
	p.history = append(append(history[:0], p.history...), base...)
	for end := len(primer) + 1; end < len(p.history); end++ {
		p.heads[headOf(p.history[:end])] = int32(end)
	}
	p.follow(nil)
}

// headOf returns a hash of the last five of at least eight bytes.
func headOf(text []byte) uint32 {
	last := binary.LittleEndian.Uint64(text[len(text)-8:]) >> (64 - 8*minMatch)
	return uint32(last * 0x9e3779b185ebca87 >> (64 - headBits))
}

// expectAt says that the text that comes replaces the base's text from there on.
func (p *predictor) expectAt(at int) {
	p.near.begin(len(primer)+at, minMatch)
	p.far.begin(0, 0)
}

// follow says what the text goes on behind.
func (p *predictor) follow(text []byte) {
	p.last, p.word = 0, 0
	for _, c := range text[max(0, len(text)-16):] {
		p.turn(c)
	}
	if len(text) == 0 {
		p.turn('\n')
	}
}

// turn makes c the last byte.
func (p *predictor) turn(c byte) {
	p.last = p.last<<8 | uint64(c)
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 {
		p.word = (p.word + uint32(c|0x20)) * 0x2f0b4c47
	} else {
		p.word = 0
	}
}

// code codes a byte behind what went before, and learns it.
func (p *predictor) code(c coder, value byte) byte {
	coded, ok := p.codeGuess(c, value)
	if !ok {
		coded = p.codeBits(c, value)
	}
	p.near.follow(p.history, coded)
	p.near.realign(p.history, coded)
	p.far.follow(p.history, coded)
	p.history = append(p.history, coded)
	p.seek()
	p.turn(coded)
	return coded
}

// codeGuess codes whether a byte is the one that a match says comes next; false
// if it is not, or none says so.
func (p *predictor) codeGuess(c coder, value byte) (byte, bool) {
	p.missed = 0
	m, other := &p.near, &p.far
	if m.at == 0 || other.length > m.length {
		m, other = other, m
	}
	guess, ok := m.expected(p.history)
	if !ok || m.length == 0 || m == &p.far && m.length < minGuess {
		return 0, false
	}
	set := min(m.length/2, 15)<<3 | min(m.misses, 7)
	if m == &p.near {
		set |= 1 << 9
	}
	if second, ok := other.expected(p.history); ok {
		set |= 1<<7 | toBit(second != guess)<<8
	}
	if !p.guesses.code(c, set, uint32(p.last), m, guess, value == guess) {
		p.missed = 1
		return 0, false
	}
	return guess, true
}

// codeBits codes a byte bit by bit.
func (p *predictor) codeBits(c coder, value byte) byte {
	p.begun = 1
	context := p.context()
	for i := 7; i >= 0; i-- {
		if i == 7 || i == 3 {
			p.half = 1
			p.turnTo(&context)
		}
		bit := c.code(int(value>>i&1), p.predict())
		p.learn(bit)
	}
	return byte(p.begun)
}

// context returns hashes of what went before.
func (p *predictor) context() (context [contexts]uint32) {
	for i := range orders {
		context[i] = uint32(p.last<<(56-8*i)*0x9e3779b97f4a7c15>>32) + uint32(i)
	}
	context[orders] = p.word*0x7feb352d + uint32(p.last&0xff)*0x1234567
	return context
}

// turnTo finds the buckets of the next half of a byte.
func (p *predictor) turnTo(context *[contexts]uint32) {
	for i := range context {
		p.at[i] = &p.buckets[i][(context[i]+p.begun*0x9e3779b1)*0x85ebca6b>>(32-bucketBits)]
	}
}

// study learns what follows what in a text, without coding it.
func (p *predictor) study(text []byte) {
	for _, c := range text {
		p.begun = 1
		context := p.context()
		p.turnTo(&context)
		for _, b := range p.at {
			b.study(uint32(c >> 4))
		}
		p.begun = 1<<4 | uint32(c>>4)
		p.turnTo(&context)
		for _, b := range p.at {
			b.study(uint32(c & 0xf))
		}
		p.turn(c)
	}
}

// study learns half a byte.
func (b *bucket) study(half uint32) {
	b[1].learn(int(half >> 3 & 1))
	b[2|half>>3&1].learn(int(half >> 2 & 1))
	b[4|half>>2&3].learn(int(half >> 1 & 1))
	b[8|half>>1&7].learn(int(half & 1))
}

// predict returns the probability of a 1, of 65536.
func (p *predictor) predict() uint32 {
	for i, b := range p.at {
		p.input[i] = stretched[b[p.half&0xf].probability()]
	}
	var near, far int
	p.input[contexts], near = p.near.predict(p.history, p.begun)
	p.input[contexts+1], far = p.far.predict(p.history, p.begun)
	p.input[contexts+2] = 256
	set := (p.missed*matchClasses+near)*matchClasses + far
	p.mixer = [...]*weights{&p.matches[8*set+bits.Len32(p.begun)-1], &p.begins[p.begun&0xff]}
	total := int32(0)
	for m, mixer := range p.mixer {
		x := mixer.mix(&p.input)
		p.mixed[m] = squash(x)
		total += x
	}
	return uint32(squash(total/int32(len(p.mixer))))<<4 + 8
}

// mix returns what the inputs come to, from −2047 to 2047.
func (w *weights) mix(input *[inputs]int32) int32 {
	sum := int64(0)
	for i, weight := range w {
		sum += int64(input[i]) * int64(weight)
	}
	return int32(min(max(sum>>16, -2047), 2047))
}

// learn records the bit that was predicted.
func (p *predictor) learn(bit int) {
	for m, mixer := range p.mixer {
		miss := (int32(bit<<12) - p.mixed[m]) * mixerRate
		for i := range mixer {
			mixer[i] += (p.input[i]*miss + 1<<13) >> 14
		}
	}
	for _, b := range p.at {
		b[p.half&0xf].learn(bit)
	}
	p.near.learn(bit)
	p.far.learn(bit)
	p.begun = p.begun<<1 | uint32(bit)
	p.half = p.half<<1 | uint32(bit)
}

// seek looks for a far match if there is no good one, and remembers where the
// text stands.
func (p *predictor) seek() {
	end := len(p.history)
	if end < 8 {
		return
	}
	head := &p.heads[headOf(p.history)]
	if found := int(*head); found > 0 && p.far.length < minMatch {
		length := 0
		for length < 32 && length < found && p.history[found-1-length] == p.history[end-1-length] {
			length++
		}
		if length >= minMatch {
			p.far.begin(found, length)
		}
	}
	*head = int32(end)
}
