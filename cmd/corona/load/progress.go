package load

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/run"
)

// progress says how far a run is: a line that is rewritten on a terminal, elsewhere a
// line now and then.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
	told     time.Time
	phase    string
}

func newProgress(w io.Writer, name string) *progress {
	return &progress{w: w, name: name, terminal: cli.IsTerminal(w)}
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = 10 * time.Second

func (p *progress) show(now run.Progress) {
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(now))
		return
	}
	if now.Phase == p.phase && time.Since(p.told) < lineEvery {
		return
	}
	p.phase, p.told = now.Phase, time.Now()
	fmt.Fprintln(p.w, p.line(now))
}

const barWidth = 12

func (p *progress) line(now run.Progress) string {
	elapsed := time.Since(now.Begun)
	text := fmt.Sprintf("%s %-7s", p.name, now.Phase)
	if now.Planned > 0 {
		done := min(int(barWidth*elapsed/now.Planned), barWidth)
		text += fmt.Sprintf(" [%s%s] %.0f/%.0f s", strings.Repeat("#", done), strings.Repeat(".", barWidth-done), elapsed.Seconds(), now.Planned.Seconds())
	} else {
		text += fmt.Sprintf(" %.0f s", elapsed.Seconds())
	}
	text += fmt.Sprintf("  %d subscriptions  %.0f polls/s", now.Subscriptions, now.PollsPerS)
	if now.PlannedPerS > 0 {
		text += fmt.Sprintf(" of %.0f", now.PlannedPerS)
	}
	if now.Updates > 0 {
		text += fmt.Sprintf("  %d updates", now.Updates)
	}
	if now.WorstLateMs > 0 {
		text += fmt.Sprintf("  worst %.0f ms late", now.WorstLateMs)
	}
	if len(now.Broken) > 0 {
		text += "  BROKEN " + strings.Join(now.Broken, ", ")
	}
	return text
}

func (p *progress) close() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
