//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// life is a recorded history and what became of each capture.
type life struct {
	name    string
	steps   []step
	at      []time.Time // of the captures
	updates []time.Time
	changes []time.Time // of the captures that differ from the one before, http and https being the same
}

// step is a capture as engine and judge took it.
type step struct {
	deltas.Step
	body    []byte
	base    int          // capture that the current content came from; -1: none
	current *deltas.Core // the current content
}

func readLife(file string) (*life, error) {
	trace, err := loadgen.ReadTraceFile(file)
	if err != nil {
		return nil, err
	}
	l := &life{name: filepath.Base(filepath.Dir(file))}
	var replay deltas.Replay
	base, current, last := -1, (*deltas.Core)(nil), ""
	for n, capture := range trace.Captures {
		now := trace.First.Add(capture.At)
		s := step{body: capture.Body, base: base, current: current}
		s.Step = replay.Capture(deltas.Document{Body: capture.Body}, now)
		if s.Verdict == deltas.VerdictPublish || s.Verdict == deltas.VerdictRebase {
			base, current = n, s.Core
		}
		if s.Update != nil {
			l.updates = append(l.updates, now)
		}
		is := strings.ReplaceAll(string(capture.Body), "https://", "http://")
		if n > 0 && is != last {
			l.changes = append(l.changes, now)
		}
		last = is
		l.steps, l.at = append(l.steps, s), append(l.at, now)
	}
	return l, nil
}
