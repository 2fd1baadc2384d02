package judge

import (
	"fmt"
	"time"
)

// The sentences of this file say of masks and holds what their policies are
// (rhythm.go, noise.go, region.go, judge.go), and no more than a state knows.

const (
	whyControl = "a link or a button that does nothing without a script"
	whyYoung   = "; what stands there for a few looks is told all the same"
)

// again returns how often, at least, a masked place has changed at two looks in a row:
// each time adds 2 to a score that begins with 1, and nothing else does.
func (r rhythm) again() int { return max(int(r.score)/2, 1) }

// calmAfter returns how long a masked place must be calm to count again, if looks come
// at least every half hour.
func (r rhythm) calmAfter(p policy) time.Duration {
	score := int(r.score) - (mostStill - int(r.still))
	return max(time.Duration(score), 1) * UsualGap
}

// young is what is true of a mask that hides only what passes.
func (r rhythm) young() string {
	if r.score >= matureFrom {
		return ""
	}
	return whyYoung
}

// atLeast says how many times something has happened, at least.
func atLeast(times int) string {
	if times == 1 {
		return ""
	}
	return fmt.Sprintf(", at least %d times", times)
}

func whyNumber(r rhythm) string {
	return "it changed at two looks in a row" + atLeast(r.again()) + r.young()
}

func whyField(r rhythm) string {
	return fmt.Sprintf("it changed in half of the entries or more at two changes of the document in a row%s; it counts again when the document has changed %s without that",
		atLeast(r.again()), timesText(int(r.score)))
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// whyRegion says why a region hides the lines that stand there.
func whyRegion(l *region, lines paged) string {
	known, odd := 0, 0
	for _, line := range lines {
		switch {
		case l.seen.has(line.said):
			known++
		case line.numbers && l.seen.has(line.shape), !line.label:
			odd++
		}
	}
	what := "all of it has stood here before"
	switch {
	case odd > 0:
		what = "half of its lines or more have stood here before, numbers aside"
	case known < len(lines):
		what = "its lines have stood here before, or are labels of three words at most"
	}
	return "what stands here changed at two looks in a row" + atLeast(l.again()) + "; " + what + l.young()
}

func whyWindow(chosen uint8) string {
	return "when entries came, others than the oldest left" + atLeast(int(chosen)) + "; so none that leaves counts as withdrawn"
}

// HoldText says of a [Decision]'s reason what waits, and what it waits for: a phrase for
// people. A word that it does not know, of a newer version, comes back as it is.
func HoldText(reason string) string {
	if text, known := holdTexts[reason]; known {
		return text
	}
	return reason
}

const holdGone = "; told when most of what is missing is missing at a later look too"

var holdTexts = map[string]string{
	reasonEmpty:    "the document came without content" + holdGone,
	reasonKind:     "the document came as one of another kind" + holdGone,
	reasonOther:    "the document shares neither its title nor a line with the current one" + holdGone,
	reasonRemoval:  "content is missing" + holdGone,
	reasonReturned: "an earlier content is back; told when enough looks in a row show it",
	reasonSettling: "something that had changed at looks in a row differs; told when enough looks in a row show the same",
}
