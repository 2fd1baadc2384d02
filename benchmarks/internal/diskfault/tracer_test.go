package diskfault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fakeStrace puts a shell script in strace's place; $log is its log and $pid its
// process.
func fakeStrace(t *testing.T, script string) {
	t.Helper()
	const args = `while [ $# -gt 0 ]; do case $1 in -o) log=$2;; -p) pid=$2;; esac; shift; done` + "\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "strace"), []byte("#!/bin/sh\n"+args+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const (
	saysAttached = `echo "strace: Process $pid attached" >&2` + "\n"
	logsHit      = `echo "$pid 1795189314.25 fsync(7</d/f>) = -1 EIO (Input/output error) (INJECTED)" >>"$log"` + "\n"
	logsExit     = `echo "$pid 1795189315.25 +++ exited with 3 +++" >>"$log"` + "\n"
)

// A process whose fault ended it while strace attached was hit, and strace is gone
// too when Attach looks.
func TestAwaitAfterTheEnd(t *testing.T) {
	attached, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	tracer := &Tracer{ended: ended}
	if err := tracer.await(t.Context(), attached); err == nil {
		t.Error("attached, though strace never said so")
	}
	close(attached)
	for range 100 { // both channels are ready: either may be taken
		if err := tracer.await(t.Context(), attached); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAttachToWhatAFaultEnds(t *testing.T) {
	fakeStrace(t, saysAttached+logsHit+logsExit)
	process := exec.Command("cat") // waits for its input
	if _, err := process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	tracer, err := attach(t.Context(), process.Process.Pid, nil, filepath.Join(t.TempDir(), "log"), FailedSync(1))
	if err != nil {
		t.Fatal(err)
	}
	<-tracer.ended
	_ = process.Process.Kill() // it does nothing else until then
	_ = process.Wait()         // "killed"
	if trace, err := tracer.Detach(); err != nil || len(trace.Hits) != 1 || trace.Exited.IsZero() {
		t.Errorf("Detach = %+v, %v", trace, err)
	}
}

// The end of a process is known to others before strace has written it down.
func TestDetachWaitsForTheEndToBeWritten(t *testing.T) {
	fakeStrace(t, saysAttached+logsHit+"while kill -0 $pid 2>/dev/null; do sleep 0.01; done; sleep 0.2\n"+logsExit)
	process := exec.Command("sh", "-c", "read go; exit 3")
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	tracer, err := attach(t.Context(), process.Process.Pid, nil, filepath.Join(t.TempDir(), "log"), FailedSync(1))
	if err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()  // "go"
	_ = process.Wait() // "exit status 3"
	if trace, err := tracer.Detach(); err != nil || len(trace.Hits) != 1 || trace.Exited.IsZero() {
		t.Errorf("Detach = %+v, %v; want a hit and an exit", trace, err)
	}
}

func TestAttachSaysWhyNot(t *testing.T) {
	fakeStrace(t, "echo 'strace: attach: ptrace: Operation not permitted' >&2; exit 1\n")
	_, err := attach(context.Background(), os.Getpid(), nil, filepath.Join(t.TempDir(), "log"), FailedSync(1))
	if err == nil || !strings.Contains(fmt.Sprint(err), "not permitted") {
		t.Errorf("attach to %s: %v", strconv.Itoa(os.Getpid()), err)
	}
}
