package child

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/need"
)

// begin starts a shell script, which the test's end kills.
func begin(t *testing.T, script string) *Process {
	t.Helper()
	process, err := Begin(filepath.Join(t.TempDir(), "log"), "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	})
	return process
}

func TestEndByItself(t *testing.T) {
	process := begin(t, "echo cannot go on; exit 3")
	if code, ended := process.AwaitEnd(t.Context(), time.Minute); code != 3 || !ended {
		t.Errorf("AwaitEnd = %d, %t", code, ended)
	}
	// However short the time is that AwaitEnd may take.
	for range 100 {
		if code, ended := process.AwaitEnd(t.Context(), 0); code != 3 || !ended {
			t.Fatalf("AwaitEnd of what has ended = %d, %t", code, ended)
		}
	}
	for name, err := range map[string]error{"Alive": process.Alive(), "Kill": process.Kill(), "Stop": process.Stop()} {
		if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "cannot go on") {
			t.Errorf("%s = %v", name, err)
		}
	}
}

func TestKill(t *testing.T) {
	process := begin(t, "exec sleep 600")
	if _, ended := process.AwaitEnd(t.Context(), 0); ended {
		t.Error("ended by itself")
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, ended := process.Ended(); code != -1 || !ended {
		t.Errorf("Ended = %d, %t", code, ended)
	}
	if err := process.Start(); err != nil || process.Alive() != nil {
		t.Errorf("started again: %v, %v", err, process.Alive())
	}
}

// A process runs the command that it was given last from its next start on.
func TestCommand(t *testing.T) {
	process := begin(t, "exit 3")
	process.AwaitEnd(t.Context(), time.Minute)
	process.Command("/bin/sh", "-c", "exit 4")
	if code, _ := process.Ended(); code != 3 {
		t.Errorf("the one before ended with %d", code)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	if code, ended := process.AwaitEnd(t.Context(), time.Minute); code != 4 || !ended {
		t.Errorf("AwaitEnd = %d, %t, want 4", code, ended)
	}
}

func TestStop(t *testing.T) {
	for code := range 2 {
		process := begin(t, fmt.Sprintf("trap 'exit %d' TERM; echo ready; while :; do sleep 0.01; done", code))
		err := Await(t.Context(), "the trap", time.Minute, func() (bool, error) { return strings.Contains(process.LogTail(), "\nready"), nil }, process)
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Stop(); (err == nil) != (code == 0) || errors.Is(err, ErrEnded) {
			t.Errorf("Stop of what exits with %d: %v", code, err)
		}
	}
}

func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte("first\nsecond\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{100: "first\nsecond\nlast\n", 14: "second\nlast\n", 7: "last\n", 0: ""} {
		if got, err := Tail(name, most); got != want || err != nil {
			t.Errorf("%d bytes: %q, %v; want %q", most, got, err, want)
		}
	}
}

// A process that does not serve in time shows what it printed last.
func TestAwaitShowsTheLog(t *testing.T) {
	process := begin(t, "echo replaying; exec sleep 600")
	asked := false
	err := Await(t.Context(), "a start", time.Minute, func() (bool, error) {
		asked = true
		return strings.Contains(process.LogTail(), "\nreplaying"), nil
	}, process)
	if err != nil || !asked {
		t.Fatal(err)
	}
	err = Await(t.Context(), "never", time.Nanosecond, func() (bool, error) { return false, nil }, process)
	if err == nil || !strings.Contains(err.Error(), "replaying") || !strings.Contains(err.Error(), "never") {
		t.Errorf("Await = %v", err)
	}
}

func TestAwaitURL(t *testing.T) {
	ready := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		ready = true
	}))
	defer server.Close()
	if err := AwaitURL(t.Context(), server.URL, begin(t, "exec sleep 600")); err != nil {
		t.Error(err)
	}
	gone := begin(t, "exit 3")
	gone.AwaitEnd(t.Context(), time.Minute)
	server.Close()
	if err := AwaitURL(t.Context(), server.URL, gone); !errors.Is(err, ErrEnded) {
		t.Errorf("AwaitURL of what has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AwaitURL(ctx, server.URL, begin(t, "exec sleep 600")); !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitURL when it is told to end: %v", err)
	}
}

// What goes out to 127.0.0.0/8 comes from 127.0.0.1, whose ports it takes.
func TestOwnAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Missing(t, "only Linux has the whole of 127.0.0.0/8")
	}
	address, err := OwnAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if host := netip.MustParseAddrPort(address).Addr(); !host.IsLoopback() || host == netip.MustParseAddr("127.0.0.1") {
		t.Errorf("address %s", address)
	}
}

func TestPause(t *testing.T) {
	if runtime.GOOS == "windows" {
		need.Missing(t, "Windows suspends no process")
	}
	process := begin(t, "echo ready; while :; do echo tick; sleep 0.01; done")
	grown := func() bool {
		before := len(process.LogTail())
		time.Sleep(100 * time.Millisecond)
		return len(process.LogTail()) > before
	}
	if err := process.Pause(); err != nil || grown() {
		t.Errorf("after Pause (%v) the process goes on", err)
	}
	if err := process.Resume(); err != nil || !grown() {
		t.Errorf("after Resume (%v) the process does not go on", err)
	}
}

// TestBound: a bound process is started, ends and is killed as others are.
func TestBound(t *testing.T) {
	for _, test := range []struct {
		binary  string
		started bool
	}{{"/bin/sleep", true}, {"/bin/no-such-program", false}} {
		process, err := New(filepath.Join(t.TempDir(), "log"), test.binary, "600")
		if err != nil {
			t.Fatal(err)
		}
		process.Bound = true
		if err := process.Start(); (err == nil) != test.started {
			t.Fatalf("%s: %v", test.binary, err)
		}
		if !test.started {
			continue
		}
		if err := errors.Join(process.Alive(), process.Kill(), process.Close()); err != nil {
			t.Error(err)
		}
	}
}
