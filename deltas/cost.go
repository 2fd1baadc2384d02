package deltas

import (
	"runtime"
	"testing"
	"time"
)

// cost returns the processor time that f takes and the bytes that it allocates,
// garbage included.
func cost(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := cpuTime(f)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// withinBounds fails the test if f takes longer, or more memory, than reading a
// document of a sane size may. The race detector, and a machine with other work, may
// take some more.
func withinBounds(t *testing.T, name string, f func()) {
	t.Helper()
	const longest, most = 100 * time.Millisecond, 64 << 20
	slack := time.Duration(1)
	if raceDetector {
		slack = 10
	}
	took, taken := cost(f)
	if took > slack*longest {
		took, taken = cost(f)
	}
	if took > slack*longest || taken > most {
		t.Errorf("%s took %v and %d bytes", name, took, taken)
	}
}
