// Command costs takes what a poll and a channel cost a node from the result of a scenario with
// the probe "memory", for benchmarks/sim:
//
//	corona loadgen run steady --out OUT
//	go run ./benchmarks/costs OUT benchmarks/sim/costs.json
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: costs OUT FILE")
		os.Exit(2)
	}
	if err := note(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

// note writes the costs of a result to a file. A node alone owns and polls every channel:
// whose memory is whose follows from the packages.
func note(folder, file string) error {
	all, err := result.Read(folder)
	if err != nil {
		return err
	}
	r := all[0]
	if r.Memory == nil || r.Memory.Live == 0 || len(r.Nodes) != 1 {
		return fmt.Errorf("%s: want the result of one node with the probe memory", folder)
	}
	channels, live := float64(r.Channels), float64(r.Memory.Live)
	heap := func(packages ...string) (bytes float64) {
		for name, held := range r.Memory.Packages {
			top, _, _ := strings.Cut(strings.TrimPrefix(name, "corona/"), "/")
			if slices.Contains(packages, top) {
				bytes += float64(held)
			}
		}
		return bytes
	}
	run := costs.Run{
		Command:  fmt.Sprintf("corona loadgen run %s (%d channels, %.0f polls/s); go run ./benchmarks/costs", r.Scenario, r.Channels, r.PollsPerS),
		Measured: time.Now().UTC().Format(time.DateOnly),
	}
	return costs.Update(file, func(f *costs.File) {
		f.Put(costs.Poll, r.CPUPerPollUs/1e6, "seconds", run)
		f.Put(costs.OwnerHeap, heap("primary", "honeycomb")/channels, "bytes", run)
		f.Put(costs.ReplicaHeap, heap("ownership")/channels, "bytes", run)
		f.Put(costs.PollerHeap, heap("engine", "fetcher")/channels, "bytes", run)
		f.Put(costs.Collector, (live+float64(r.Memory.Free))/live, "times", run)
		f.Put(costs.Fixed, float64(r.Memory.Outside)+heap("deltas"), "bytes", run) // coders are of workers
		f.Put(costs.ContentDisk, float64(r.Disk.Folders["cache"])/channels, "bytes", run)
	})
}
