package backups

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
)

// How often progress is told, and after how long where that is no terminal.
const (
	tellEvery = time.Second
	tellAfter = 5 * time.Second
)

// progress tells how far the reading or sending of a backup is.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
	begun    time.Time
	told     time.Time
	line     bool // one stands on the terminal
}

func newProgress(w io.Writer, name string) *progress {
	now := time.Now()
	p := &progress{w: w, name: name, terminal: cli.IsTerminal(w), begun: now, told: now}
	if !p.terminal {
		p.told = now.Add(tellAfter - tellEvery)
	}
	return p
}

func (p *progress) tell(at backup.Progress) {
	now := time.Now()
	if now.Sub(p.told) < tellEvery {
		return
	}
	p.told = now
	text := fmt.Sprintf("%s: %d of %d ranges, %s, %d channels, %d subscriptions, %.0f records/s", cli.Clean(p.name), at.Ranges, at.Of,
		megabytes(at.FileBytes), at.Channels, at.Subscriptions, float64(at.Records)/now.Sub(p.begun).Seconds())
	if p.terminal {
		p.line = true
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.w, text)
}

// close takes the line off a terminal.
func (p *progress) close() {
	if p.line {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// upload is a backup on its way to a node: what was taken of the file stands for how much
// of its records.
type upload struct {
	from     io.Reader
	of, sent int64
	summary  backup.Summary
	progress *progress
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	u.sent += int64(n)
	share := float64(u.sent) / float64(max(u.of, 1))
	part := func(n uint64) uint64 { return uint64(share * float64(n)) }
	u.progress.tell(backup.Progress{
		Ranges: int(share * float64(u.summary.Ranges)), Of: u.summary.Ranges, FileBytes: u.sent,
		Counts: backup.Counts{Records: part(u.summary.Records), Channels: part(u.summary.Channels), Subscriptions: part(u.summary.Subscriptions)},
	})
	return n, err
}

// interruptible is a reader that ends with a context.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.from.Read(p)
}
