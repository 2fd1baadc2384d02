//go:build unix

package process

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Timed runs a function, and returns how much processor time it took, by itself and not
// by goroutines that it started; where the kernel does not say, how long it took.
func Timed(run func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), threadTime()
	run()
	took := time.Since(began)
	if now := threadTime(); now > used {
		return min(now-used, took)
	}
	return took
}

// threadTime returns the processor time of the calling thread, 0 if it is not known.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
