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
	for _, h := range hunks(base.Content(), next.Content()) {
		switch {
		case h.omitted == 0:
			ops = append(ops, Op{Op: "add", Line: h.oldLine, Count: h.added})
		case h.added == 0:
			ops = append(ops, Op{Op: "omit", Line: h.oldLine + 1, Count: h.omitted})
		default:
			ops = append(ops, Op{Op: "replace", Line: h.oldLine + 1, Count: h.omitted, NewCount: h.added})
		}
	}
	return ops
}

// unified returns the difference of two contents as unified text without
// context lines, and whether it was cut. Behind each position stands the title
// of the entry that the lines belong to.
func unified(base, next *Core) (text string, truncated bool) {
	w := diffWriter{titles: titlesAt{content: next.Content()}}
	for _, h := range hunks(base.Content(), next.Content()) {
		if !w.hunk(h) {
			return w.String(), true
		}
	}
	return w.String(), false
}

// diffWriter writes hunks until maxDiff is reached.
type diffWriter struct {
	strings.Builder
	titles titlesAt
}

// hunk reports false when something did not fit.
func (w *diffWriter) hunk(h hunk) bool {
	head := fmt.Sprintf("@@ -%s +%s @@%s\n", span(h.oldLine, h.omitted), span(h.newLine, h.added), w.titles.at(h.newLine))
	if w.Len()+len(head) > maxDiff {
		return false
	}
	w.WriteString(head)
	return w.side('-', h.old) && w.side('+', h.new)
}

func (w *diffWriter) side(sign byte, lines []byte) bool {
	for line := range bytes.Lines(lines) {
		if w.Len()+1+len(line) > maxDiff {
			return false
		}
		w.WriteByte(sign)
		w.Write(line)
	}
	return true
}

// span writes count lines from line, counted from 0, as diff -U0 does.
func span(line, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", line)
	case 1:
		return fmt.Sprint(line + 1)
	}
	return fmt.Sprintf("%d,%d", line+1, count)
}

// titlesAt finds the entry that lines belong to, asked in the order of lines.
type titlesAt struct {
	content []byte // from line on
	line    int
	title   string
}

// at returns " " and the title, or identity, of the entry that line is in;
// nothing if an entry begins there, or none stands before.
func (t *titlesAt) at(line int) string {
	for t.line < line && len(t.content) > 0 {
		end := bytes.IndexByte(t.content, '\n') + 1
		if value, ok := entryName(t.content[:end]); ok && t.line > 1 {
			t.title = " " + clipRunes(value, 80)
		}
		t.content = t.content[end:]
		t.line++
	}
	if bytes.HasPrefix(t.content, []byte(entryLabel)) {
		return ""
	}
	return t.title
}

func entryName(line []byte) (string, bool) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	for _, label := range [...]string{entryLabel, titleLabel} {
		if value, ok := bytes.CutPrefix(line, []byte(label)); ok {
			return string(value), true
		}
	}
	return "", false
}

// hunk is a run of lines in the place of another.
type hunk struct {
	oldLine, omitted int // first line, from 0, and how many
	newLine, added   int
	old, new         []byte // the lines
}

// How many lines may differ, common beginning and end aside, for a search of
// the shortest difference, and for a faster one: beyond, either may take longer
// than a poll should.
const (
	shortestLines = 4000
	fastLines     = 100_000
)

// hunks returns the differences of two texts whose lines all end in \n.
func hunks(old, is []byte) []hunk {
	if bytes.Equal(old, is) {
		return nil
	}
	head := commonHead(stringOf(old), stringOf(is))
	tail := commonTail(stringOf(old[head:]), stringOf(is[head:]))
	before := bytes.Count(old[:head], newline)
	old, is = old[head:len(old)-tail], is[head:len(is)-tail]
	omitted, added := bytes.Count(old, newline), bytes.Count(is, newline)
	if omitted == 0 || added == 0 || omitted+added > fastLines {
		return []hunk{{oldLine: before, omitted: omitted, newLine: before, added: added, old: old, new: is}}
	}
	options := []textdiff.Option{diff.Context(0)}
	if omitted+added > shortestLines {
		options = append(options, diff.Fast())
	}
	return search(old, is, before, options)
}

// search compares the lines that differ; before is how many stand before them.
func search(old, is []byte, before int, options []textdiff.Option) []hunk {
	found := textdiff.Hunks(old, is, options...)
	out := make([]hunk, 0, len(found))
	for _, h := range found {
		next := hunk{oldLine: before + h.LineNoX, omitted: h.EndLineNoX - h.LineNoX, newLine: before + h.LineNoY, added: h.EndLineNoY - h.LineNoY}
		for _, e := range h.Edits {
			if e.Op == diff.Delete {
				next.old = append(next.old, e.Line...)
			} else {
				next.new = append(next.new, e.Line...)
			}
		}
		out = append(out, next)
	}
	return out
}

var newline = []byte("\n")
