package deltas

import (
	"fmt"
	"strings"
	"time"
)

// Masked is something that a channel's noise hides, in words for people.
type Masked struct {
	What  string        // "number", "line", "stamp", "control", "window" or "order"
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
	for line := range strings.Lines(string(contentOf(current))) {
		e.line(strings.TrimSuffix(line, "\n"))
	}
	for _, s := range n.slots {
		if _, ok := e.shown[s.key]; s.masked && !ok {
			e.hidden(s.key, "")
		}
	}
	switch {
	case current != nil && n.shuffled(current):
		e.masked = append(e.masked, Masked{What: "order", Why: "its lines come in another order again and again", Calm: usualGap * time.Duration(n.chosen)})
	case n.chosen >= chosenFrom:
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

// line takes in a line in the same order of cases as [masker.appendLine].
func (e *explainer) line(line string) {
	if isHead(line) {
		return
	}
	masked, whole := maskStamp(line), newKey(slotLine, line)
	stamp := newKey(slotStamp, masked)
	switch {
	case strings.HasSuffix(line, controlMark):
		e.masked = append(e.masked, Masked{What: "control", Text: line, Lines: 1, Why: "it leads nowhere without a script, and scripts show and hide it"})
		return
	case e.flicker[whole]:
		e.hidden(whole, line)
		return
	case masked != line && e.hides(masked):
		e.hidden(stamp, masked)
		line = masked
	}
	e.read(line)
	for i := range e.numbers {
		if key := e.key(i); e.ticking[key] {
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
	looks := policies[slotStamp].begins
	if at, known := e.noise.find(key); known {
		looks = int(e.noise.slots[at].score)
	}
	m.Calm = time.Duration(looks) * usualGap
	switch key.kind() {
	case slotNumber:
		m.What, m.Why = "number", "it changed at nearly every look"
	case slotLine:
		m.What, m.Why = "line", "it came and went at nearly every look"
	case slotStamp:
		m.What, m.Why = "stamp", "it says when the document was made"
		if saysPage(text) {
			m.Calm = 0
		}
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
