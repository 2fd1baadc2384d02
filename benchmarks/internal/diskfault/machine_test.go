package diskfault_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault/diskfaulttest"
)

// A process that syncs a file once it is told to, traced from before: the file is
// made after strace was attached.
func TestAttach(t *testing.T) {
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	for name, test := range map[string]struct {
		injection diskfault.Injection
		fails     string
		least     time.Duration
	}{
		"EIO":    {diskfault.FailedSync(1), "Input/output error", 0},
		"ENOSPC": {diskfault.NoSpace(1, 1), "No space left", 0},
		"slow":   {diskfault.SlowSync(300 * time.Millisecond), "", 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			if err := os.WriteFile(filepath.Join(data, "000001.log"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			said, took, trace := syncOnce(t, data, test.injection)
			if !strings.Contains(said, test.fails) || test.fails == "" && strings.Contains(said, "error") {
				t.Errorf("the process said %q, want %q", said, test.fails)
			}
			if took < test.least {
				t.Errorf("took %s, want %s", took, test.least)
			}
			hits := trace.Hits
			if len(hits) == 0 || !strings.HasSuffix(hits[0].Path, "/000002.log") || time.Since(hits[0].At).Abs() > time.Minute {
				t.Errorf("hits = %v", hits)
			}
		})
	}
}

// syncOnce lets a process write and sync 000002.log below the folder.
func syncOnce(t *testing.T, data string, injection diskfault.Injection) (said string, took time.Duration, trace diskfault.Trace) {
	t.Helper()
	var printed strings.Builder
	shell := exec.Command("sh", "-c", "read go; exec dd if=/dev/zero of=000002.log bs=4k count=1 conv=fsync")
	shell.Dir, shell.Env, shell.Stderr = data, append(os.Environ(), "LC_ALL=C"), &printed
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	tracer, err := diskfault.Attach(t.Context(), shell.Process.Pid, data, filepath.Join(t.TempDir(), "strace"), injection)
	if err != nil {
		t.Fatal(errors.Join(err, shell.Process.Kill(), shell.Wait()))
	}
	begun := time.Now()
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		t.Error(err)
	}
	_ = shell.Wait() // what it said tells whether it failed
	took = time.Since(begun)
	if trace, err = tracer.Detach(); err != nil {
		t.Fatal(err)
	}
	return printed.String(), took, trace
}

// A process that was let go of in a delayed call does it at once.
func TestDetachDuringDelay(t *testing.T) {
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	data := t.TempDir()
	shell := exec.Command("sh", "-c", "read go; exec dd if=/dev/zero of=f bs=4k count=1 conv=fsync")
	shell.Dir = data
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(data, "f"), nil, 0o600), shell.Start()); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "strace")
	tracer, err := diskfault.Attach(t.Context(), shell.Process.Pid, data, log, diskfault.SlowSync(time.Hour))
	if err != nil {
		t.Fatal(errors.Join(err, shell.Process.Kill(), shell.Wait()))
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		t.Error(err)
	}
	awaitText(t, log, "sync(")
	if trace, err := tracer.Detach(); err != nil || len(trace.Hits) != 1 {
		t.Errorf("Detach = %v, %v", trace, err)
	}
	if err := shell.Wait(); err != nil {
		t.Errorf("after it was let go: %v", err)
	}
}

// awaitText waits until a file holds a text.
func awaitText(t *testing.T, name, text string) {
	t.Helper()
	for ticker := time.NewTicker(10 * time.Millisecond); ; <-ticker.C {
		read, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(string(read), text) {
			return
		}
	}
}

// A process that was let go of goes on as if nothing had been.
func TestDetach(t *testing.T) {
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	shell := exec.Command("cat")
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	tracer, err := diskfault.Attach(t.Context(), shell.Process.Pid, t.TempDir(), filepath.Join(t.TempDir(), "strace"), diskfault.SlowSync(time.Second))
	if err != nil {
		t.Fatal(errors.Join(err, shell.Process.Kill(), shell.Wait()))
	}
	if trace, err := tracer.Detach(); err != nil || len(trace.Hits) > 0 {
		t.Errorf("Detach = %v, %v", trace, err)
	}
	if err := errors.Join(stdin.Close(), shell.Wait()); err != nil {
		t.Errorf("after it was let go: %v", err)
	}
}

func TestAttachToNoProcess(t *testing.T) {
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	const noProcess = 1 << 22 // above the highest process ID of Linux
	if _, err := diskfault.Attach(t.Context(), noProcess, t.TempDir(), filepath.Join(t.TempDir(), "strace"), diskfault.SlowSync(time.Second)); err == nil {
		t.Error("attached to a process that is not there")
	}
}

func TestFillerOnSmallDisk(t *testing.T) {
	diskfaulttest.Need(t, diskfault.CanMount(t.Context()))
	disk := t.TempDir()
	if err := diskfault.Mount(t.Context(), disk, 1<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := diskfault.Unmount(disk); err != nil {
			t.Error(err)
		}
	})
	filler := diskfault.Filler{Name: filepath.Join(disk, "filler")}
	write := func(bytes int) error {
		name := filepath.Join(disk, "data")
		return errors.Join(os.WriteFile(name, make([]byte, bytes), 0o600), os.Remove(name))
	}
	for _, leave := range []int64{0, 1 << 17, 0} {
		if err := filler.Fill(leave); err != nil {
			t.Fatal(err)
		}
		if err := write(1 << 16); (err == nil) != (leave > 0) {
			t.Errorf("%d bytes left: writing 64 KiB: %v", leave, err)
		}
	}
	for range 2 {
		if err := filler.Free(); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(1 << 19); err != nil {
		t.Errorf("after the space was given back: %v", err)
	}
}

// A call that fails when strace is let go of fails with the error that was asked
// for: ENOSYS would be another fault than the one that was to be made.
func TestDetachBetweenCalls(t *testing.T) {
	if name := os.Getenv("DISKFAULT_WRITES"); name != "" {
		writeOn(name)
	}
	diskfaulttest.Need(t, diskfault.CanTrace(t.Context()))
	data := t.TempDir()
	name := filepath.Join(data, "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	writer := exec.Command(os.Args[0], "-test.run", "^TestDetachBetweenCalls$")
	writer.Env, writer.Stdout = append(os.Environ(), "DISKFAULT_WRITES="+name), &printed
	stdin, err := writer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range 20 {
		log := filepath.Join(t.TempDir(), "strace")
		tracer, err := diskfault.Attach(t.Context(), writer.Process.Pid, data, log, diskfault.NoSpace(1, 1))
		if err != nil {
			t.Fatal(errors.Join(err, writer.Process.Kill(), writer.Wait()))
		}
		awaitText(t, log, "INJECTED")
		trace, err := tracer.Detach()
		if err != nil {
			t.Error(err)
		}
		failed += len(trace.Hits)
	}
	_ = stdin.Close()
	if err := writer.Wait(); err != nil {
		t.Errorf("%v: %s", err, printed.String())
	}
	if failed == 0 {
		t.Error("no call failed at all")
	}
}

// writeOn writes to a file until its input ends, and minds no lack of space.
func writeOn(name string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	for err == nil || errors.Is(err, syscall.ENOSPC) {
		_, err = file.WriteAt([]byte("x"), 0)
	}
	fmt.Println(err)
	os.Exit(1)
}
