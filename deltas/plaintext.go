package deltas

import (
	"strings"
	"unicode"
)

// extractText makes lines of plain text. Indentation is kept; blank lines and
// white space at a line's end are not content. XML that is no feed is broken
// between its tags.
func extractText(text string) *draft {
	if strings.HasPrefix(text, "<") {
		text = strings.ReplaceAll(text, "><", ">\n<")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	d := &draft{kind: KindText}
	for line := range strings.Lines(text) {
		if len(d.lines) > MaxLines {
			break
		}
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		for len(line) > maxLine {
			end := breakAt(line, maxLine)
			d.lines = append(d.lines, line[:end])
			line = line[end:]
		}
		if line != "" {
			d.lines = append(d.lines, line)
		}
	}
	return d
}
