package main

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
)

// note writes what a poll and a channel cost to a file, if there is one. A node alone owns
// and polls every channel: whose memory is whose follows from the packages.
func (r *result) note(file string) error {
	run := costs.Now("steady")
	heap := func(packages ...string) (bytes float64) {
		for name, live := range r.Memory.HeapByPackage {
			top, _, _ := strings.Cut(strings.TrimPrefix(name, "corona/"), "/")
			if slices.Contains(packages, top) {
				bytes += float64(live)
			}
		}
		return bytes / float64(r.Channels)
	}
	live := float64(r.Memory.HeapLive)
	return costs.Update(file, func(f *costs.File) {
		f.Put(costs.Poll, r.Window.CPUPerPollUs/1e6, "seconds", run)
		f.Put(costs.OwnerHeap, heap("primary", "honeycomb"), "bytes", run)
		f.Put(costs.ReplicaHeap, heap("ownership"), "bytes", run)
		f.Put(costs.PollerHeap, heap("engine", "fetcher"), "bytes", run)
		f.Put(costs.Collector, (live+r.Memory.GoFree)/live, "times", run)
		f.Put(costs.Fixed, r.Memory.Outside+heap("deltas")*float64(r.Channels), "bytes", run) // coders are of workers
		f.Put(costs.ContentDisk, float64(r.Disk.ByFolder["cache"])/float64(r.Channels), "bytes", run)
	})
}
