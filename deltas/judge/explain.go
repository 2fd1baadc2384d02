package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
)

// Masked is something that a channel's noise hides, in words for people.
type Masked struct {
	What  string        // "number", "region", "control" or "window"
	Text  string        // what stands there, … in the place of what is hidden; empty if the content has it not now
	Shown string        // what stands there, all of it, lines separated by line ends; of the first place where there are several
	Lines int           // how many of the content's lines it hides something of
	Why   string        // a sentence without a full stop
	Calm  time.Duration // without a change, seen by looks at most half an hour apart, after which it counts again; 0: no time makes it count
}

// What a [Masked] is.
const (
	whatNumber  = "number"
	whatRegion  = "region"
	whatControl = "control"
	whatWindow  = "window"
)

// Explain returns what the noise hides of a content, in the order of its lines,
// and behind it what it would hide of others. current is the channel's current
// content, nil if the caller has it not: a number or a line that was learned is
// remembered by a digest, so that only the content has its words.
func (n Noise) Explain(current *content.Core) []Masked {
	e := newExplainer(n)
	e.content(current)
	for _, s := range n.slots {
		if _, ok := e.shown[s.key]; s.masked && !ok {
			e.masked = append(e.masked, e.why(s.key, ""))
		}
	}
	if n.chosen >= chosenFrom {
		e.masked = append(e.masked, Masked{What: whatWindow, Why: whyWindow(n.chosen)})
	}
	return e.masked
}

// hides returns what the noise hides of a content, in the order of its lines.
func (n Noise) hides(c *content.Core) []Masked {
	e := newExplainer(n)
	e.content(c)
	return e.masked
}

// explainer collects what is masked of lines.
type explainer struct {
	masker
	noise  Noise
	masked []Masked
	shown  map[slotKey]int // index in masked
}

func newExplainer(n Noise) *explainer {
	e := &explainer{noise: n, shown: make(map[slotKey]int)}
	e.masker.add(n.slots)
	return e
}

// content explains the lines of a content, some of which stand in masked regions. A
// content of which nothing may be masked is not read.
func (e *explainer) content(c *content.Core) {
	if c == nil {
		return
	}
	e.controls = strings.Contains(c.ContentText(), lines.ControlMark)
	regions := e.regionsOf(c)
	if !e.controls && len(e.ticking) == 0 && regions == nil {
		return
	}
	at, first := 0, headLines(c)
	eachLine(c, func(line string, kind slotKind) {
		i := at - first
		at++
		if i < 0 || i >= len(regions) || regions[i] == nil {
			e.line(line, kind)
			return
		}
		m := regions[i]
		if m.Lines == 0 {
			m.Text, m.Shown = line, line
		} else {
			m.Shown += "\n" + line
		}
		m.Lines++
		if i+1 == len(regions) || regions[i+1] != m {
			e.masked = append(e.masked, *m)
		}
	})
}

// regionsOf returns what hides each line of a page's body, nil where no region does.
func (e *explainer) regionsOf(c *content.Core) (hiding []*Masked) {
	if len(e.noise.maskedRegions()) == 0 {
		return nil
	}
	p := e.pagedOf(c.Body())
	e.noise.eachHiding(p, func(l *region, s run) {
		if hiding == nil {
			hiding = make([]*Masked, len(p))
		}
		m := &Masked{What: whatRegion, Why: whyRegion(l, p[s.from:s.to]), Calm: l.calmAfter(regionPolicy)}
		for at := s.from; at < s.to; at++ {
			if hiding[at] == nil {
				hiding[at] = m
			}
		}
	})
	return hiding
}

// line explains a line in the same order of cases as [masker.appendLine].
func (e *explainer) line(line string, kind slotKind) {
	if isHead(line) {
		return
	}
	if e.controls && strings.HasSuffix(line, lines.ControlMark) {
		e.masked = append(e.masked, Masked{What: whatControl, Text: line, Shown: line, Lines: 1, Why: whyControl})
		return
	}
	if len(e.ticking) == 0 {
		return
	}
	e.read(line)
	for i := range e.numbers {
		if key := e.key(kind, i); e.ticking[key] {
			from, to := e.around(i)
			e.hidden(key, strings.ReplaceAll(string(e.shape[from:to]), "\x00", lines.Mask), e.filled(from, to))
		}
	}
}

// filled returns a part of the last line's shape with its numbers.
func (e *explainer) filled(from, to int) string {
	var text strings.Builder
	for i, _ := slices.BinarySearch(e.at, from); i < len(e.at) && e.at[i] < to; i++ {
		text.Write(e.shape[from:e.at[i]])
		text.WriteString(e.numbers[i])
		from = e.at[i] + 1
	}
	text.Write(e.shape[from:to])
	return text.String()
}

// hidden counts a slot that hides something of a line.
func (e *explainer) hidden(key slotKey, text, shown string) {
	at, ok := e.shown[key]
	if !ok {
		at = len(e.masked)
		e.shown[key] = at
		m := e.why(key, text)
		m.Shown = strings.TrimSpace(shown)
		e.masked = append(e.masked, m)
	}
	e.masked[at].Lines++
}

// why says why a slot is masked.
func (e *explainer) why(key slotKey, text string) Masked {
	r := rhythm{}
	if at, known := e.noise.find(key); known {
		r = e.noise.slots[at].rhythm
	}
	m := Masked{Text: strings.TrimSpace(text)}
	switch kind := key.kind(); kind {
	case slotNumber:
		m.What, m.Why, m.Calm = whatNumber, whyNumber(r), r.calmAfter(policies[kind])
	case slotField:
		m.What, m.Why = whatNumber, whyField(r)
	}
	return m
}

// String returns the line that people read, but for Calm.
func (m Masked) String() string {
	text := m.What
	if m.Text != "" {
		text = fmt.Sprintf("%s %q", m.What, m.Text)
	}
	if m.Lines > 1 {
		text += fmt.Sprintf(" (%d lines)", m.Lines)
	}
	return text + ": " + m.Why
}
