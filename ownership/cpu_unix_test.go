//go:build unix

package ownership

import (
	"syscall"
	"testing"
	"time"
)

// cpuSeconds is what the process has used: on a busy machine it says more than
// the clock.
func cpuSeconds(tb testing.TB) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
