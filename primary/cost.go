package primary

import (
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// usualCost stands for the cost of a poll until any is known.
func usualCost(c honeycomb.Cost) float64 {
	if c == honeycomb.Bytes {
		return usualBytes
	}
	return 1
}

const usualBytes = 1 << 10

// resize records how many bytes a poll of a channel takes.
func (p *plan) resize(id channel.ID, incarnation uint64, bytes int64) {
	f := p.factors.at(id)
	if f == nil || f.incarnation != uint32(incarnation) || f.size == sizeOf(bytes) {
		return
	}
	p.add(*f, -1)
	f.size = sizeOf(bytes)
	p.add(*f, 1)
	if p.cost == honeycomb.Bytes && f.polled() {
		p.touch(id, f)
	}
}

// provisional is the rate of a channel before the first solve with it: the same for
// all, as budget and host allow, so that many new channels at once make no burst.
func (p *plan) provisional(f factors) pace {
	intervals := p.hosts.intervals(f.host)
	if p.ceiling > 0 {
		intervals = max(intervals, math.Ceil(p.onceAll()/p.ceiling))
	}
	if intervals > 1 {
		return -pace(min(intervals, overlay.MostIntervals))
	}
	return 1
}

// onceAll returns Σ cost of a poll of each channel.
func (p *plan) onceAll() float64 {
	return float64(p.once) + float64(p.polled-p.sized)*p.usual
}

// costOf returns the cost of a poll of a channel.
func (p *plan) costOf(f factors) float64 {
	if p.cost == honeycomb.Polls || f.size == 0 {
		return p.usual
	}
	return float64(f.size.bytes())
}

// drifted says whether what holds for all has moved since all were read: their
// subscribers by more than a hundredth, since a budget may follow them, or the usual
// cost of a poll by more than a quarter.
func (p *plan) drifted() bool {
	crowd, mean := float64(p.subscribers), p.mean()
	return math.Abs(crowd-p.columns.subscribers) > p.columns.subscribers/100 ||
		p.sized < p.polled && math.Abs(mean-p.usual) > p.usual/4
}

// mean returns the mean cost of a poll of those where it is known.
func (p *plan) mean() float64 {
	if p.sized == 0 {
		return p.usual
	}
	return float64(p.once) / float64(p.sized)
}
