package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// What a failed run shows, at most.
const (
	timelineMost = 12       // ends of processes and faults
	eventsMost   = 12       // of one subscription or channel
	nodeLogMost  = 16 << 10 // bytes
	straceMost   = 8 << 10  // bytes
)

// explain prints what is needed to understand why a run failed: how to repeat it,
// what the processes went through last, and the ends of the node's and strace's
// logs. What a rule's violation is about, tell has printed.
func (r *run) explain(err error, folder string) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintln(r.out, "to repeat:", r.command())
	var lines []string
	r.recorder.With(func(h *witness.History) { lines = witness.Timeline(h) })
	witness.PrintLines(r.out, "the last ends and faults of processes", lines)
	if !errors.Is(err, child.ErrEnded) { // which shows the log
		witness.PrintTail(r.out, filepath.Join(folder, nodeLog), nodeLogMost)
	}
	if len(r.kinds) > 1 || !slices.Contains(r.kinds, witness.KindKill) {
		witness.PrintTail(r.out, filepath.Join(folder, straceLog), straceMost)
	}
}

// command is the command line of the run.
func (o *options) command() string {
	return fmt.Sprintf("go run ./benchmarks/crash -kills %d -seed %d -faults %s", o.kills, o.seed, strings.Join(o.kinds, ","))
}
