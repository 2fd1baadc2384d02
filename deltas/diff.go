package deltas

import (
	"bytes"
	"fmt"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// maxDiff is the length in bytes at which a diff is cut, at the end of a line.
const maxDiff = 64 << 10

// Op is a step from one content to the next.
type Op struct {
	Op       string `json:"op"`                  // add, omit or replace
	Line     int    `json:"line"`                // of the base, from 1: the first one omitted or replaced, or the one behind which is added
	Count    int    `json:"count"`               // lines added, omitted or replaced
	NewCount int    `json:"new_count,omitempty"` // of replace: the lines that stand there now
}

// Ops returns the steps from base's content to next's, in the order of lines.
func Ops(base, next *Core) []Op {
	ops := make([]Op, 0, 8)
	for _, h := range hunks(contentOf(base), contentOf(next)) {
		omitted, added := h.EndLineNoX-h.LineNoX, h.EndLineNoY-h.LineNoY
		switch {
		case omitted == 0:
			ops = append(ops, Op{Op: "add", Line: h.LineNoX, Count: added})
		case added == 0:
			ops = append(ops, Op{Op: "omit", Line: h.LineNoX + 1, Count: omitted})
		default:
			ops = append(ops, Op{Op: "replace", Line: h.LineNoX + 1, Count: omitted, NewCount: added})
		}
	}
	return ops
}

// contentOf returns nothing for a nil Core.
func contentOf(c *Core) []byte {
	if c == nil {
		return nil
	}
	return c.Content()
}

// unified returns the difference of two contents as unified text without
// context lines, and whether it was cut. Behind each position stands the title
// of the entry that the lines belong to.
func unified(base, next *Core) (text string, truncated bool) {
	old, is := contentOf(base), contentOf(next)
	titles := titlesAt{content: is}
	var b strings.Builder
	for _, h := range hunks(old, is) {
		head := fmt.Sprintf("@@ -%s +%s @@%s\n", span(h.LineNoX, h.EndLineNoX), span(h.LineNoY, h.EndLineNoY), titles.at(h.LineNoY))
		if b.Len()+len(head) > maxDiff {
			return b.String(), true
		}
		b.WriteString(head)
		for _, e := range h.Edits {
			if b.Len()+1+len(e.Line) > maxDiff {
				return b.String(), true
			}
			b.WriteByte(sign(e.Op))
			b.Write(e.Line)
		}
	}
	return b.String(), false
}

func sign(op diff.Op) byte {
	if op == diff.Delete {
		return '-'
	}
	return '+'
}

// span writes lines from to end, both from 0 and end exclusive, as diff -U0 does.
func span(from, end int) string {
	switch end - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, end-from)
}

// titlesAt finds the entry that lines belong to, asked in the order of lines.
type titlesAt struct {
	content []byte
	line    int // of what is left of content
	title   string
}

// at returns " " and the title, or identity, of the entry that line is in; nothing if
// the line itself begins an entry or stands before the first.
func (t *titlesAt) at(line int) string {
	for t.line < line && len(t.content) > 0 {
		end := bytes.IndexByte(t.content, '\n') + 1
		for _, label := range [...]string{entryLabel, titleLabel} {
			if value, ok := bytes.CutPrefix(t.content[:end], []byte(label)); ok && t.line > 1 {
				t.title = " " + clipRunes(string(bytes.TrimSuffix(value, []byte("\n"))), 80)
			}
		}
		t.content = t.content[end:]
		t.line++
	}
	if bytes.HasPrefix(t.content, []byte(entryLabel)) {
		return ""
	}
	return t.title
}

// Beyond these a search for the shortest difference may take longer than a poll
// should: a faster search, then none.
const (
	fastLines = 20_000
	mostLines = 200_000
)

// hunks returns the differences of two texts whose lines all end in \n.
func hunks(old, is []byte) []textdiff.Hunk[[]byte] {
	lines := bytes.Count(old, []byte("\n")) + bytes.Count(is, []byte("\n"))
	switch {
	case lines <= fastLines:
		return textdiff.Hunks(old, is, diff.Context(0))
	case lines <= mostLines:
		return textdiff.Hunks(old, is, diff.Context(0), diff.Fast())
	default:
		return replaceMiddle(old, is)
	}
}

// replaceMiddle returns one hunk: all lines between the common beginning and
// the common end.
func replaceMiddle(old, is []byte) []textdiff.Hunk[[]byte] {
	x, y := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(is, []byte("\n"))
	x, y = x[:max(len(x)-1, 0)], y[:max(len(y)-1, 0)]
	from, tail := 0, 0
	for from < len(x) && from < len(y) && bytes.Equal(x[from], y[from]) {
		from++
	}
	for tail < len(x)-from && tail < len(y)-from && bytes.Equal(x[len(x)-1-tail], y[len(y)-1-tail]) {
		tail++
	}
	h := textdiff.Hunk[[]byte]{LineNoX: from, EndLineNoX: len(x) - tail, LineNoY: from, EndLineNoY: len(y) - tail}
	if h.LineNoX == h.EndLineNoX && h.LineNoY == h.EndLineNoY {
		return nil
	}
	for i, line := range x[from:h.EndLineNoX] {
		h.Edits = append(h.Edits, textdiff.Edit[[]byte]{Op: diff.Delete, Line: line, LineNoX: from + i, LineNoY: -1})
	}
	for i, line := range y[from:h.EndLineNoY] {
		h.Edits = append(h.Edits, textdiff.Edit[[]byte]{Op: diff.Insert, Line: line, LineNoX: -1, LineNoY: from + i})
	}
	return []textdiff.Hunk[[]byte]{h}
}
