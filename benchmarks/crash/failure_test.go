package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
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

const logFile = "/data/ranges/log/1.log"

// A log of CI is all that there is of a failed run.
func TestExplain(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{nodeLog: "level=INFO msg=ready\n", straceLog: "7 1.5 fsync(3</d/f>) = -1 EIO\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := &run{options: options{kills: 20, seed: 7, kinds: []string{witness.KindKill, witness.KindEIO}}, out: &out, recorder: witness.NewRecorder()}
	r.recorder.With(func(h *witness.History) {
		h.Ends = []witness.Instant{41 * time.Second}
		h.Faults = []*witness.Fault{
			{Kind: witness.KindENOSPC, From: 10 * time.Second, To: 12 * time.Second},
			{Kind: witness.KindEIO, From: 40 * time.Second, To: 41 * time.Second, Ended: 41 * time.Second, Code: 3, Said: `level=ERROR msg="cannot go on" error="disk failed"`,
				Hits: []witness.Hit{{At: 40500 * time.Millisecond, Call: "fdatasync", Path: logFile}, {At: 40600 * time.Millisecond, Call: "fsync", Path: logFile}}},
		}
	})
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
	r.kinds = []string{witness.KindKill}
	r.explain(fmt.Errorf("%w: exit status 2; the end of its log: …", child.ErrEnded), folder)
	if said := out.String(); strings.Contains(said, "msg=ready") || strings.Contains(said, "EIO") {
		t.Errorf("a log that the error shows, or one of a strace that was not used:\n%s", said)
	}
}
