package primary

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// factors is what the plan remembers of one channel. There may be a million of
// them, in memory for as long as the node runs.
type factors struct {
	incarnation uint32 // its low bits tell it from the one before and the next
	subscribers uint32 // at most
	told        uint32 // subscribers, as the poller has been told
	row         int32  // in the optimiser's columns; noRow: none, it is not polled
	host        int32  // of hosts; noHost: none that has a cap
	rate        pace   // last ordered
	most        pace   // that its origin's words leave; none: they ask for nothing
	size        size   // of a poll, as pollers tell
	gone        bool
	first       bool // it has no content yet
	dirty       bool // not all of this is in the columns
	evidence    evidence
}

const noRow = -1

// next are a channel's factors after a change, with what was known of the same
// incarnation.
func (f factors) next(ch channel.Channel) factors {
	next := factors{
		incarnation: uint32(ch.Incarnation), subscribers: uint32(min(ch.Subscribers, math.MaxUint32)),
		gone: ch.Gone, first: ch.Version == 0, evidence: evidenceOf(ch),
		told: f.told, row: f.row, host: f.host, rate: f.rate, dirty: f.dirty,
	}
	if f.incarnation == next.incarnation {
		next.most, next.size = f.most, f.size
	}
	return next
}

func (f factors) polled() bool { return f.subscribers > 0 && !f.gone }

// pace is a rate in four bytes: n polls an interval, or, negative, a poll each −n
// intervals, and none for 0.
type pace int32

// paceOf returns a rate of the optimiser, in polls per interval.
func paceOf(rate float64) pace {
	polls, intervals := honeycomb.Fraction(rate)
	if intervals > 1 {
		return -pace(intervals)
	}
	return pace(polls)
}

// paceWithin returns the most polls of all pollers together that lie so far apart; 0 where
// nothing is asked for.
func paceWithin(apart, interval time.Duration) pace {
	rate := overlay.RateOf(apart, interval, 0)
	if rate.Intervals > 1 {
		return -pace(rate.Intervals)
	}
	return pace(min(rate.Polls, math.MaxInt32))
}

func (p pace) rate() overlay.Rate {
	if p < 0 {
		return overlay.Rate{Polls: 1, Intervals: uint32(-p)}
	}
	return overlay.Rate{Polls: uint32(p), Intervals: 1}
}

// float returns polls per interval.
func (p pace) float() float64 {
	if p < 0 {
		return 1 / float64(-p)
	}
	return float64(p)
}

// within returns the slower of a pace and what bounds it.
func (p pace) within(most pace) pace {
	if most != 0 && most.float() < p.float() {
		return most
	}
	return p
}

// size is a number of bytes on a scale of logarithms, from one to billions, 9 % a
// step; 0: not known.
type size uint8

const sizeSteps = 8 // to a factor of two

func sizeOf(bytes int64) size {
	if bytes <= 0 {
		return 0
	}
	return size(min(1+math.Round(sizeSteps*math.Log2(float64(bytes))), math.MaxUint8))
}

// bytes returns whole bytes, so that sums of many are exact; 0: not known.
func (s size) bytes() uint64 { return sizeBytes[s] }

var sizeBytes = func() (table [math.MaxUint8 + 1]uint64) {
	for s := 1; s < len(table); s++ {
		table[s] = uint64(math.Round(math.Exp2(float64(s-1) / sizeSteps)))
	}
	return table
}()
