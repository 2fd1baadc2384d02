// Package garbage says how much memory that is no longer used a node may gather before
// the collector runs.
package garbage

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What a node keeps of a channel is there for good, and half as much again, not as much
// again, is enough for what comes and goes: with 100 percent collections take 3 % of the
// processor (scenario steady). A small heap is collected after least bytes: at 60
// percent of it collections would take a fifth, so they take a tenth; twice the bytes would
// make that a twentieth (benchmarks/replicated), and a node near sick hosts 64 MiB larger
// than one without (scenario polite).
const (
	percent = 60
	least   = 64 << 20
	most    = 1000 // percent
)

// lookEvery is short beside the time in which a heap grows by its own size.
const lookEvery = time.Second

// Limit follows the heap until ctx ends, unless GOGC says how much garbage there may be. It
// also keeps what is outside the heap together.
func Limit(ctx context.Context) {
	oneArena()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := 0
	look := func() {
		metrics.Read(live)
		if want := percentOf(live[0].Value.Uint64()); want != set {
			debug.SetGCPercent(want)
			set = want
		}
	}
	look()
	go func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				look()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// percentOf returns by how many percent a heap with so many live bytes may grow. Steps of
// ten keep it from being set, which stops all goroutines for an instant, at each look.
func percentOf(live uint64) int {
	return min(max(percent, int(100*least/max(live, 1))/10*10), most)
}
