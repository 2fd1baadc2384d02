// Package diff finds the lines in which two contents differ, in bounded time.
package diff

import (
	"bytes"
	"fmt"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// MaxUnified is the length in bytes at which a diff is cut, at the end of a line.
const MaxUnified = 64 << 10

// Op is a step from one content to the next.
type Op struct {
	Op       string `json:"op"`                  // add, omit or replace
	Line     int    `json:"line"`                // of the base, from 1: the first one omitted or replaced, or the one behind which is added
	Count    int    `json:"count"`               // lines added, omitted or replaced
	NewCount int    `json:"new_count,omitempty"` // of replace: the lines that stand there now
}

// Ops returns the steps from base's content to next's, in the order of lines.
func Ops(base, next *content.Core) []Op {
	ops := make([]Op, 0, 8)
	for _, h := range Hunks(base.Content(), next.Content()) {
		switch {
		case h.Omitted == 0:
			ops = append(ops, Op{Op: "add", Line: h.OldLine, Count: h.Added})
		case h.Added == 0:
			ops = append(ops, Op{Op: "omit", Line: h.OldLine + 1, Count: h.Omitted})
		default:
			ops = append(ops, Op{Op: "replace", Line: h.OldLine + 1, Count: h.Omitted, NewCount: h.Added})
		}
	}
	return ops
}

// Unified returns the difference of two contents as unified text without
// context lines, and whether it was cut. Behind each position stands the title
// of the entry that the lines belong to.
func Unified(base, next *content.Core) (text string, truncated bool) {
	w := diffWriter{titles: titlesAt{content: next.Content()}}
	for _, h := range Hunks(base.Content(), next.Content()) {
		if !w.hunk(h) {
			return w.String(), true
		}
	}
	return w.String(), false
}

// diffWriter writes hunks until MaxUnified is reached.
type diffWriter struct {
	strings.Builder
	titles titlesAt
}

// hunk reports false when something did not fit.
func (w *diffWriter) hunk(h Hunk) bool {
	head := fmt.Sprintf("@@ -%s +%s @@%s\n", span(h.OldLine, h.Omitted), span(h.NewLine, h.Added), w.titles.at(h.NewLine))
	if w.Len()+len(head) > MaxUnified {
		return false
	}
	w.WriteString(head)
	return w.side('-', h.Old) && w.side('+', h.New)
}

func (w *diffWriter) side(sign byte, lines []byte) bool {
	for line := range bytes.Lines(lines) {
		if w.Len()+1+len(line) > MaxUnified {
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
			t.title = " " + lines.Clip(value, 80)
		}
		t.content = t.content[end:]
		t.line++
	}
	if bytes.HasPrefix(t.content, []byte(content.EntryLabel)) {
		return ""
	}
	return t.title
}

func entryName(line []byte) (string, bool) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	for _, label := range [...]string{content.EntryLabel, content.TitleLabel} {
		if value, ok := bytes.CutPrefix(line, []byte(label)); ok {
			return string(value), true
		}
	}
	return "", false
}

// Hunk is a run of lines in the place of another.
type Hunk struct {
	OldLine, Omitted int // first line, from 0, and how many
	NewLine, Added   int
	Old, New         []byte // the lines
}

// How many lines may differ, common beginning and end aside, for a search of
// the shortest difference, and for a faster one: beyond, either may take longer
// than a poll should.
const (
	shortestLines = 4000
	fastLines     = 100_000
)

// Hunks returns the differences of two texts whose lines all end in \n.
func Hunks(old, is []byte) []Hunk {
	if bytes.Equal(old, is) {
		return nil
	}
	head := scan.CommonHead(scan.StringOf(old), scan.StringOf(is))
	tail := scan.CommonTail(scan.StringOf(old[head:]), scan.StringOf(is[head:]))
	before := bytes.Count(old[:head], newline)
	old, is = old[head:len(old)-tail], is[head:len(is)-tail]
	omitted, added := bytes.Count(old, newline), bytes.Count(is, newline)
	if omitted == 0 || added == 0 || omitted+added > fastLines {
		return []Hunk{{OldLine: before, Omitted: omitted, NewLine: before, Added: added, Old: old, New: is}}
	}
	options := []textdiff.Option{diff.Context(0)}
	if omitted+added > shortestLines {
		options = append(options, diff.Fast())
	}
	return search(old, is, before, options)
}

// search compares the lines that differ; before is how many stand before them.
func search(old, is []byte, before int, options []textdiff.Option) []Hunk {
	found := textdiff.Hunks(old, is, options...)
	out := make([]Hunk, 0, len(found))
	for _, h := range found {
		next := Hunk{OldLine: before + h.LineNoX, Omitted: h.EndLineNoX - h.LineNoX, NewLine: before + h.LineNoY, Added: h.EndLineNoY - h.LineNoY}
		for _, e := range h.Edits {
			if e.Op == diff.Delete {
				next.Old = append(next.Old, e.Line...)
			} else {
				next.New = append(next.New, e.Line...)
			}
		}
		out = append(out, next)
	}
	return out
}

var newline = []byte("\n")
