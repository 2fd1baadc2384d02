package loadgen

import (
	"math"
	"math/bits"
	"time"
)

// Schedule says when every channel changes: a pure function of a seed, without
// memory per channel.
//
// Intervals follow the survey in section 5.1 of the Corona paper (NSDI 2006):
// a tenth of the channels changes within the hour, half not within five days,
// which counts as once a week. The gaps between a channel's changes are close
// to exponential: time is cut into blocks of 16 intervals, and each block holds
// 16 changes at independent uniform places. So a channel's changes up to any
// instant are counted from one block alone.
//
// Times are distances from the schedule's start in the schedule's own time, in
// which nothing is sped up. Revision 1 is what stands at the start.
type Schedule struct{ Seed uint64 }

// blockChanges is the number of changes in a block, and the length of a block in
// intervals.
const blockChanges = 16

// What [Schedule.Interval] draws from.
const (
	shortestInterval = 10 * time.Minute
	frequentInterval = time.Hour
	rareInterval     = 5 * 24 * time.Hour
	weeklyInterval   = 7 * 24 * time.Hour
)

// Interval returns the mean time between two changes of a channel: for 10 % of
// the channels 10 min to 1 h, for 40 % 1 h to 5 d, both evenly on a logarithmic
// scale, and a week for the rest.
func (s Schedule) Interval(channel int) time.Duration {
	switch u := unit(s.hash(channel, saltInterval, 0)); {
	case u < 0.1:
		return between(shortestInterval, frequentInterval, u/0.1)
	case u < 0.5:
		return between(frequentInterval, rareInterval, (u-0.1)/0.4)
	}
	return weeklyInterval
}

// between returns the duration at u, 0 to 1, of the way from low to high on a
// logarithmic scale: in whole seconds, since the last bits of a power are not the
// same on every processor.
func between(low, high time.Duration, u float64) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), u)).Round(time.Second)
}

// Revision returns the revision that stands at a time at or after the start.
func (s Schedule) Revision(channel int, at time.Duration) int64 {
	line := s.timeline(channel)
	return 1 + line.count(line.phase+int64(at)) - line.count(line.phase)
}

// ChangedAt returns when a revision came to stand: the first instant at which
// [Schedule.Revision] is that revision or a later one. For revision 1 and those
// before it, which the entries of a feed's first window came with, that is
// before the start.
func (s Schedule) ChangedAt(channel int, revision int64) time.Duration {
	line := s.timeline(channel)
	return time.Duration(line.at(line.count(line.phase)+revision-1) - line.phase)
}

// timeline is one channel's changes. Its zero is the start of a block; the
// schedule's start lies at phase, within the first block.
type timeline struct {
	key   uint64
	block int64 // length of a block in ns
	phase int64
}

func (s Schedule) timeline(channel int) timeline {
	block := blockChanges * int64(s.Interval(channel))
	return timeline{
		key:   s.hash(channel, saltChanges, 0),
		block: block,
		phase: scale(s.hash(channel, saltPhase, 0), block),
	}
}

// count returns the number of changes at or before t, less those before zero.
func (l timeline) count(t int64) int64 {
	block := floorDiv(t, l.block)
	places := l.places(block)
	within, n := t-block*l.block, block*blockChanges
	for _, place := range places {
		if place <= within {
			n++
		}
	}
	return n
}

// at returns when the n-th change, counted as [timeline.count] does, happens.
func (l timeline) at(n int64) int64 {
	block := floorDiv(n-1, blockChanges)
	places := l.places(block)
	sortPlaces(&places)
	return block*l.block + places[n-1-block*blockChanges]
}

// places returns where in a block its changes lie, in no order.
func (l timeline) places(block int64) (places [blockChanges]int64) {
	state := mix(l.key + uint64(block)*golden)
	for i := range places {
		state += golden
		places[i] = scale(mix(state), l.block)
	}
	return places
}

// sortPlaces is an insertion sort: for 16 numbers faster than any other.
func sortPlaces(places *[blockChanges]int64) {
	for i := 1; i < len(places); i++ {
		for j := i; j > 0 && places[j] < places[j-1]; j-- {
			places[j], places[j-1] = places[j-1], places[j]
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Salts keep the random numbers of different purposes apart.
const (
	saltInterval = iota + 1
	saltPhase
	saltChanges
	saltShape
	saltEntry
	saltEdit
	saltTag
)

// golden is the step of the SplitMix64 generator; mix is its output function.
const golden = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns a random number for a purpose of a channel.
func (s Schedule) hash(channel int, salt uint64, n int64) uint64 {
	return mix(mix(mix(s.Seed+golden)+uint64(channel)*golden+salt) + uint64(n)*golden)
}

// scale maps a random number to 0 up to, not including, n.
func scale(random uint64, n int64) int64 {
	high, _ := bits.Mul64(random, uint64(n))
	return int64(high)
}

// unit maps a random number to 0 up to, not including, 1.
func unit(random uint64) float64 { return float64(random>>11) / (1 << 53) }
