package solve

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// solveProgress shows how far a solve is that takes more than a second: as a bar on
// a terminal, elsewhere in a line each second. A file of few rows takes no time, and
// whatever holds it up is not the solve's.
type solveProgress struct {
	w    io.Writer
	name string // of the file
	end  chan struct{}
	over chan struct{} // closed when nothing is shown any more

	container *mpb.Progress // nil: not shown, or no terminal
	bar       *mpb.Bar

	mu    sync.Mutex // guards what follows
	state solveState
}

// solveState is how far a solve is.
type solveState struct {
	phase      string
	read, size int64 // bytes; size 0: not known
	rows       int
}

// fewestShown is the rows of a file that is worth a word.
const fewestShown = 200_000

// newSolveProgress begins to show how far the solve of a file is; close ends it.
func newSolveProgress(w io.Writer, name string) *solveProgress {
	p := &solveProgress{w: w, name: name, end: make(chan struct{}), over: make(chan struct{})}
	go p.run()
	return p
}

// of says how many bytes the file has.
func (p *solveProgress) of(size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.size = size
}

// phase says what begins.
func (p *solveProgress) phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.phase = name
}

// at says how many bytes are read, and rows.
func (p *solveProgress) at(read int64, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.read, p.state.rows = read, rows
}

// close takes the bar away, and waits until nothing is written any more.
func (p *solveProgress) close() {
	close(p.end)
	<-p.over
}

func (p *solveProgress) run() {
	defer close(p.over)
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			p.show()
		case <-p.end:
			p.hide()
			return
		}
		if p.container != nil {
			ticks.Reset(barEvery)
		}
	}
}

// barEvery is how often a bar moves.
const barEvery = 100 * time.Millisecond

// show says how far the solve is.
func (p *solveProgress) show() {
	state := p.now()
	switch {
	case state.rows < fewestShown:
	case !cli.IsTerminal(p.w):
		fmt.Fprintf(p.w, "%s: %s\n", cli.Clean(p.name), state)
	default:
		if p.bar == nil {
			p.raise(state)
		}
		p.bar.SetCurrent(min(state.read, state.size))
	}
}

// raise puts the bar on the terminal.
func (p *solveProgress) raise(state solveState) {
	p.container = mpb.New(mpb.WithOutput(p.w))
	options := []mpb.BarOption{
		mpb.PrependDecorators(decor.Name(cli.Clean(p.name) + " ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + p.now().String() })),
	}
	if state.size > 0 {
		p.bar = p.container.AddBar(state.size+1, options...) // what is read is not yet solved
		return
	}
	p.bar = p.container.AddSpinner(0, options...)
}

func (p *solveProgress) hide() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}

func (p *solveProgress) now() solveState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// String is what a line says.
func (s solveState) String() string {
	switch {
	case s.phase != "read":
		return fmt.Sprintf("%s %s", s.phase, cli.Count(s.rows, "channel"))
	case s.size > 0:
		return fmt.Sprintf("read %s, %d %%", cli.Count(s.rows, "channel"), 100*s.read/s.size)
	}
	return "read " + cli.Count(s.rows, "channel")
}
