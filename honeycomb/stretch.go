package honeycomb

import "math"

// A Stretch is what polls have told of a stretch of time. Times are in seconds,
// and what is told halves in [HalfLife].
//
// A poll tells only whether a channel changed since the poll before, not how
// often, so changes over time under-estimates. The estimate is the most likely
// rate of a Poisson process seen so, with half an unchanged poll added, which
// for regular polls is the bias-corrected estimator −log((n−x+½)/(n+½)) of Cho
// and Garcia-Molina, "Estimating frequency of change", ACM Transactions on
// Internet Technology 3(3), 2003. Unchanged polls count only by their total time, so
// only changes need to be recorded. Where entries say when they were published, changes
// are counted instead.
type Stretch struct {
	Changes float32 // seen, or counted
	Gap     float32 // seconds between regular polls that would tell as much of the changes as theirs did; 0: all were counted
	Quiet   float32 // seconds in which nothing changed, or in which changes were counted
}

const (
	// HalfLife is the time in seconds after which a change, and a second without
	// one, counts half: weeks differ, hours of day must not.
	HalfLife = 14 * 24 * 3600.0

	// More changes than these are not remembered either, so that a change of the rate
	// shows soon.
	mostRemembered = 128

	enoughPolls = 10 // with one change; two need none

	// Newton's steps, and their bounds in changes per gap: e to the power mostOfGap is a
	// finite float64, e to the power leastOfGap differs from 1.
	newtonSteps = 12
	mostOfGap   = 700
	leastOfGap  = 1e-9
)

// Faded returns what is left of one after so many seconds.
func Faded(seconds float64) float64 { return math.Exp2(-seconds / HalfLife) }

// FadedSpan returns what is left of the last so many seconds, at most about twenty
// days.
func FadedSpan(seconds float64) float64 {
	return -HalfLife / math.Ln2 * math.Expm1(-seconds*math.Ln2/HalfLife)
}

// tells says whether enough is known for an estimate.
func (s Stretch) tells() bool {
	return s.Changes > 1 || s.Gap > 0 && s.Quiet >= (enoughPolls-1)*s.Gap
}

// lasted returns the seconds that are known of: the quiet ones, and the gaps that
// ended in a change.
func (s Stretch) lasted() float64 { return float64(s.Quiet) + float64(s.Changes)*float64(s.Gap) }

// after returns the stretch with so many quiet seconds more: half a gap at least,
// since the latest poll is not known.
func (s Stretch) after(quiet float64) Stretch {
	s.pass(max(quiet, float64(s.Gap)/2))
	return s
}

// pass lets time go by in which nothing changes.
func (s *Stretch) pass(seconds float64) {
	s.fade(seconds)
	s.Quiet += float32(FadedSpan(seconds))
}

func (s *Stretch) fade(seconds float64) {
	left := float32(Faded(seconds))
	s.Changes *= left
	s.Quiet *= left
}

// scale makes everything that was told count so much.
func (s *Stretch) scale(by float32) {
	s.Changes *= by
	s.Quiet *= by
}

// rate returns the likeliest changes per second, within the clamps of the
// interval.
func (s Stretch) rate() float64 {
	return min(max(s.likeliest(), 1/LongestInterval), 1/ShortestInterval)
}

// likeliest returns the rate where Changes·Gap/(e^(rate·Gap) − 1) = Quiet.
func (s Stretch) likeliest() float64 {
	changes, gap, quiet := float64(s.Changes), float64(s.Gap), float64(s.Quiet)
	if gap > 0 {
		return math.Log1p(changes*gap/quiet) / gap
	}
	return changes / quiet
}

// logLikelihood returns the logarithm of how likely a rate makes what was told, but
// for a constant.
func (s Stretch) logLikelihood(rate float64) float64 {
	changes, gap, quiet := float64(s.Changes), float64(s.Gap), float64(s.Quiet)
	switch {
	case changes == 0:
		return -rate * quiet
	case gap > 0:
		return changes*math.Log(-math.Expm1(-rate*gap)) - rate*quiet
	}
	return changes*math.Log(rate) - rate*quiet
}

// with returns two stretches as one.
func (s Stretch) with(other Stretch) Stretch {
	if other.Changes > 0 {
		s.join(float64(other.Changes), float64(other.Gap))
	}
	s.Quiet += other.Quiet
	return s
}

// join adds changes that were seen in a gap. The common gap becomes the one that
// preserves the sum of the changes' pulls at the rate estimated before, so that a change
// seen after an outage, which says little, does not weaken the others.
func (s *Stretch) join(changes, gap float64) {
	before, at := float64(s.Changes), float64(s.Gap)
	rate := Stretch{s.Changes, s.Gap, s.Quiet + s.Gap/2}.rate()
	s.Changes += float32(changes)
	if before == 0 {
		s.Gap = float32(gap)
		return
	}
	if at == gap {
		return
	}
	pulls := (before*pull(rate, at) + changes*pull(rate, gap)) / (before + changes)
	s.Gap = float32(gapOf(rate, pulls, (before*at+changes*gap)/(before+changes)))
}

// gapOf returns the gap in which a change pulls so much at a rate, by Newton's
// method from a guess: the logarithm of the pull is concave in the gap, and nearly a
// line, so that two or three steps do.
func gapOf(rate, pulls, guess float64) float64 {
	want := math.Log(pulls * rate) // of y/(e^y − 1), y = rate·gap
	if math.IsInf(want, -1) {
		return guess
	}
	at := min(rate*guess, mostOfGap)
	for range newtonSteps {
		grown := math.Expm1(at)
		next := max(at-(math.Log(at/grown)-want)/(1/at-1-1/grown), leastOfGap)
		if math.Abs(next-at) <= 1e-5*at {
			return next / rate
		}
		at = next
	}
	return at / rate
}

// limit keeps the stretch from remembering more than [mostRemembered] changes.
func (s *Stretch) limit() {
	if s.Changes > mostRemembered {
		s.scale(mostRemembered / s.Changes)
	}
}

// pull is by how many quiet seconds a change that was seen in a gap outweighs a
// rate: the derivative of log(1 − e^(−rate·gap)). It falls with both.
func pull(rate, gap float64) float64 {
	if gap == 0 {
		return 1 / rate
	}
	return gap / math.Expm1(rate*gap)
}
