package honeycomb

import (
	"slices"
	"time"
)

// A History is what polls have told about how often a channel changes, on both
// sides of an instant at which it may have begun to change more often: a
// change-point, found by a generalised likelihood ratio test over a one-sided
// CUSUM's candidate (E. S. Page, "Continuous inspection schemes", Biometrika
// 41, 1954). While the test does not tell the two sides apart, the estimate is that
// of both together. The zero value knows nothing.
//
// The other direction needs no second side: a silence far longer than the known rate
// explains replaces the history.
type History struct {
	Before Stretch // the candidate
	Since  Stretch
}

const (
	// Activity or silence of less than this many seconds may be an hour of day, and
	// does not replace the history.
	hoursOfDay = 24 * 3600.0

	// A candidate ends when the rate since is not so many times the one before.
	keptRatio = 2

	// So many changes may pass before a candidate is told apart, or as many as were
	// before it.
	undecided = 12

	// The estimate is the rate since the candidate when it is so many times the one
	// before, so many changes were since, and two rates are by so much likelier than
	// one, in nats.
	chosenRatio    = 4
	chosenChanges  = 4
	chosenEvidence = 8

	// A silence longer than so many mean intervals is not taken for chance.
	silence = 8

	// After a silence of so many times what it lasted, a burst is over.
	burstSilence = 2

	mostCounted = 32 // changes believed of one poll
	mostSeeded  = 8  // and of a first document
)

// Changed adds a change: polls showed none for quiet seconds since the change
// before, or since the first content, and the next one, gap seconds later, showed
// it. A gap that is not positive adds nothing.
func (h *History) Changed(quiet, gap float64) {
	if !(quiet >= 0) || !(gap > 0) {
		return
	}
	h.pass(quiet)
	h.fade(gap)
	h.Since.join(1, gap)
	h.decide()
}

// Counted adds changes whose moments are known from [Published]: those after one
// instant, which is the change before or the first content, and up to another.
func (h *History) Counted(from time.Time, moments []time.Time, until time.Time) {
	if len(moments) == 0 || !until.After(from) {
		return
	}
	each := (len(moments) + mostCounted - 1) / mostCounted
	for i := each - 1; i < len(moments); i += each {
		h.counted(moments[i].Sub(from).Seconds())
		from = moments[i]
	}
	h.pass(max(until.Sub(from).Seconds(), 0))
}

func (h *History) counted(seconds float64) {
	if !(seconds > 0) {
		return
	}
	h.pass(seconds)
	h.Since.join(1, 0)
	h.decide()
}

// Seed records when the entries of a first document, seen at a time, were
// published, and replaces what was known: those since the middle one. Older entries may
// be a selection, as on front pages. Seed does nothing where fewer than half have
// distinct times, as where a build stamps all, and counts as [mostSeeded] changes at most.
func (h *History) Seed(entries []time.Time, seen time.Time) {
	moments := Published(entries, time.Time{}, seen)
	if len(moments) < 3 || 2*len(moments) < len(entries) {
		return
	}
	moments = moments[len(moments)/2:]
	*h = History{}
	for i, at := range moments[1:] {
		h.counted(at.Sub(moments[i]).Seconds())
	}
	h.pass(seen.Sub(moments[len(moments)-1]).Seconds())
	if changes := h.Before.Changes + h.Since.Changes; changes > mostSeeded {
		h.Before.scale(mostSeeded / changes)
		h.Since.scale(mostSeeded / changes)
	}
}

// Interval returns the estimated mean time between two changes in seconds, from
// [ShortestInterval] to [LongestInterval], when so many seconds have passed since
// the latest change, or since the first content. It is the longest too until two
// changes are known, or one and nine times the gap in which it was seen without
// another: ten polls as far apart.
func (h History) Interval(quiet float64) float64 {
	interval := LongestInterval
	if rate, known := h.rate(quiet); known {
		interval = max(1/rate, h.asleep(quiet))
	}
	return min(interval, LongestInterval)
}

// rate returns the likeliest changes per second now, and whether enough is known to
// say so.
func (h History) rate(quiet float64) (rate float64, known bool) {
	before, since := h.Before, h.Since
	gap := since.Gap
	if since.Changes == 0 {
		gap = before.Gap
	}
	unseen := max(quiet, float64(gap)/2) // the latest poll is not known
	before.fade(unseen)
	since.pass(unseen)
	if h.awake(quiet) && chosen(before, since) {
		return since.rate(), true
	}
	all := before.with(since)
	return all.rate(), all.tells()
}

// asleep returns the silence in seconds that the rate known before does not
// explain, 0 when it may be chance or an hour of day.
func (h History) asleep(quiet float64) float64 {
	if quiet <= hoursOfDay {
		return 0
	}
	rate, _ := h.rate(0)
	return max(quiet-max(hoursOfDay, silence/rate), 0)
}

// awake says whether what began at the candidate may still go on after a silence.
func (h History) awake(quiet float64) bool {
	return quiet <= max(burstSilence*h.Since.lasted(), silence/h.Since.after(0).rate())
}

// chosen says whether a candidate is confirmed: the test tells what came since from
// what was before.
func chosen(before, since Stretch) bool {
	return since.Changes >= chosenChanges && since.rate() >= chosenRatio*before.rate() && apart(before, since)
}

// apart is the generalised likelihood ratio test of two stretches with a rate of
// their own against one rate for both.
func apart(before, since Stretch) bool {
	if before.Quiet == 0 {
		return false
	}
	one := before.with(since).likeliest()
	return before.logLikelihood(before.likeliest())+since.logLikelihood(since.likeliest())-
		before.logLikelihood(one)-since.logLikelihood(one) >= chosenEvidence
}

// decide joins the candidate with what was before when its rate is not higher, or when
// enough changes have passed without the test telling the two apart; a confirmed
// candidate that lasted a day, or that fills the memory, replaces what was before.
func (h *History) decide() {
	before, since := h.Before, h.Since.after(0)
	full := since.Changes > mostRemembered-1
	switch {
	case before == Stretch{} || since.rate() < keptRatio*before.rate():
		h.merge()
	case !apart(before, since):
		if since.Changes > max(undecided, before.Changes) {
			h.merge()
		}
	case since.lasted() >= hoursOfDay || full && chosen(before, since):
		h.replace()
	case full:
		h.merge()
	}
}

func (h *History) merge() {
	h.Before = h.Before.with(h.Since)
	h.Before.limit()
	h.Since = Stretch{}
}

func (h *History) replace() {
	h.Before, h.Since = h.Since, Stretch{}
}

// pass lets time go by in which nothing changes. A silence that the known rate does not
// explain replaces the history: what is left is two changes at the silence's own rate.
func (h *History) pass(quiet float64) {
	if asleep := h.asleep(quiet); asleep > 0 {
		if rate, known := h.rate(quiet); known && asleep*rate > 1 {
			*h = History{Since: Stretch{Changes: 2, Gap: h.Before.with(h.Since).Gap, Quiet: float32(2 * asleep)}}
			return
		}
	}
	if h.Since.Changes > 0 && !h.awake(quiet) {
		h.merge()
	}
	h.Before.fade(quiet)
	h.Since.pass(quiet)
}

func (h *History) fade(seconds float64) {
	h.Before.fade(seconds)
	h.Since.fade(seconds)
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
