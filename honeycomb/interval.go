package honeycomb

import (
	"math"
	"slices"
	"time"
)

// A History is what polls have told about how often a channel changes: decayed
// counts by the time between polls, a hundred bytes or so. The zero value knows
// nothing. Times are in seconds.
//
// A poll tells only whether a channel changed since the poll before, not how
// often, so changes over time under-estimates. The estimate is the most likely
// rate of a Poisson process seen so, with half an unchanged poll added, which
// for regular polls is the bias-corrected estimator −log((n−x+½)/(n+½)) of Cho
// and Garcia-Molina, "Estimating frequency of change", ACM Transactions on
// Internet Technology 3(3), 2003. Where entries say when they were published,
// changes are counted instead.
type History struct {
	seen    [gapBins]gaps
	counted gaps   // changes here is their number, which may pass polls
	polls   uint16 // ever, at most 65535
	changes uint16
}

// gaps are polls with a similar time since the poll before.
type gaps struct{ polls, changes, seconds, quiet float32 }

const (
	gapBins = 10 // a factor of 4 each, from under 4 seconds to over three days

	// HalfLife is the time in seconds after which a poll counts half: weeks
	// differ, hours of day must not.
	HalfLife = 14 * 24 * 3600.0

	// The estimate is LongestInterval until so much is known.
	enoughPolls   = 10
	enoughChanges = 2

	mostCounted = 32 // changes believed of one poll
)

func gapBin(seconds float64) int {
	return min(max(int(math.Log2(max(seconds, 1))/2), 0), gapBins-1)
}

// Observe adds a poll: seconds since the poll before, and whether the channel
// had changed. A time that is not positive adds nothing.
func (h *History) Observe(seconds float64, changed bool) {
	if !(seconds > 0) {
		return
	}
	h.decay(seconds)
	bin := &h.seen[gapBin(seconds)]
	bin.polls++
	bin.seconds += float32(seconds)
	h.polls = upTo(h.polls, 1)
	if !changed {
		bin.quiet += float32(seconds)
		return
	}
	bin.changes++
	h.changes = upTo(h.changes, 1)
}

// ObserveCounted adds a poll whose changes are known by number, from
// [Published]: 0 is one that found none.
func (h *History) ObserveCounted(seconds float64, changes int) {
	if !(seconds > 0) || changes < 0 {
		return
	}
	h.decay(seconds)
	h.count(seconds, min(changes, mostCounted))
	h.polls = upTo(h.polls, 1)
}

// Seed adds what the entries of a first document tell: so many were published
// within so many seconds before it. It counts as much as that many changes seen,
// at most [mostCounted], but not as polls.
func (h *History) Seed(seconds float64, entries int) {
	if !(seconds > 0) || entries < 1 {
		return
	}
	believed := min(entries, mostCounted)
	h.count(seconds*float64(believed)/float64(entries), believed)
}

func (h *History) count(seconds float64, changes int) {
	h.counted.polls++
	h.counted.changes += float32(changes)
	h.counted.seconds += float32(seconds)
	h.changes = upTo(h.changes, changes)
}

func (h *History) decay(seconds float64) {
	keep := float32(math.Exp2(-seconds / HalfLife))
	for i := range h.seen {
		h.seen[i].scale(keep)
	}
	h.counted.scale(keep)
}

func (g *gaps) scale(by float32) {
	g.polls *= by
	g.changes *= by
	g.seconds *= by
	g.quiet *= by
}

func upTo(n uint16, more int) uint16 { return uint16(min(int(n)+more, math.MaxUint16)) }

// Interval returns the estimated mean time between two changes in seconds, from
// ShortestInterval to LongestInterval: the latter too while fewer than ten polls
// and two changes are known.
func (h *History) Interval() float64 {
	if h.polls < enoughPolls && h.changes < enoughChanges {
		return LongestInterval
	}
	quick, slow := math.Log(ShortestInterval), math.Log(LongestInterval)
	for range 24 {
		middle := (quick + slow) / 2
		if h.slope(math.Exp(-middle)) > 0 {
			slow = middle // more changes are likelier: the interval is shorter
		} else {
			quick = middle
		}
	}
	return math.Exp((quick + slow) / 2)
}

// slope is the derivative of the log-likelihood at a rate, which falls as the
// rate rises.
func (h *History) slope(rate float64) float64 {
	slope := float64(h.counted.changes)/rate - float64(h.counted.seconds)
	var polls, seconds float64
	for _, bin := range h.seen {
		if bin.polls == 0 {
			continue
		}
		gap := float64(bin.seconds / bin.polls)
		slope += float64(bin.changes)*gap/math.Expm1(rate*gap) - float64(bin.quiet)
		polls += float64(bin.polls)
		seconds += float64(bin.seconds)
	}
	if polls > 0 {
		slope -= seconds / polls / 2 // half an unchanged poll
	}
	return slope
}

// Published counts the changes that the times of a document's entries show
// between two polls: instants after the one and up to the other, a minute or
// more apart. It returns false when they show nothing that can be believed: no
// entry falls between the polls, or at least half of all do, as where a build
// stamps every entry anew.
func Published(entries []time.Time, after, until time.Time) (changes int, ok bool) {
	var between []time.Time
	for _, at := range entries {
		if at.After(after) && !at.After(until) {
			between = append(between, at)
		}
	}
	if len(between) == 0 || len(entries) > 2 && 2*len(between) >= len(entries) {
		return 0, false
	}
	slices.SortFunc(between, time.Time.Compare)
	last := time.Time{}
	for _, at := range between {
		if changes == 0 || at.Sub(last) >= time.Minute {
			changes++
			last = at
		}
	}
	return changes, true
}
