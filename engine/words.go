package engine

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// words are what an origin says of how often it wants to be asked, as it says
// them. The zero value is nothing.
type words struct {
	fresh  time.Duration // freshness lifetime of the last answer (RFC 9111, section 4.2.1)
	source fetcher.Source
	aged   uint8        // part of fresh that is over when answers come, in 256ths, smoothed
	hints  deltas.Hints // of the last document
}

// documentWait returns how long a document wants to be left alone after each answer.
func (w *words) documentWait() time.Duration {
	return min(max(w.hints.TTL, w.hints.UpdatePeriod), pace.LongestWait)
}

// minInterval is the time between two polls that the words ask for, which rates are
// planned with. Of max-age it is what is left when answers come: content from a cache
// on the way may be asked for again when the rest is over (RFC 9111, section 4.2).
// Expires does not count: as a date, it may be at another distance each time.
func (w *words) minInterval() time.Duration {
	if w.source == fetcher.SourceMaxAge {
		return max(w.documentWait(), min(w.left(), pace.LongestWait))
	}
	return w.documentWait()
}

// left returns how much freshness is left, on average, when answers come.
func (w *words) left() time.Duration { return w.fresh - w.fresh/agedWhole*time.Duration(w.aged) }

const agedWhole = 256

// age returns aged after one more answer, of which so much freshness remains. The first
// one that comes aged, or with another max-age, counts in full; later ones are smoothed
// (an exponential average), since ages of cached answers vary.
func (w *words) age(remaining time.Duration, last *words) uint8 {
	if w.fresh <= 0 {
		return 0
	}
	over := float64(w.fresh-remaining) / float64(w.fresh) * agedWhole
	if over < 1 {
		over = 0 // it came from the origin itself, which took a moment
	}
	over = min(math.Ceil(over), agedWhole-1)
	if last == nil || last.aged == 0 || last.fresh != w.fresh {
		return uint8(over)
	}
	const weight = 8
	return uint8(float64(last.aged) + (over-float64(last.aged))/weight)
}

// rateStep is the highest rate that an origin's words allow: n polls an interval or,
// negative, one in −n intervals; 0 where they leave it to the floor. More than 127
// polls count as that.
type rateStep int8

// rateStepOf reads what [overlay.RateOf] makes of the words.
func rateStepOf(rate overlay.Rate) rateStep {
	switch {
	case rate.Intervals > 1:
		return -rateStep(min(rate.Intervals, overlay.MostIntervals))
	case rate.Polls > math.MaxInt8:
		return 0
	}
	return rateStep(rate.Polls)
}

// freshUntil returns until when an answer of this moment says that it is fresh. Of an
// answer that came from a cache the rest of its freshness counts, and a second more,
// since the age was found with dates of whole seconds.
func (w *words) freshUntil(now int64, remaining time.Duration) int64 {
	if remaining > 0 {
		remaining = min(remaining+time.Second, w.fresh, pace.LongestWait)
	}
	return now + int64(max(remaining, w.documentWait()))
}

// quarter returns the age in quarters, rounded: half of the lifetime, about which the ages of
// cached answers lie, is not where it changes.
func (w *words) quarter() int {
	const quarter = agedWhole / 4
	return (int(w.aged) + quarter/2) / quarter
}

// near reports words so like those of the answer before that recording them would not
// matter after a restart. The age creeps, so that it counts by quarters.
func (w *words) near(last words) bool {
	difference := (w.fresh - last.fresh).Abs()
	return w.source == last.source && w.hints == last.hints && difference <= last.fresh/8 && w.quarter() == last.quarter()
}

// bounds returns the words as people see them, durations written by text.
func (w *words) bounds(text func(time.Duration) string) (bounds []Bound) {
	add := func(source string, wish time.Duration) {
		if wish > 0 {
			bounds = append(bounds, Bound{Source: source, Interval: min(wish, pace.LongestWait), Clamped: wish > pace.LongestWait, Said: text(wish)})
		}
	}
	switch w.source {
	case fetcher.SourceMaxAge:
		add("max-age", w.fresh)
	case fetcher.SourceExpires:
		add("expires", w.fresh)
	}
	add("ttl", w.hints.TTL)
	add("update-period", w.hints.UpdatePeriod)
	if hours := hoursText(w.hints.SkipHours); hours != "" {
		bounds = append(bounds, skipBound("skip-hours", pace.NewSkip(w.hints.SkipHours, 0), hours))
	}
	if days := daysText(w.hints.SkipDays); days != "" {
		bounds = append(bounds, skipBound("skip-days", pace.NewSkip(0, w.hints.SkipDays), days))
	}
	return bounds
}

// detail names those of the words that are a cause of waiting, as they were said.
func (w *words) detail(why pace.Cause) string {
	var all []string
	for _, b := range w.bounds(timespan.Text) {
		if strings.HasPrefix(b.Source, "skip-") == (why == pace.BySkip) {
			all = append(all, b.Source+" "+b.Said)
		}
	}
	return strings.Join(all, "; ")
}

// Bound is one of an origin's words on how often it wants to be asked.
type Bound struct {
	Source   string        // max-age, expires, ttl, update-period, skip-hours or skip-days
	Interval time.Duration // shortest time between two polls that it asks for; of skip-…, the longest time without one
	Clamped  bool          // it asks for more, which is not heeded
	Said     string        // what it says: a duration, hours or weekdays
}

// skipBound shows what is obeyed of hours or weekdays that were said.
func skipBound(source string, obeyed pace.Skip, said string) Bound {
	longest := obeyed.Longest()
	return Bound{
		Source: source, Interval: min(longest, pace.LongestWait),
		Clamped: longest > pace.LongestWait || obeyed == (pace.Skip{}), Said: said,
	}
}

// hoursText lists hours: "0, 1".
func hoursText(hours uint32) string {
	var all []string
	for h := range 24 {
		if hours>>h&1 == 1 {
			all = append(all, strconv.Itoa(h))
		}
	}
	return strings.Join(all, ", ")
}

// daysText lists weekdays: "Sunday, Saturday".
func daysText(days uint8) string {
	var all []string
	for d := time.Sunday; d <= time.Saturday; d++ {
		if days>>d&1 == 1 {
			all = append(all, d.String())
		}
	}
	return strings.Join(all, ", ")
}
