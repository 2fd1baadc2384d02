//go:build unix

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the processor time of the process so far.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
