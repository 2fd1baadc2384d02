package sim

import (
	"slices"
	"time"
)

// A demand is how many subscribers channels have over time.
type demand interface {
	// at returns a channel's subscribers at a time; after the first they never
	// fall to none.
	at(c int, at time.Duration) float64
	// first returns when a channel has its first subscriber.
	first(c int) time.Duration
	// begins returns when a channel's i-th subscriber would poll first, by itself.
	begins(c, i int) time.Duration
}

// steady is a demand that is there from the start: readers who have begun, each
// at its own time, within an interval.
type steady struct {
	*workload
	interval time.Duration
}

func (d steady) at(c int, _ time.Duration) float64 { return d.subscribers[c] }
func (steady) first(int) time.Duration             { return 0 }

func (d steady) begins(c, i int) time.Duration {
	return d.within(d.interval, forReader, uint64(c), uint64(i))
}

// ramp is a demand that comes at a uniform rate: of each channel its arrivals,
// in order.
type ramp [][]time.Duration

func (w *workload) ramp(over time.Duration) ramp {
	d := make(ramp, len(w.subscribers))
	for c, q := range w.subscribers {
		d[c] = make([]time.Duration, int(q))
		for i := range d[c] {
			d[c][i] = w.within(over, forArrival, uint64(c), uint64(i))
		}
		slices.Sort(d[c])
	}
	return d
}

func (d ramp) at(c int, at time.Duration) float64 {
	n, _ := slices.BinarySearch(d[c], at+1)
	return float64(n)
}

func (d ramp) first(c int) time.Duration     { return d[c][0] }
func (d ramp) begins(c, i int) time.Duration { return d[c][i] }

// crowd is a demand that multiplies at some channels at once: a flash crowd.
type crowd struct {
	steady
	from  time.Duration
	times float64
	hit   []bool
}

func (d crowd) at(c int, at time.Duration) float64 {
	if d.hit[c] && at >= d.from {
		return d.subscribers[c] * d.times
	}
	return d.subscribers[c]
}

func (d crowd) begins(c, i int) time.Duration {
	if float64(i) < d.subscribers[c] {
		return d.steady.begins(c, i)
	}
	return d.from + d.steady.begins(c, i)
}
