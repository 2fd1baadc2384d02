//go:build linux

package main

import (
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
)

// leaseEvery is how often an owner renews the lease of a range's orders at each poller.
const leaseEvery = 20 * time.Second

// note writes what nodes say to each other, and what a change takes of them, to the file of
// costs, if there is one. What did not happen in the run is left as it was.
func (f *found) note(o *options) error {
	run := costs.Now("cooperate")
	return costs.Update(o.costs, func(file *costs.File) {
		put := func(name string, value, times float64) {
			if value > 0 && times > 0 {
				file.Put(name, value/times, "bytes", run)
			}
		}
		put(costs.Report, f.calm.wedge["reports"], f.calm.wedge[reportsMade])
		put(costs.News, f.calm.wedge["news"], f.calm.wedge[newsTold])
		renewals := float64(f.ranges*(o.nodes-1)) * f.still.length().Seconds() / leaseEvery.Seconds()
		put(costs.Lease, f.still.wedge["leases"], renewals)
		put(costs.Note, f.still.wedge["notes"], f.still.polls(f.polls)*(1-1/float64(o.nodes)))
		if orders := f.calm.wedge[ordersTaken]; orders > 0 {
			intervals := f.calm.length().Seconds() / o.maintenance.Seconds()
			file.Put(costs.Order, orders/float64(o.channels)/intervals, "orders", run)
		}
		if _, changes := fullAnswers(f.polls, f.calm.span); changes > 0 {
			hops := f.calm.wedge[reportsMade] + f.calm.wedge[newsTold]
			file.PutChange(costs.Change{Hops: hops / float64(changes), Processor: f.perChange() / 1e3, Run: run})
		}
	})
}
