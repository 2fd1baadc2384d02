// Package lines makes lines of running text, one for each sentence of a long
// paragraph, and says how the target of a link, and a time that passes by itself, are
// written in a line.
package lines

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// Max is how many lines a page or text has at most.
const Max = 250_000

// Lengths of what is shown.
const (
	MaxTitle   = 1000 // runes
	MaxSummary = 500  // runes
	MaxLength  = 4096 // bytes of a line; longer ones without a sentence's end are broken
)

// Writer makes lines of running text: white space collapsed, invisible
// characters dropped, a line for each sentence, so that an edit changes a line
// that a person can read and not a paragraph.
type Writer struct {
	Lines []string // those that have ended

	written strings.Builder // all that was written; lines are parts of it
	begin   int             // where in it the line begins
	space   bool            // white space is due before the next word
	cell    bool            // a table cell ended on this line
}

// Grow makes room for so many bytes of lines.
func (w *Writer) Grow(bytes int) { w.written.Grow(bytes) }

// Space parts what follows on the line from what stands there.
func (w *Writer) Space() { w.space = true }

// Line returns what stands on the line.
func (w *Writer) Line() string { return w.written.String()[w.begin:] }

// Length is that of what stands on the line, in bytes.
func (w *Writer) Length() int { return w.written.Len() - w.begin }

// Text adds running text to the line.
func (w *Writer) Text(s string) {
	for len(s) > 0 {
		if n := scan.SpaceEnd(s, 0); n > 0 {
			w.space = true
			s = s[n:]
			continue
		}
		if n := scan.PlainRun(s); n > 0 {
			w.separate()
			w.written.WriteString(s[:n])
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			w.space = true
		case !scan.IsInvisible(r):
			w.separate()
			w.written.WriteString(s[:size])
		}
		s = s[size:]
	}
}

// Preformatted adds text whose line ends count.
func (w *Writer) Preformatted(s string) {
	for line := range strings.Lines(s) {
		w.Text(line)
		if strings.HasSuffix(line, "\n") {
			w.End()
		}
	}
}

// separate writes what is due before the next word.
func (w *Writer) separate() {
	if w.Length() > 0 {
		switch {
		case w.cell:
			w.written.WriteString(" | ")
		case w.space:
			w.written.WriteByte(' ')
		}
	}
	w.space, w.cell = false, false
}

// EndCell ends a table cell that stands on the line.
func (w *Writer) EndCell() { w.cell = w.Length() > 0 }

// End ends the line.
func (w *Writer) End() {
	if w.Length() > 0 && len(w.Lines) <= Max {
		w.Lines = appendSentences(w.Lines, maskTimes(w.Line()))
	}
	w.begin = w.written.Len()
	w.space, w.cell = false, false
}

// longLine is the length in bytes from which a line is broken into its sentences.
const longLine = 240

// appendSentences appends the sentences of a line, each a line; a short line as
// it is.
func appendSentences(lines []string, s string) []string {
	short := len(s) < longLine
	for s != "" {
		end := len(s)
		if !short {
			end = sentenceEnd(s)
		}
		if line := strings.TrimSpace(s[:end]); line != "" {
			lines = append(lines, line)
		}
		s = s[end:]
	}
	return lines
}

// sentenceEnd returns where the first sentence of s ends: behind a full stop
// and a space that a new sentence follows. It depends on the bytes around the
// place alone, so that an edit does not move the ends that follow.
func sentenceEnd(s string) int {
	near := s[:min(len(s), MaxLength+1)]
	for i := scan.NextEnd(near, 0); i+2 < len(s) && i < len(near); i = scan.NextEnd(near, i+1) {
		switch {
		case s[i] == 0xe3:
			if strings.HasPrefix(s[i:], ideographicStop) {
				return i + len(ideographicStop)
			}
		case s[i+1] == ' ' && beginsSentence(s[i+2:]) && !endsAbbreviation(s[:i]):
			return i + 2
		}
	}
	if len(s) > MaxLength+2 {
		return BreakAt(s, MaxLength)
	}
	return len(s)
}

const ideographicStop = "。" // 0xe3, …

// BreakAt returns a place to break s at or before i, which is in s, that cuts no rune.
func BreakAt(s string, i int) int {
	if space := strings.LastIndexByte(s[:i], ' '); space > 0 {
		return space + 1
	}
	for end := i; end > i-utf8.UTFMax; end-- {
		if utf8.RuneStart(s[end]) {
			return end
		}
	}
	return i // in no rune at all
}

func beginsSentence(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.Is(unicode.Han, r) || strings.ContainsRune("\"'“‘«¿¡(", r)
}

// endsAbbreviation reports an initial or a title before the full stop.
func endsAbbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (")+1:]
	switch word {
	case "Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Gov", "Sec", "Sen", "Rep", "Gen", "No", "vs", "etc":
		return true
	}
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsUpper(r) || strings.HasSuffix(word, ".") || strings.Contains(word, ".") && len(word) <= 4
}

// OneLine returns s without line ends, white space collapsed.
func OneLine(s string) string {
	if isOneLine(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// isOneLine reports words with single spaces between them; it may miss some.
func isOneLine(s string) bool { return scan.PlainRun(s) == len(s) }

// Clip cuts s to most runes, the last of them an ellipsis if it was longer.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := skipRunes(s, most-1)
	if _, size := utf8.DecodeRuneInString(s[end:]); end+size == len(s) {
		return s
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// skipRunes returns the length in bytes of the first n runes of s.
func skipRunes(s string, n int) int {
	at := 0
	for n > 0 && at < len(s) {
		if n >= 8 && at+8 <= len(s) && scan.Eight(s[at:])&scan.UpperBits == 0 {
			at, n = at+8, n-8
			continue
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at, n = at+size, n-1
	}
	return at
}

// enough is how many bytes of text a summary is made of at most.
const enough = MaxSummary * utf8.UTFMax

// Summarise returns the beginning of lines as one, at most MaxSummary runes.
func Summarise(lines []string) string {
	if len(lines) == 1 {
		return Clip(withoutTargets(lines[0]), MaxSummary)
	}
	var b strings.Builder
	for _, line := range lines {
		if b.Len() > enough {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(withoutTargets(line))
	}
	return Clip(b.String(), MaxSummary)
}

// Clean collapses white space and drops invisible characters.
func Clean(s string) string {
	if isOneLine(s) {
		return s
	}
	var w Writer
	w.Text(s)
	return w.Line()
}
