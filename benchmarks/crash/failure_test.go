package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/child"
)

// wantLines holds that each text is there, in this order.
func wantLines(t *testing.T, said string, texts ...string) {
	t.Helper()
	rest := said
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("no %q, or not in its place, in\n%s", text, said)
			return
		}
		rest = after
	}
}

// A log of CI is all that there is of a failed run.
func TestExplain(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{nodeLog: "level=INFO msg=ready\n", straceLog: "7 1.5 fsync(3</d/f>) = -1 EIO\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := &run{options: options{kills: 20, seed: 7, kinds: []string{KindKill, KindEIO}}, out: &out, recorder: newRecorder()}
	r.recorder.mu.history = *newFaults().History
	r.explain(context.Canceled, folder)
	if out.Len() > 0 {
		t.Errorf("a run that was told to end says %q", out.String())
	}
	r.explain(errViolated, folder)
	wantLines(t, out.String(),
		"to repeat: go run ./benchmarks/crash -kills 20 -seed 7 -faults kill,eio",
		"10s enospc until 12s",
		`40s eio until 41s, 2 calls hit from 40.5s on: fdatasync of `+logFile+`; ended the process at 41s with code 3: level=ERROR msg="cannot go on" error="disk failed"`,
		"41s a process has ended",
		nodeLog, "msg=ready", straceLog, "= -1 EIO")
	out.Reset()
	r.kinds = []string{KindKill}
	r.explain(fmt.Errorf("%w: exit status 2; the end of its log: …", child.ErrEnded), folder)
	if said := out.String(); strings.Contains(said, "msg=ready") || strings.Contains(said, "EIO") {
		t.Errorf("a log that the error shows, or one of a strace that was not used:\n%s", said)
	}
}

func TestTellShowsEvents(t *testing.T) {
	s := newStory()
	s.Listing = s.Listing[1:] // the anchor is lost
	var out strings.Builder
	r := &run{out: &out, recorder: newRecorder(), killed: 3, options: options{seed: 7}}
	r.recorder.mu.history = *s.History
	if err := r.tell(Check(s.History, s.Snapshot)); !errors.Is(err, errViolated) || !strings.Contains(err.Error(), "seed 7") {
		t.Errorf("tell = %v", err)
	}
	wantLines(t, out.String(), "violated: "+string(RuleLost), "subscription A ",
		"1s key-a: subscribe, answered 201 at 1.1s",
		"3.3s key-a: webhook a2 of A, version 2, answered 500",
		"4.2s key-a: subscribe to another channel, answered 409 at 4.3s",
		urlKept+": ")
	if strings.Contains(out.String(), "key-b") {
		t.Errorf("what was seen of another subscription:\n%s", out.String())
	}
}
