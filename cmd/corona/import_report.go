package main

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/seed-91e7e7c1/corona/api"
)

// importTally counts what became of the entries of a list. The progress bar
// reads it while it grows.
type importTally struct {
	subscribed atomic.Int64
	refused    atomic.Int64
	retryable  atomic.Int64 // of the refused
}

func (t *importTally) add(problem *api.Problem) {
	if problem == nil {
		t.subscribed.Add(1)
		return
	}
	t.refused.Add(1)
	if problem.Retryable {
		t.retryable.Add(1)
	}
}

func (t *importTally) String() string {
	text := fmt.Sprintf("%d subscribed, %d refused", t.subscribed.Load(), t.refused.Load())
	if n := t.retryable.Load(); n > 0 {
		text += fmt.Sprintf(" (%d of them for now: import again later)", n)
	}
	return text
}

// importReport prints what was refused as it comes, and the sums at the end.
type importReport interface {
	refused(listEntry, *api.Problem)
	close(*importTally) error
}

// newImportReport prints JSON on out, or for people the refused lines on notes
// and the sums on out.
func newImportReport(out, notes io.Writer, name string, asJSON bool) importReport {
	if asJSON {
		return &importJSON{newJSONList(out, "errors")}
	}
	return &importText{out: out, notes: notes, name: name}
}

type importText struct {
	out, notes io.Writer
	name       string
}

func (r *importText) refused(entry listEntry, problem *api.Problem) {
	reason := problem.Detail
	if reason == "" {
		reason = problem.Title
	}
	fmt.Fprintf(r.notes, "%s:%d: %s: %s\n", clean(r.name), entry.line, clean(entry.url), clean(reason))
}

func (r *importText) close(tally *importTally) error {
	_, err := fmt.Fprintf(r.out, "%s: %s\n", clean(r.name), tally)
	return err
}

type importJSON struct{ errors *jsonList }

func (r *importJSON) refused(entry listEntry, problem *api.Problem) {
	r.errors.add(struct {
		Line  int          `json:"line"`
		URL   string       `json:"url"`
		Error *api.Problem `json:"error"`
	}{entry.line, entry.url, problem})
}

func (r *importJSON) close(tally *importTally) error {
	return r.errors.close(struct {
		Subscribed int64 `json:"subscribed"`
		Refused    int64 `json:"refused"`
	}{tally.subscribed.Load(), tally.refused.Load()})
}

// importProgress is a bar on a terminal. Elsewhere it shows nothing.
type importProgress struct {
	w         io.Writer // where notes go: above the bar
	container *mpb.Progress
	bar       *mpb.Bar
}

// newImportProgress shows how much of size bytes is done; 0 is unknown.
func newImportProgress(w io.Writer, name string, size int64, tally *importTally) *importProgress {
	if !isTerminal(w) {
		return &importProgress{w: w}
	}
	container := mpb.New(mpb.WithOutput(w))
	sums := decor.Any(func(decor.Statistics) string { return tally.String() }, decor.WCSyncSpaceR)
	options := []mpb.BarOption{mpb.PrependDecorators(decor.Name(name + " ")), mpb.AppendDecorators(decor.OnComplete(decor.Percentage(), ""), sums)}
	p := &importProgress{w: container, container: container}
	if size > 0 {
		p.bar = container.AddBar(size+1, options...) // the last entry is not yet the end
	} else {
		p.bar = container.AddSpinner(0, options...)
	}
	return p
}

// Write prints a note.
func (p *importProgress) Write(note []byte) (int, error) { return p.w.Write(note) }

// at says how many bytes of the list are done.
func (p *importProgress) at(bytes int64) {
	if p.bar != nil {
		p.bar.SetCurrent(bytes)
	}
}

// close takes the bar away: the sums follow.
func (p *importProgress) close() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}
