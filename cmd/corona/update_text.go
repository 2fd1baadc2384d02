package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// The colours of an update on a terminal (ECMA-48, SGR).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// updatePrinter prints updates and what else comes on a stream for people.
type updatePrinter struct {
	w      *bufio.Writer
	colour bool
}

func newUpdatePrinter(w io.Writer) *updatePrinter {
	return &updatePrinter{w: bufio.NewWriter(w), colour: wantsColour(w)}
}

// paint wraps text, which must be clean, in a colour where colours are wanted.
func (p *updatePrinter) paint(colour, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// update prints an update: time and URL, what happened to entries, the diff, and what
// noise hides.
func (p *updatePrinter) update(u *api.Update) error {
	head := fmt.Sprintf("%s  %s", timeText(&u.DetectedAt), clean(u.URL))
	fmt.Fprintf(p.w, "%s  %s\n", p.paint(bold, head), p.paint(dim, fmt.Sprintf("version %d", u.Version)))
	p.changes(u.Entries, u.Diff, u.Truncated)
	for _, mask := range u.Masked {
		text := deltas.Masked{What: mask.What, Text: mask.Text, Why: mask.Why}.String()
		fmt.Fprintln(p.w, p.paint(dim, "  passed over: "+clean(text)))
	}
	fmt.Fprintln(p.w)
	return p.w.Flush()
}

// changes prints what an update says: entries, then lines.
func (p *updatePrinter) changes(entries deltas.Entries, diff string, truncated bool) {
	for _, entry := range entries.Added {
		p.entry(green, "+", entry)
	}
	for _, entry := range entries.Changed {
		p.entry(yellow, "~", entry)
	}
	for _, entry := range entries.Removed {
		p.entry(red, "-", entry)
	}
	p.diff(diff)
	if truncated {
		fmt.Fprintln(p.w, p.paint(dim, "  … the rest of the difference is cut"))
	}
}

func (p *updatePrinter) entry(colour, sign string, e deltas.Entry) {
	title := e.Title
	if title == "" {
		title = e.ID
	}
	line := "  " + sign + " " + clean(title)
	if len(e.Fields) > 0 {
		line += clean(" (" + strings.Join(e.Fields, ", ") + " changed)")
	}
	fmt.Fprintln(p.w, p.paint(colour, line))
	if e.Link != "" {
		fmt.Fprintln(p.w, "    "+p.paint(dim, clean(e.Link)))
	}
}

func (p *updatePrinter) diff(text string) {
	for line := range strings.Lines(text) {
		line = clean(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			line = p.paint(cyan, line)
		case strings.HasPrefix(line, "+"):
			line = p.paint(green, line)
		case strings.HasPrefix(line, "-"):
			line = p.paint(red, line)
		}
		fmt.Fprintln(p.w, "    "+line)
	}
}

// gap prints that versions will not come. name is of the channel.
func (p *updatePrinter) gap(name string, from, to uint64, reason string) error {
	text := fmt.Sprintf("versions %d to %d of %s are missing", from, to, name)
	if reason != "" {
		text += ": " + reason
	}
	return p.note(text)
}

func (p *updatePrinter) note(text string) error {
	fmt.Fprintln(p.w, p.paint(yellow, clean(text))+"\n")
	return p.w.Flush()
}
