package codec

import (
	"math/bits"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// match is a place in the history from where on the text is thought to go on as
// it did there.
type match struct {
	at     int // of the byte that comes next; 0: nowhere
	length int // of what was right, in bytes
	misses int // lately

	rates  [2][matchLengths]counter // how often it was right, by its length; [1] after a miss
	from   *counter                 // that the last prediction came from; nil: it said nothing
	expect int                      // the bit that it says
}

const (
	matchLengths = 32
	matchClasses = 8 // of lengths; 0: it says nothing
	matchLimit   = 250
	maxMisses    = 8
)

func (m *match) reset() { resetRates(m.rates[:]) }

// resetRates makes counters, by a match's length, those of one that has seen nothing.
func resetRates(rates [][matchLengths]counter) {
	for i := range rates {
		for length := range rates[i] {
			rates[i][length] = newCounter(1<<15 + 1<<15*(length+1)/(matchLengths+4))
		}
	}
}

// begin makes the text go on at a place, 0 for nowhere.
func (m *match) begin(at, length int) { m.at, m.length, m.misses = at, length, 0 }

// expected returns the byte that comes next, false if the match says nothing.
func (m *match) expected(history []byte) (byte, bool) {
	if m.at == 0 || m.at >= len(history) {
		return 0, false
	}
	return history[m.at], true
}

// predict returns what the match says of the next bit of a begun byte, as a
// mixer takes it in, and the class of its length.
func (m *match) predict(history []byte, begun uint32) (input int32, class int) {
	m.from = nil
	c, ok := m.expected(history)
	known := bits.Len32(begun) - 1
	if !ok || (uint32(c)|0x100)>>(8-known) != begun {
		return 0, 0
	}
	length := m.steps()
	m.expect = int(c >> (7 - known) & 1)
	m.from = &m.rates[min(m.misses, 1)][length]
	input = stretched[m.from.probability()]
	if m.expect == 0 {
		input = -input
	}
	return input, 1 + min(length/4, matchClasses-2)
}

// steps returns the match's length on a scale that grows coarser with it.
func (m *match) steps() int { return min(m.length, 15+m.length/8, matchLengths-1) }

func (m *match) learn(bit int) {
	if m.from != nil {
		m.from.learn(toBit(bit == m.expect), matchLimit)
	}
}

// follow follows the match over a byte.
func (m *match) follow(history []byte, c byte) {
	expected, ok := m.expected(history)
	switch {
	case !ok:
		m.begin(0, 0)
		return
	case expected != c:
		m.length = 0
		m.misses++
	case m.length >= 16:
		m.misses = 0
		fallthrough
	default:
		m.length++
	}
	if m.at++; m.misses > maxMisses {
		m.begin(0, 0)
	}
}

// nearby is how far from where it should be a mark is looked for, in bytes.
const nearby = 32

// realign makes a match that was wrong go on behind the nearest c, which ends a
// word or a number: the one that took its place may be longer or shorter.
func (m *match) realign(history []byte, c byte) {
	if m.at == 0 || m.length > 0 || scan.IsWordByte(c) {
		return
	}
	for d := range nearby {
		for _, at := range [...]int{m.at - 1 + d, m.at - 1 - d} {
			if at > 0 && at < len(history) && history[at] == c {
				m.at = at + 1
				return
			}
		}
	}
}
