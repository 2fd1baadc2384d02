package run

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A collection of a gigabyte takes the generator's half of two cores for half a second, in
// which origins answer late and nodes wait for them: measured as lateness of the nodes. So
// the generator collects before the window, and in it when it has made garbage of a third of
// the memory that is available, or leastGarbage, and every two minutes, which Go forces.
const leastGarbage = 256 << 20

// gatherGarbage has the generator collect now, and seldom until the returned function is
// called.
func gatherGarbage() (collectAgain func()) {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	garbage := max(availableMemory()/3, leastGarbage)
	before := debug.SetGCPercent(int(max(100*garbage/max(live[0].Value.Uint64(), 1), 100)))
	return func() { debug.SetGCPercent(before) }
}

// availableMemory returns how many bytes the machine has left for programs, 0 where that is
// not known.
func availableMemory() (bytes uint64) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &bytes); n == 1 {
			return bytes << 10
		}
	}
	return 0
}
