// Package overlay says which nodes poll a channel and when: the rate at which a channel
// is polled, the pollers that share that rate, and the numbered slots that they
// take in turn. The paper's overlay, which no node uses, is in overlay/ring.
//
// Everything here is a pure function of its arguments in exact integer
// arithmetic, so that every node computes the same. See DESIGN.md.
package overlay

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Rate is how often a channel is polled by the whole system: Polls polls in
// every Intervals intervals. No Polls means never; no Intervals counts as one.
// Whole rates have Intervals 1, as in {3, 1}; slow ones Polls 1, as in {1, 48}.
type Rate struct{ Polls, Intervals uint32 }

// Float returns the rate in polls per interval.
func (r Rate) Float() float64 { return float64(r.Polls) / float64(r.intervals()) }

func (r Rate) intervals() uint64 { return uint64(max(r.Intervals, 1)) }

// PhaseOf returns the fraction h of a slot, times 2^64, by which a channel's
// slots are shifted, so that channels of one rate spread over time. It is taken
// from other bits of the ID than the bucket.
func PhaseOf(id channel.ID) uint64 {
	return binary.BigEndian.Uint64(id[channel.IDLen-8:])
}

// WidthOf returns how many pollers are needed to realise the rate when each may
// poll only once per floor: ⌈r·floor/interval⌉, at least 1; 0 when the rate is 0.
func WidthOf(r Rate, interval, floor time.Duration) int {
	if r.Polls == 0 || interval <= 0 {
		return 0
	}
	demand := mul64(uint64(max(floor, 0)), uint64(r.Polls))
	width, ok := demand.divCeil(span(r, interval)).uint63()
	if !ok || width > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(int(width), 1)
}

// span returns r.Intervals intervals in nanoseconds, at most 292 years.
func span(r Rate, interval time.Duration) uint64 {
	n, ok := mul64(uint64(interval), r.intervals()).uint63()
	if !ok {
		return math.MaxInt64
	}
	return uint64(n)
}

// MostIntervals is how many intervals lie between two polls of a channel at most: the
// slowest rate is 1/48.
const MostIntervals = 48

// RateOf returns the highest rate whose polls are a distance apart at least: so many an
// interval, or one in so many intervals. It has no polls where the floor sees to that.
func RateOf(distance, interval, floor time.Duration) Rate {
	switch {
	case distance <= floor:
		return Rate{Intervals: 1}
	case distance <= interval:
		return Rate{Polls: uint32(min(interval/distance, math.MaxUint32)), Intervals: 1}
	}
	return Rate{Polls: 1, Intervals: uint32(IntervalsOf(distance, interval))}
}

// IntervalsOf returns how many intervals a distance between two polls takes, rounded
// up: 1 to [MostIntervals].
func IntervalsOf(distance, interval time.Duration) uint8 {
	whole := distance / interval
	if whole*interval < distance {
		whole++
	}
	return uint8(min(max(whole, 1), MostIntervals))
}
