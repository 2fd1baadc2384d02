package main

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// newTestRun is a run whose node is a shell script.
func newTestRun(t *testing.T, script string) *run {
	t.Helper()
	folder := t.TempDir()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := witness.NewRecorder()
	o, err := witness.NewOrigin(listener, r, 1, 0, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	process, err := child.Begin(filepath.Join(folder, "node.log"), "/bin/sh", "-c", script, folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	})
	return &run{
		random: rand.New(rand.NewPCG(1, 0)), recorder: r, origin: o,
		client: witness.NewClient(r, "http://127.0.0.1:1"), // where nothing listens
		node:   &node{Process: process, folder: folder, data: folder},
	}
}

const cannotGoOn = `echo 'level=ERROR msg="cannot go on" error="disk failed"'; `

// newFault is a fault that is over.
func newFault(r *run, kind string) *witness.Fault {
	fault := &witness.Fault{Kind: kind}
	r.fault(fault)
	fault.To = r.recorder.Now()
	return fault
}

// What a fault set off may end a process after the disk is well again, and before
// the test looks or kills.
func TestAfterFaultEnds(t *testing.T) {
	r := newTestRun(t, cannotGoOn+"exit 3")
	fault := newFault(r, witness.KindENOSPC)
	r.node.AwaitEnd(t.Context(), time.Minute)
	if err := r.afterFault(t.Context(), fault); err != nil {
		t.Fatal(err)
	}
	if fault.Ended == 0 || fault.Code != witness.FailedCode || !strings.Contains(fault.Said, witness.FailedMessage) || fault.To > fault.Ended {
		t.Errorf("%+v", fault)
	}
	r.recorder.With(func(h *witness.History) {
		if len(h.Ends) != 1 {
			t.Errorf("ends = %v", h.Ends)
		}
	})
}

// Long after the fault it is another matter that ended the process.
func TestAfterFaultEndsLate(t *testing.T) {
	r := newTestRun(t, cannotGoOn+"exit 3")
	fault := newFault(r, witness.KindENOSPC)
	fault.From, fault.To = -2*witness.StopWithin, -witness.StopWithin-time.Second
	r.node.AwaitEnd(t.Context(), time.Minute)
	if err := r.afterFault(t.Context(), fault); !errors.Is(err, child.ErrEnded) || fault.Ended != 0 {
		t.Errorf("afterFault = %v, %+v", err, fault)
	}
}

func TestAfterFaultKills(t *testing.T) {
	r := newTestRun(t, "exec sleep 600")
	seedThatKillsAtOnce(r)
	fault := newFault(r, witness.KindENOSPC)
	if err := r.afterFault(t.Context(), fault); err != nil || fault.Ended != 0 {
		t.Errorf("afterFault = %v, %+v", err, fault)
	}
	if code, ended := r.node.Ended(); !ended || code != -1 {
		t.Errorf("ended %t with %d, want a kill", ended, code)
	}
}

// seedThatKillsAtOnce makes watch leave the process alone for no time.
func seedThatKillsAtOnce(r *run) {
	for seed := uint64(0); ; seed++ {
		if rand.New(rand.NewPCG(seed, 0)).IntN(4) == 0 {
			r.random = rand.New(rand.NewPCG(seed, 0))
			return
		}
	}
}

// strace puts a shell script in strace's place, which attaches to the node.
func strace(t *testing.T, script string) {
	t.Helper()
	const args = `while [ $# -gt 0 ]; do case $1 in -o) log=$2;; -p) pid=$2;; esac; shift; done` + "\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "strace"), []byte("#!/bin/sh\n"+args+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A fault that hits at once is a hit: the process ends while strace attaches, or
// before strace has written the end down, or strace never gets to.
func TestTracedAtOnce(t *testing.T) {
	const (
		hit  = `echo "$pid $(date +%s.0) fsync(7</d/f>) = -1 EIO (Input/output error) (INJECTED)" >>"$log"` + "\n"
		exit = `echo "$pid $(date +%s.0) +++ exited with 3 +++" >>"$log"` + "\n"
		said = `echo "strace: Process $pid attached" >&2; touch "${log%/*}/go"` + "\n"
		gone = "while kill -0 $pid 2>/dev/null; do sleep 0.01; done\n"
	)
	for name, script := range map[string]string{
		"written before it is attached": hit + exit + said + gone,
		"written late":                  hit + said + gone + "sleep 0.2\n" + exit,
		"never written":                 hit + said + gone,
	} {
		t.Run(name, func(t *testing.T) {
			strace(t, script)
			r := newTestRun(t, `cd "$0"; `+cannotGoOn+`while ! [ -e go ]; do sleep 0.01; done; exit 3`)
			fault := &witness.Fault{Kind: witness.KindEIO}
			if err := r.traced(t.Context(), fault); err != nil {
				t.Fatal(err)
			}
			if len(fault.Hits) != 1 || fault.Ended == 0 || fault.Code != witness.FailedCode {
				t.Errorf("%+v", fault)
			}
		})
	}
}
