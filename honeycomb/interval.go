package honeycomb

import (
	"math"
	"slices"
	"time"
)

// A History is what polls have told about how often a channel changes. The zero
// value knows nothing. Times are in seconds, and what is known halves in
// [HalfLife].
//
// A poll tells only whether a channel changed since the poll before, not how
// often, so changes over time under-estimates. The estimate is the most likely
// rate of a Poisson process seen so, with half an unchanged poll added, which
// for regular polls is the bias-corrected estimator −log((n−x+½)/(n+½)) of Cho
// and Garcia-Molina, "Estimating frequency of change", ACM Transactions on
// Internet Technology 3(3), 2003. Of unchanged polls it needs to know nothing but
// until when they were so: only changes are told. Where entries say when they were
// published, changes are counted instead.
type History struct {
	Changes float32 // seen, or counted
	Gap     float32 // seconds between regular polls that would tell as much of them as theirs did; 0: all were counted
	Quiet   float32 // seconds in which nothing changed, or in which changes were counted
}

const (
	// HalfLife is the time in seconds after which a change, and a second without
	// one, counts half: weeks differ, hours of day must not.
	HalfLife = 14 * 24 * 3600.0

	// More changes than these are not remembered either: a channel that changed often
	// shows soon that it does no longer, and the other way round.
	mostRemembered = 128

	mostCounted = 32 // changes believed of one poll
	mostSeeded  = 8  // and of a first document
	enoughPolls = 10 // with one change; two need none
	halvings    = 24
)

// Faded returns what is left of one after so many seconds.
func Faded(seconds float64) float64 { return math.Exp2(-seconds / HalfLife) }

// FadedSpan returns what is left of the last so many seconds, at most about twenty
// days.
func FadedSpan(seconds float64) float64 {
	return -HalfLife / math.Ln2 * math.Expm1(-seconds*math.Ln2/HalfLife)
}

// Changed adds a change: polls showed none for quiet seconds since the change
// before, or since the first content, and the next one, gap seconds later, showed
// it. A gap that is not positive adds nothing.
func (h *History) Changed(quiet, gap float64) {
	if !(quiet >= 0) || !(gap > 0) {
		return
	}
	h.pass(quiet)
	h.fade(gap)
	h.join(1, gap)
}

// Counted adds changes whose number is known from [Published]: so many in so many
// seconds, which are all since the change before.
func (h *History) Counted(seconds float64, changes int) {
	if !(seconds > 0) || changes < 1 {
		return
	}
	h.pass(seconds)
	h.join(float64(min(changes, mostCounted)), 0)
}

// Seed takes in when the entries of a first document, seen at a time, were
// published, and replaces what was known: how many came since the middle one. Those
// before may be what is left of more, as where a page keeps what is worth it. It
// takes nothing where fewer than half were published in moments of their own, as
// where a build stamps them, and counts as much as [mostSeeded] changes at most.
func (h *History) Seed(entries []time.Time, seen time.Time) {
	moments := Published(entries, time.Time{}, seen)
	if len(moments) < 3 || 2*len(moments) < len(entries) {
		return
	}
	moments = moments[len(moments)/2:]
	span := FadedSpan(seen.Sub(moments[0]).Seconds())
	changes := 0.0
	for _, at := range moments[1:] {
		changes += Faded(seen.Sub(at).Seconds())
	}
	believed := min(1, mostSeeded/changes)
	*h = History{Changes: float32(changes * believed), Quiet: float32(span * believed)}
}

// Interval returns the estimated mean time between two changes in seconds, from
// [ShortestInterval] to [LongestInterval], when so many seconds have passed since
// the latest change, or since the first content. It is the longest too until two
// changes are known, or one and nine times the gap in which it was seen without
// another: ten polls as far apart.
//
// Since the latest poll is not known, half a gap is quiet at least.
func (h History) Interval(quiet float64) float64 {
	h.pass(max(quiet, float64(h.Gap)/2))
	if !h.tells() {
		return LongestInterval
	}
	return 1 / h.rate()
}

// tells says whether enough is known for an estimate.
func (h History) tells() bool {
	return h.Changes > 1 || h.Gap > 0 && h.Quiet >= (enoughPolls-1)*h.Gap
}

// pass lets time go by in which nothing changes.
func (h *History) pass(seconds float64) {
	h.fade(seconds)
	h.Quiet += float32(FadedSpan(seconds))
}

func (h *History) fade(seconds float64) {
	left := float32(Faded(seconds))
	h.Changes *= left
	h.Quiet *= left
}

// rate returns the likeliest changes per second, within the clamps of the
// interval: where Changes·Gap/(e^(rate·Gap) − 1) = Quiet.
func (h History) rate() float64 {
	changes, gap, quiet := float64(h.Changes), float64(h.Gap), float64(h.Quiet)
	rate := changes / quiet
	if gap > 0 {
		rate = math.Log1p(changes*gap/quiet) / gap
	}
	return min(max(rate, 1/LongestInterval), 1/ShortestInterval)
}

// join adds changes that were seen in a gap. The gap of all becomes the one at
// which they pull as much together as each in its own, at the rate that was
// estimated before: so a change seen after an outage, which says little, does not
// make the others say little.
func (h *History) join(changes, gap float64) {
	before, at := float64(h.Changes), float64(h.Gap)
	rate := History{h.Changes, h.Gap, h.Quiet + h.Gap/2}.rate()
	h.Changes += float32(changes)
	if h.Changes > mostRemembered {
		h.Quiet *= mostRemembered / h.Changes
		h.Changes = mostRemembered
	}
	if before == 0 {
		h.Gap = float32(gap)
		return
	}
	pulls := (before*pull(rate, at) + changes*pull(rate, gap)) / (before + changes)
	short, long := min(at, gap), max(at, gap)
	for range halvings {
		middle := (short + long) / 2
		if pull(rate, middle) > pulls {
			short = middle
		} else {
			long = middle
		}
	}
	h.Gap = float32((short + long) / 2)
}

// pull is by how many quiet seconds a change that was seen in a gap outweighs a
// rate: the derivative of log(1 − e^(−rate·gap)). It falls with both.
func pull(rate, gap float64) float64 {
	if gap == 0 {
		return 1 / rate
	}
	return gap / math.Expm1(rate*gap)
}

// Published returns the moments in which entries were published after an instant
// and up to another, the oldest first, each a minute or more after the one before.
func Published(entries []time.Time, after, until time.Time) []time.Time {
	var moments []time.Time
	for _, at := range slices.SortedFunc(slices.Values(entries), time.Time.Compare) {
		if !at.After(after) || at.After(until) {
			continue
		}
		if len(moments) == 0 || at.Sub(moments[len(moments)-1]) >= time.Minute {
			moments = append(moments, at)
		}
	}
	return moments
}
