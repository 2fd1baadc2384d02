package deltas

import (
	"bytes"
	"strings"
)

// view returns the content as the judge sees it: without controls and what is
// masked. It has the same entries, with the same identities, in the same order,
// and is c itself if nothing of it is masked.
func (n Noise) view(c *Core) *Core {
	if c == nil {
		return nil
	}
	m := masker{stamps: c.has(oddStamp), controls: c.has(oddControl)}
	m.add(n.slots)
	if !m.stamps && !m.controls && len(m.ticking)+len(m.flicker) == 0 {
		return c
	}
	text := make([]byte, 0, len(c.Text))
	for line := range bytes.Lines(c.Content()) {
		text = m.appendLine(text, bytes.TrimSuffix(line, newline))
	}
	if bytes.Equal(text, c.Content()) {
		return c
	}
	seen, err := ParseCore(append(text, c.Text[len(c.content):]...))
	if err != nil {
		return c // nothing is masked that makes a content what it is
	}
	seen.Cut = c.Cut
	return seen
}

// face returns the hash that the judge knows a view by. Addresses that differ in
// nothing but http and https are the same, as they are in links.
func (c *Core) face() Hash {
	if says := secured(c.content); len(says) != len(c.content) {
		return hashOf([]byte(says))
	}
	return c.Hash
}

// secured returns a text with https in the place of http in its addresses.
func secured(text string) string { return strings.ReplaceAll(text, "http://", "https://") }

// sameText reports whether two texts say the same, whichever of http and https
// their addresses begin with.
func sameText(a, b string) bool { return a == b || secured(a) == secured(b) }

// masker masks lines.
type masker struct {
	reader
	stamps, controls bool             // the content may have some
	ticking, flicker map[slotKey]bool // numbers and lines that are masked
	calm             map[slotKey]bool // stamps that are not
}

func (m *masker) add(slots []slot) {
	m.ticking, m.flicker, m.calm = make(map[slotKey]bool), make(map[slotKey]bool), make(map[slotKey]bool)
	for _, s := range slots {
		switch kind := s.key.kind(); {
		case kind == slotStamp && !s.masked:
			m.calm[s.key] = true
		case kind == slotLine && s.masked:
			m.flicker[s.key] = true
		case kind == slotNumber && s.masked:
			m.ticking[s.key] = true
		}
	}
}

// appendLine appends the line, its end included, or what is left of it.
func (m *masker) appendLine(text, line []byte) []byte {
	switch {
	case isHead(line):
	case m.controls && bytes.HasSuffix(line, []byte(controlMark)):
		return text
	case len(m.flicker) > 0 && m.flicker[newKey(slotLine, line)]:
		return text
	case m.stamps:
		if masked := maskStamp(string(line)); masked != string(line) && m.hides(masked) {
			line = []byte(masked)
		}
	}
	if len(m.ticking) > 0 && !isHead(line) {
		line = m.maskNumbers(line)
		if bytes.HasSuffix(line, []byte(memberMark+mask)) {
			return text // a member that says nothing else may as well be missing
		}
	}
	return append(append(text, line...), '\n')
}

// hides reports whether a build stamp, given as its masked line, is masked.
func (m *masker) hides(stamp string) bool {
	return saysPage(stamp) || !m.calm[newKey(slotStamp, []byte(stamp))]
}

func (m *masker) maskNumbers(line []byte) []byte {
	if m.read(line); len(m.ticking) == 0 || len(m.numbers) == 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	from := 0
	for i, at := range m.at {
		out = append(out, m.shape[from:at]...)
		if from = at + 1; m.ticking[m.key(i)] {
			out = append(out, mask...)
		} else {
			out = append(out, m.numbers[i]...)
		}
	}
	return append(out, m.shape[from:]...)
}
