package codec

// guesses learns how far to trust a match's guess of the next byte: by how the
// match did, and by how often that byte came where it was guessed behind the last
// one and the last two.
type guesses struct {
	behind [2][1 << guessBits]tally
	rates  [4][matchLengths]counter // by misses and length
	mixers [guessSets]guessWeights
}

type guessWeights [4]int32

const (
	minGuess    = 8 // bytes of a far match
	guessBits   = 12
	guessSets   = 1 << 10
	guessWeight = 30_000
	guessRate   = 6
)

func (g *guesses) reset() {
	resetRates(g.rates[:])
	for i := range g.mixers {
		for j := range g.mixers[i] {
			g.mixers[i][j] = guessWeight
		}
	}
}

// code codes whether m's guess behind the last bytes is right, with the mixer of a
// set, and learns it.
func (g *guesses) code(c coder, set int, last uint32, m *match, guess byte, right bool) bool {
	rate := &g.rates[min(m.misses, len(g.rates)-1)][m.steps()]
	one := &g.behind[0][guessAt(last&0xff, guess)]
	two := &g.behind[1][guessAt(last&0xffff, guess)]
	input := guessWeights{stretched[rate.probability()], stretched[one.probability()], stretched[two.probability()], 256}
	mixer := &g.mixers[set]
	sum := int64(0)
	for i, weight := range mixer {
		sum += int64(input[i]) * int64(weight)
	}
	p := squash(int32(min(max(sum>>16, -2047), 2047)))
	bit := c.code(toBit(right), uint32(p)<<4+8)
	miss := (int32(bit<<12) - p) * guessRate
	for i := range mixer {
		mixer[i] += (input[i]*miss + 1<<13) >> 14
	}
	rate.learn(bit, matchLimit)
	one.learn(bit)
	two.learn(bit)
	return bit == 1
}

func guessAt(last uint32, guess byte) uint32 {
	return (last<<8 | uint32(guess)) * 0x9e3779b1 >> (32 - guessBits)
}
