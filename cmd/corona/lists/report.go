package lists

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// importTally counts what became of the entries of a list. The progress bar
// reads it while it grows.
type importTally struct {
	subscribed atomic.Int64
	existing   atomic.Int64 // of the subscribed: there before
	refused    atomic.Int64
	retryable  atomic.Int64 // of the refused
}

func (t *importTally) add(existing bool, problem *api.Problem) {
	if problem == nil {
		t.subscribed.Add(1)
		if existing {
			t.existing.Add(1)
		}
		return
	}
	t.refused.Add(1)
	if problem.Retryable {
		t.retryable.Add(1)
	}
}

// total returns how many entries are settled.
func (t *importTally) total() int64 { return t.subscribed.Load() + t.refused.Load() }

func (t *importTally) String() string {
	text := fmt.Sprintf("%d subscribed", t.subscribed.Load())
	if n := t.existing.Load(); n > 0 {
		text += fmt.Sprintf(" (%d of them before)", n)
	}
	text += fmt.Sprintf(", %d refused", t.refused.Load())
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
		return &importJSON{cli.NewJSONList(out, "errors")}
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
	fmt.Fprintf(r.notes, "%s:%d: %s: %s\n", cli.Clean(r.name), entry.line, cli.Clean(entry.url), cli.Clean(reason))
}

func (r *importText) close(tally *importTally) error {
	_, err := fmt.Fprintf(r.out, "%s: %s\n", cli.Clean(r.name), tally)
	return err
}

type importJSON struct{ errors *cli.JSONList }

func (r *importJSON) refused(entry listEntry, problem *api.Problem) {
	r.errors.Add(struct {
		Line  int          `json:"line"`
		URL   string       `json:"url"`
		Error *api.Problem `json:"error"`
	}{entry.line, entry.url, problem})
}

func (r *importJSON) close(tally *importTally) error {
	return r.errors.Close(struct {
		Subscribed int64 `json:"subscribed"`
		Existing   int64 `json:"existing"` // of the subscribed
		Refused    int64 `json:"refused"`
	}{tally.subscribed.Load(), tally.existing.Load(), tally.refused.Load()})
}

// How often an import says how far it is where there is no bar, and after how
// long it begins to.
const (
	progressEvery = time.Second
	progressAfter = 5 * time.Second
)

// importProgress is a bar on a terminal, elsewhere a line now and then.
type importProgress struct {
	w     io.Writer // where notes go: above the bar
	name  string
	tally *importTally
	begun time.Time

	container *mpb.Progress // nil: no terminal
	bar       *mpb.Bar

	told  time.Time // when the last line was
	count int64     // of entries, then
}

// newImportProgress shows how much of size bytes is done; 0 is unknown.
func newImportProgress(w io.Writer, name string, size int64, tally *importTally) *importProgress {
	now := time.Now()
	p := &importProgress{w: w, name: name, tally: tally, begun: now, told: now.Add(progressAfter - progressEvery)}
	if !cli.IsTerminal(w) {
		return p
	}
	p.container = mpb.New(mpb.WithOutput(w))
	p.w = p.container
	p.bar = newImportBar(p.container, name, size, func(decor.Statistics) string {
		return fmt.Sprintf("%s, %.0f/s", tally, float64(tally.total())/time.Since(p.begun).Seconds())
	})
	return p
}

// newImportBar adds a bar, which has a space on both of its own sides; 0 bytes are an
// unknown size, of which there is no share.
func newImportBar(container *mpb.Progress, name string, size int64, sums decor.DecorFunc) *mpb.Bar {
	before, after := mpb.PrependDecorators(decor.Name(cli.Clean(name))), decor.Any(sums, decor.WCSyncSpace)
	if size == 0 {
		return container.AddSpinner(0, before, mpb.AppendDecorators(after))
	}
	share := decor.OnComplete(decor.Percentage(), "")
	return container.AddBar(size+1, before, mpb.AppendDecorators(share, after)) // the last entry is not yet the end
}

// Write prints a note.
func (p *importProgress) Write(note []byte) (int, error) { return p.w.Write(note) }

// at says how many bytes of the list are done.
func (p *importProgress) at(bytes int64) {
	if p.bar != nil {
		p.bar.SetCurrent(bytes)
		return
	}
	now := time.Now()
	took := now.Sub(p.told)
	if took < progressEvery {
		return
	}
	count := p.tally.total()
	if p.count == 0 { // the first line: since the beginning
		took = now.Sub(p.begun)
	}
	fmt.Fprintf(p.w, "%s: %s, %.0f/s\n", cli.Clean(p.name), p.tally, float64(count-p.count)/took.Seconds())
	p.told, p.count = now, count
}

// close takes the bar away: the sums follow.
func (p *importProgress) close() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}
