package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

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

// UpdatePrinter prints updates and what else comes on a stream for people.
type UpdatePrinter struct {
	w      *bufio.Writer
	colour bool
}

// NewUpdatePrinter returns a printer on w, with colours if w is a terminal.
func NewUpdatePrinter(w io.Writer) *UpdatePrinter {
	return &UpdatePrinter{w: bufio.NewWriter(w), colour: wantsColour(w)}
}

// paint wraps text, which must be clean, in a colour where colours are wanted.
func (p *UpdatePrinter) paint(colour, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Update prints an update: time and URL, what happened to entries, the diff, and what
// noise hides.
func (p *UpdatePrinter) Update(u *api.Update) error {
	head := fmt.Sprintf("%s  %s", TimeText(&u.DetectedAt), Clean(u.URL))
	fmt.Fprintf(p.w, "%s  %s\n", p.paint(bold, head), p.paint(dim, fmt.Sprintf("version %d", u.Version)))
	p.Changes(u.Entries, u.Diff, u.Truncated)
	for _, mask := range u.Masked {
		text := deltas.Masked{What: mask.What, Text: mask.Text, Why: mask.Why}.String()
		fmt.Fprintln(p.w, p.paint(dim, "  passed over: "+Clean(text)))
	}
	fmt.Fprintln(p.w)
	return p.w.Flush()
}

// Step prints an update of a history.
func (p *UpdatePrinter) Step(at time.Time, step deltas.Step) {
	fmt.Fprintln(p.w, p.paint(bold, TimeText(&at))+"  "+p.paint(dim, fmt.Sprintf("%d bytes of delta", step.Update.DeltaBytes)))
	p.Changes(step.Update.Entries, step.Update.Diff, step.Update.Truncated)
	fmt.Fprintln(p.w)
}

// Changes prints what an update says: entries, then lines.
func (p *UpdatePrinter) Changes(entries deltas.Entries, diff string, truncated bool) {
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

func (p *UpdatePrinter) entry(colour, sign string, e deltas.Entry) {
	title := e.Title
	if title == "" {
		title = e.ID
	}
	line := "  " + sign + " " + Clean(title)
	if len(e.Fields) > 0 {
		line += Clean(" (" + strings.Join(e.Fields, ", ") + " changed)")
	}
	fmt.Fprintln(p.w, p.paint(colour, line))
	if e.Link != "" {
		fmt.Fprintln(p.w, "    "+p.paint(dim, Clean(e.Link)))
	}
}

func (p *UpdatePrinter) diff(text string) {
	for line := range strings.Lines(text) {
		line = Clean(strings.TrimSuffix(line, "\n"))
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

// Gap prints that versions will not come. name is of the channel.
func (p *UpdatePrinter) Gap(name string, from, to uint64, reason string) error {
	text := fmt.Sprintf("versions %d to %d of %s are missing", from, to, name)
	if reason != "" {
		text += ": " + reason
	}
	return p.Note(text)
}

// Note prints a line of its own, such as a gap.
func (p *UpdatePrinter) Note(text string) error {
	fmt.Fprintln(p.w, p.paint(yellow, Clean(text))+"\n")
	return p.w.Flush()
}

// Line prints a line behind an update and passes everything on.
func (p *UpdatePrinter) Line(text string) error {
	fmt.Fprintln(p.w, text)
	return p.Flush()
}

// Flush passes on what was printed.
func (p *UpdatePrinter) Flush() error { return p.w.Flush() }
