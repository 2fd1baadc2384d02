//go:build unix

package cost

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of the process that f takes.
func CPUTime(f func()) time.Duration {
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begun := now()
	f()
	return now() - begun
}
