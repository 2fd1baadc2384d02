// Package diskfault makes the disk under a running process fail: system calls on
// its data files end in an error or take long, by strace; and a disk of its own,
// a small tmpfs, is filled up. Both need Linux; what a machine lacks is an
// [ErrUnavailable] that says why.
package diskfault

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// ErrUnavailable says that this machine cannot make disks fail in a way: a program
// is missing, or it is not permitted.
var ErrUnavailable = errors.New("not possible here")

// Injection is what happens to system calls on data files.
type Injection struct {
	Calls []string      // their names; some do not exist for files and are harmless
	Error string        // they return it, such as "ENOSPC"; empty: they do not fail
	Delay time.Duration // before each
	// First and Step say which calls of a thread are concerned: the First, from 1
	// on, and every Step-th behind it; with a Step of 0 the First alone.
	First, Step int
}

// Writing calls put bytes on the disk, syncing ones say that they are there.
var (
	writing = []string{"write", "pwrite64", "writev", "pwritev", "fallocate", "ftruncate"}
	syncing = []string{"fsync", "fdatasync", "sync_file_range"}
)

// NoSpace fails writes as a full disk does.
func NoSpace(first, step int) Injection {
	return Injection{Calls: writing, Error: "ENOSPC", First: first, Step: step}
}

// FailedSync fails one sync of each thread as a dying disk does. The next one
// would succeed, which is what Linux does after it has dropped what it could not
// write.
func FailedSync(first int) Injection {
	return Injection{Calls: syncing, Error: "EIO", First: first}
}

// SlowSync delays each sync.
func SlowSync(delay time.Duration) Injection {
	return Injection{Calls: syncing, Delay: delay, First: 1, Step: 1}
}

// option is the injection as strace's -e wants it.
func (i Injection) option() string {
	var b strings.Builder
	fmt.Fprintf(&b, "inject=%s", strings.Join(i.Calls, ","))
	if i.Error != "" {
		fmt.Fprintf(&b, ":error=%s", i.Error)
	}
	if i.Delay > 0 {
		fmt.Fprintf(&b, ":delay_enter=%d", i.Delay.Microseconds())
	}
	fmt.Fprintf(&b, ":when=%d", i.First)
	if i.Step > 0 {
		fmt.Fprintf(&b, "+%d", i.Step)
	}
	return b.String()
}

// probeWithin bounds what takes milliseconds on a quiet machine.
const probeWithin = time.Minute

// CanTrace returns nil if strace is there and may attach to a process. Its error
// wraps exec.ErrNotFound when strace is missing.
func CanTrace(ctx context.Context) error {
	if _, err := exec.LookPath("strace"); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	process := exec.CommandContext(ctx, "sleep", "60")
	if err := process.Start(); err != nil {
		return err
	}
	tracer, err := attach(ctx, process.Process.Pid, []string{"/"}, "/dev/null", SlowSync(time.Microsecond))
	if err == nil {
		tracer.end()
	}
	_ = process.Process.Kill() // it does nothing else until then
	_ = process.Wait()         // "killed"
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
