// Package cost measures what a test's function takes, for tests of bounded work.
package cost

import (
	"runtime"
	"testing"
	"time"
)

// Of returns the processor time that f takes and the bytes that it allocates,
// garbage included.
func Of(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := CPUTime(f)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// CheckBounds fails the test if f takes longer, or more memory, than reading a
// document of a sane size may. The race detector, and a machine with other work, may
// take some more.
func CheckBounds(t *testing.T, name string, f func()) {
	t.Helper()
	const longest, most = 100 * time.Millisecond, 64 << 20
	slack := time.Duration(1)
	if RaceDetector {
		slack = 10
	}
	took, taken := Of(f)
	if took > slack*longest {
		took, taken = Of(f)
	}
	if took > slack*longest || taken > most {
		t.Errorf("%s took %v and %d bytes", name, took, taken)
	}
}
