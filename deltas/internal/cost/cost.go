// Package cost measures what a test's function takes, for tests of bounded work.
package cost

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
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

// CheckBounds fails the test if f takes more processor time, or more memory, than reading
// a document of a sane size may: twice what sorting a million numbers takes here (some 0.2 s).
// The race detector may take some more.
func CheckBounds(t *testing.T, name string, f func()) {
	t.Helper()
	const most = 64 << 20
	longest := 2 * sortingTakes()
	if RaceDetector {
		longest *= 10
	}
	took, taken := Of(f)
	if took > longest {
		took, taken = Of(f)
	}
	if took > longest || taken > most {
		t.Errorf("%s took %v (%v is allowed) and %d bytes", name, took, longest, taken)
	}
}

// sortingTakes says how fast this machine is.
var sortingTakes = sync.OnceValue(func() time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		random, numbers := rand.New(rand.NewPCG(1, 1)), make([]uint64, 1_000_000)
		for i := range numbers {
			numbers[i] = random.Uint64()
		}
		best = min(best, CPUTime(func() { slices.Sort(numbers) }))
	}
	return best
})
