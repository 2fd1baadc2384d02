package run

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// In the window the generator makes much garbage before it collects; after it, as before.
func TestGatherGarbage(t *testing.T) {
	const percent = 120
	before := debug.SetGCPercent(percent)
	defer debug.SetGCPercent(before)
	again := gatherGarbage()
	if got := debug.SetGCPercent(percent); got < 1000 {
		t.Errorf("%d percent of garbage in the window of a test with a few MiB of memory", got)
	}
	again()
	if got := debug.SetGCPercent(percent); got != percent {
		t.Errorf("%d percent of garbage after the window, want %d", got, percent)
	}
	if runtime.GOOS == "linux" && availableMemory() < 1<<20 {
		t.Errorf("%d bytes of memory are available", availableMemory())
	}
}
