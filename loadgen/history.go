package loadgen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// history is when recorded documents changed, as a schedule for synthetic channels: each
// repeats one of the documents' histories for ever, and begins at a place in it of its own.
type history []past

// past is the history of one document.
type past struct {
	changes []time.Duration // within the period, in order, at least one
	period  time.Duration
}

const mostTraces = 1000 // files of a history

// TraceFiles returns the files of recorded histories that a name stands for, sorted: those of a
// folder and of the folders in it, or the file itself.
func TraceFiles(name string) (files []string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	for _, pattern := range []string{"*.jsonl.zst", "*/*.jsonl.zst"} {
		found, err := filepath.Glob(filepath.Join(name, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 || len(files) > mostTraces {
		return nil, fmt.Errorf("%s: %d files *.jsonl.zst, want 1 to %d", name, len(files), mostTraces)
	}
	return files, nil
}

// readHistory reads the files that a name stands for.
func readHistory(name string) (h history, err error) {
	files, err := TraceFiles(name)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		trace, err := ReadTraceFile(file)
		if err != nil {
			return nil, err
		}
		p, err := pastOf(trace)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		h = append(h, p)
	}
	return h, nil
}

var errStill = errors.New("no document that changes")

// pastOf reads when a trace's document changed. After the last change as much time passes as
// between two of them on average.
func pastOf(t *Trace) (p past, err error) {
	for i := 1; i < len(t.Captures); i++ {
		if at := t.Captures[i].At; !bytes.Equal(t.Captures[i].Body, t.Captures[i-1].Body) && (len(p.changes) == 0 || at > p.changes[len(p.changes)-1]) {
			p.changes = append(p.changes, at)
		}
	}
	if len(p.changes) == 0 || p.changes[len(p.changes)-1] == 0 {
		return p, errStill
	}
	last := p.changes[len(p.changes)-1]
	p.period = last + max(last/time.Duration(len(p.changes)), 1)
	return p, nil
}

// of returns a channel's history and where in it the channel begins.
func (h history) of(s Schedule, channel int) (p *past, phase time.Duration) {
	p = &h[channel%len(h)]
	return p, time.Duration(scale(s.hash(channel, saltPhase, 0), int64(p.period)))
}

// count returns the number of changes at or before t, less those before 0.
func (p *past) count(t time.Duration) int64 {
	turns := floorDiv(int64(t), int64(p.period))
	within := t - time.Duration(turns)*p.period
	n, _ := slices.BinarySearch(p.changes, within+1)
	return turns*int64(len(p.changes)) + int64(n)
}

// at returns when the n-th change, counted as count does, happens.
func (p *past) at(n int64) time.Duration {
	all := int64(len(p.changes))
	turns := floorDiv(n-1, all)
	return time.Duration(turns)*p.period + p.changes[n-1-turns*all]
}

// revision is [Schedule.Revision] by a history.
func (h history) revision(s Schedule, channel int, at time.Duration) int64 {
	p, phase := h.of(s, channel)
	return 1 + p.count(phase+at) - p.count(phase)
}

// changedAt is [Schedule.ChangedAt] by a history.
func (h history) changedAt(s Schedule, channel int, revision int64) time.Duration {
	p, phase := h.of(s, channel)
	return p.at(p.count(phase)+revision-1) - phase
}

// interval is [Schedule.Interval] by a history.
func (h history) interval(channel int) time.Duration {
	p := &h[channel%len(h)]
	return p.period / time.Duration(len(p.changes))
}
