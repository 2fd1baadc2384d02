package sim

import "time"

// A poller is a node, or a reader, that polls a channel once an interval of its
// own phase, from a time until another, which it does not reach.
type poller struct {
	node        int32
	base, low   int8 // levels: see hierarchy
	from, until time.Duration
}

// next returns its first poll that is not before a time, or never.
func (p *poller) next(at, interval time.Duration) time.Duration {
	poll := p.from
	if at > poll {
		poll += (at - poll + interval - 1) / interval * interval
	}
	if poll >= p.until {
		return never
	}
	return poll
}

// count adds its polls to the buckets that they fall into.
func (p *poller) count(interval, width time.Duration, buckets []int) {
	end := min(p.until, width*time.Duration(len(buckets)))
	for poll := p.from; poll < end; poll += interval {
		buckets[poll/width]++
	}
}

// wedge is a channel that nodes poll independently of each other: the paper's
// way.
type wedge struct {
	pollers  []poller
	interval time.Duration
}

// wait returns how long a change waits for a poll, or never.
func (w wedge) wait(at time.Duration) time.Duration {
	soonest := never
	for i := range w.pollers {
		soonest = min(soonest, w.pollers[i].next(at, w.interval))
	}
	if soonest == never {
		return never
	}
	return soonest - at
}

func (w wedge) count(width time.Duration, buckets []int) {
	for i := range w.pollers {
		w.pollers[i].count(w.interval, width, buckets)
	}
}

// readers is a channel whose subscribers each poll by themselves, and see what
// they see: legacy.
type readers struct{ wedge }

// wait returns how long a change waits on average over the readers that have begun to
// poll; where none has, until the first one does.
func (r readers) wait(at time.Duration) time.Duration {
	var sum time.Duration
	var present int64
	for i := range r.pollers {
		if p := &r.pollers[i]; p.from <= at {
			sum += p.next(at, r.interval) - at
			present++
		}
	}
	if present == 0 {
		return r.wedge.wait(at)
	}
	return sum / time.Duration(present)
}
