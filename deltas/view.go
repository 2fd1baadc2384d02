package deltas

import (
	"slices"
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
	for line := range strings.Lines(c.content) {
		text = m.appendLine(text, strings.TrimSuffix(line, "\n"))
	}
	if string(text) == c.content {
		return c
	}
	seen, err := ParseCore(append(text, c.Text[len(c.content):]...))
	if err != nil {
		return c // nothing is masked that makes a content what it is
	}
	seen.Cut = c.Cut
	return seen
}

// face returns the hash that the judge knows a view by: of its lines in whatever
// order, where that means nothing.
func (n Noise) face(view *Core) Hash {
	if !n.shuffled(view) {
		return view.face()
	}
	lines := strings.SplitAfter(strings.ReplaceAll(view.content, "http://", "https://"), "\n")
	slices.Sort(lines)
	return hashOf([]byte(strings.Join(lines, "")))
}

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
func (m *masker) appendLine(text []byte, line string) []byte {
	switch {
	case isHead(line):
	case m.controls && strings.HasSuffix(line, controlMark):
		return text
	case len(m.flicker) > 0 && m.flicker[newKey(slotLine, line)]:
		return text
	case m.stamps:
		if masked := maskStamp(line); masked != line && m.hides(masked) {
			line = masked
		}
	}
	if len(m.ticking) > 0 && !isHead(line) {
		line = m.maskNumbers(line)
		if strings.HasSuffix(line, memberMark+mask) {
			return text // a member that says nothing else may as well be missing
		}
	}
	return append(append(text, line...), '\n')
}

// hides reports whether a build stamp, given as its masked line, is masked.
func (m *masker) hides(stamp string) bool {
	return saysPage(stamp) || !m.calm[newKey(slotStamp, stamp)]
}

func (m *masker) maskNumbers(line string) string {
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
	return string(append(out, m.shape[from:]...))
}
