package deltas

import (
	"fmt"
	"strings"
	"time"
)

// Masked is something that a channel's noise hides, in words for people.
type Masked struct {
	What  string        // "number", "region", "control" or "window"
	Text  string        // what stands there, … in the place of what is hidden; empty if the content has it not now
	Lines int           // how many of the content's lines it hides something of
	Why   string        // a sentence without a full stop
	Calm  time.Duration // without a change, after which it counts again; 0: it never does
}

// Explain returns what the noise hides of a content, in the order of its lines,
// and behind it what it would hide of others. current is the channel's current
// content, nil if the caller has it not: a number or a line that was learned is
// remembered by a digest, so that only the content has its words.
func (n Noise) Explain(current *Core) []Masked {
	e := explainer{noise: n, shown: make(map[slotKey]int)}
	e.masker.add(n.slots)
	if current != nil {
		e.content(current, n.hiddenOf(current, &e.masker))
	}
	for _, s := range n.slots {
		if _, ok := e.shown[s.key]; s.masked && !ok {
			e.hidden(s.key, "")
		}
	}
	if n.chosen >= chosenFrom {
		e.masked = append(e.masked, Masked{What: "window", Why: "entries leave from anywhere when others come, so none that leaves counts as withdrawn"})
	}
	return e.masked
}

// explainer collects what is masked of lines.
type explainer struct {
	masker
	noise  Noise
	masked []Masked
	shown  map[slotKey]int // index in masked
}

// content takes in the lines of a content, some of which stand in masked regions.
func (e *explainer) content(c *Core, hidden []bool) {
	at, first := 0, c.headLines()
	c.eachLine(func(line string, kind slotKind) {
		i := at - first
		at++
		if i < 0 || i >= len(hidden) || !hidden[i] {
			e.line(line, kind)
			return
		}
		if i == 0 || !hidden[i-1] {
			e.masked = append(e.masked, Masked{What: "region", Text: line, Why: "what stands here changes at look after look, to what stood here before"})
		}
		e.masked[len(e.masked)-1].Lines++
	})
}

// line takes in a line in the same order of cases as [masker.appendLine].
func (e *explainer) line(line string, kind slotKind) {
	if isHead(line) {
		return
	}
	if strings.HasSuffix(line, controlMark) {
		e.masked = append(e.masked, Masked{What: "control", Text: line, Lines: 1, Why: "it leads nowhere without a script, and scripts show and hide it"})
		return
	}
	e.read(line)
	for i := range e.numbers {
		if key := e.key(kind, i); e.ticking[key] {
			from, to := e.around(i)
			e.hidden(key, strings.ReplaceAll(string(e.shape[from:to]), "\x00", mask))
		}
	}
}

// hidden counts a slot that hides something of a line.
func (e *explainer) hidden(key slotKey, text string) {
	at, ok := e.shown[key]
	if !ok {
		at = len(e.masked)
		e.shown[key] = at
		e.masked = append(e.masked, e.why(key, text))
	}
	if text != "" {
		e.masked[at].Lines++
	}
}

// why says why a slot is masked.
func (e *explainer) why(key slotKey, text string) Masked {
	m := Masked{Text: strings.TrimSpace(text)}
	score := uint8(0)
	if at, known := e.noise.find(key); known {
		score = e.noise.slots[at].score
	}
	m.Calm = time.Duration(score) * usualGap
	switch key.kind() {
	case slotNumber:
		m.What, m.Why = "number", "it changed at several looks in a row"
	case slotField:
		m.What, m.Why, m.Calm = "number", "it changed in most entries at once, again and again", 0
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
