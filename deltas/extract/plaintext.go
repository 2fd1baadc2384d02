package extract

import (
	"strings"
	"unicode"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
)

// extractText makes lines of plain text. Indentation is kept; blank lines and
// white space at a line's end are not content. XML that is no feed is broken
// between its tags.
func extractText(text string) *content.Draft {
	if strings.HasPrefix(text, "<") {
		text = strings.ReplaceAll(text, "><", ">\n<")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	d := &content.Draft{Kind: content.KindText}
	for line := range strings.Lines(text) {
		if len(d.Lines) > content.MaxLines {
			break
		}
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		for len(line) > lines.MaxLength {
			end := lines.BreakAt(line, lines.MaxLength)
			d.Lines = append(d.Lines, line[:end])
			line = line[end:]
		}
		if line != "" {
			d.Lines = append(d.Lines, line)
		}
	}
	return d
}
