package judge

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
)

// view returns the content as the judge sees it: without controls and what is
// masked. It has the same entries, with the same identities, in the same order,
// and is c itself if nothing of it is masked.
func (n Noise) view(c *content.Core) *content.Core {
	if c == nil {
		return nil
	}
	m := masker{controls: strings.Contains(c.ContentText(), lines.ControlMark)}
	m.add(n.slots)
	hidden := n.hiddenOf(c, &m)
	if !m.controls && len(m.ticking) == 0 && hidden == nil {
		return c
	}
	text := make([]byte, 0, len(c.Text))
	first := headLines(c)
	at := 0
	eachLine(c, func(line string, kind slotKind) {
		if i := at - first; i < 0 || i >= len(hidden) || !hidden[i] {
			text = m.appendLine(text, line, kind)
		}
		at++
	})
	if string(text) == c.ContentText() {
		return c
	}
	seen, err := content.ParseCore(append(text, c.Text[len(c.ContentText()):]...))
	if err != nil {
		return c // nothing is masked that makes a content what it is
	}
	seen.Cut = c.Cut
	return seen
}

// headLines returns how many lines of the content stand before the page's body.
func headLines(c *content.Core) int {
	n := len(c.Body())
	for _, section := range c.Sections() {
		n += len(section)
	}
	return strings.Count(c.ContentText()[:len(c.ContentText())-n], "\n")
}

// hiddenOf returns which lines of a content's body are masked; nil: none.
func (n Noise) hiddenOf(c *content.Core, m *masker) []bool {
	if len(n.maskedRegions()) == 0 {
		return nil
	}
	return n.hidden(m.pagedOf(c.Body()))
}

// face returns the hash that the judge knows a view by. In what order a page shows
// its lines means nothing.
func (n Noise) face(view *content.Core) content.Hash {
	if view.Kind != content.KindHTML {
		return view.Hash
	}
	lines := strings.SplitAfter(view.ContentText(), "\n")
	slices.Sort(lines)
	return content.HashOf([]byte(strings.Join(lines, "")))
}

// masker masks lines.
type masker struct {
	reader
	controls bool             // the content may have some
	ticking  map[slotKey]bool // numbers that are masked
}

func (m *masker) add(slots []slot) {
	m.ticking = make(map[slotKey]bool)
	for _, s := range slots {
		if s.masked {
			m.ticking[s.key] = true
		}
	}
}

// appendLine appends the line, its end included, or what is left of it.
func (m *masker) appendLine(text []byte, line string, kind slotKind) []byte {
	switch {
	case isHead(line):
		return append(append(text, line...), '\n')
	case m.controls && strings.HasSuffix(line, lines.ControlMark):
		return text
	}
	if len(m.ticking) > 0 {
		line = m.maskNumbers(line, kind)
		if strings.HasSuffix(line, memberMark+lines.Mask) {
			return text // a member that says nothing else may as well be missing
		}
	}
	return append(append(text, line...), '\n')
}

func (m *masker) maskNumbers(line string, kind slotKind) string {
	if m.read(line); len(m.numbers) == 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	from := 0
	for i, at := range m.at {
		out = append(out, m.shape[from:at]...)
		if from = at + 1; m.ticking[m.key(kind, i)] {
			out = append(out, lines.Mask...)
		} else {
			out = append(out, m.numbers[i]...)
		}
	}
	return string(append(out, m.shape[from:]...))
}
