package engine

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// words are what an origin says of how often it wants to be asked, as it says
// them. The zero value is nothing.
type words struct {
	fresh  time.Duration // freshness lifetime of the last answer (RFC 9111, section 4.2.1)
	source fetcher.Source
	aged   uint8        // part of fresh that is over when answers come, in 256ths, smoothed; not recorded
	hints  deltas.Hints // of the last document
}

// longestWait caps each of an origin's wishes: a channel is asked once a day.
const longestWait = 24 * time.Hour

// ask returns how long a document wants to be left alone after each answer.
func (w *words) ask() time.Duration {
	return min(max(w.hints.TTL, w.hints.UpdatePeriod), longestWait)
}

// least is the time between two polls that the words come to: what a rate can be
// planned with. Of max-age that is what is left of it when answers come: what comes
// from a cache on the way may be asked for again when the rest is over (RFC 9111,
// section 4.2). Expires is a date, which may be another distance each time.
func (w *words) least() time.Duration {
	if w.source == fetcher.SourceMaxAge {
		return max(w.ask(), min(w.left(), longestWait))
	}
	return w.ask()
}

// left returns what is left of freshness when answers come, as a rule.
func (w *words) left() time.Duration { return w.fresh - w.fresh/agedWhole*time.Duration(w.aged) }

const agedWhole = 256

// age returns aged with one more answer, of which so much freshness remains. The first
// one that comes aged, or with another max-age, counts in full; from then on ages are smoothed, since
// those of answers from a cache are others each time.
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

// most is the highest rate that an origin's words allow: n polls an interval or,
// negative, one in −n intervals; 0 where they leave it to the floor. More than 127
// polls count as that.
type most int8

// mostOf reads what [overlay.RateOf] makes of the words.
func mostOf(rate overlay.Rate) most {
	switch {
	case rate.Intervals > 1:
		return -most(min(rate.Intervals, overlay.MostIntervals))
	case rate.Polls > math.MaxInt8:
		return 0
	}
	return most(rate.Polls)
}

// hold returns until when an answer of this moment says that it is fresh. Of an
// answer that came from a cache the rest of its freshness counts, and a second more,
// since the age was found with dates of whole seconds.
func (w *words) hold(now int64, remaining time.Duration) int64 {
	if remaining > 0 {
		remaining = min(remaining+time.Second, w.fresh, longestWait)
	}
	return now + int64(max(remaining, w.ask()))
}

// near reports words that serve a restart as well as others.
func (w *words) near(other words) bool {
	difference := (w.fresh - other.fresh).Abs()
	return w.source == other.source && w.hints == other.hints && difference <= other.fresh/8
}

// bounds returns the words as people see them, durations written by text.
func (w *words) bounds(text func(time.Duration) string) (bounds []Bound) {
	add := func(source string, wish time.Duration) {
		if wish > 0 {
			bounds = append(bounds, Bound{Source: source, Interval: min(wish, longestWait), Clamped: wish > longestWait, Said: text(wish)})
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
	if hours := w.hints.SkipHours & allHours; hours != 0 {
		bounds = append(bounds, newMask(hours, 0).bound("skip-hours", mask{hours: hours}))
	}
	if days := w.hints.SkipDays & allDays; days != 0 {
		bounds = append(bounds, newMask(0, days).bound("skip-days", mask{days: days}))
	}
	return bounds
}

// detail names those of the words that are a cause of waiting, as they were said.
func (w *words) detail(why cause) string {
	var all []string
	for _, b := range w.bounds(timespan.Text) {
		if strings.HasPrefix(b.Source, "skip-") == (why == bySkip) {
			all = append(all, b.Source+" "+b.Said)
		}
	}
	return strings.Join(all, "; ")
}

// bound shows what is heeded of a mask that was said.
func (m mask) bound(source string, said mask) Bound {
	longest := m.longest()
	return Bound{Source: source, Interval: min(longest, longestWait), Clamped: longest > longestWait || m != said, Said: said.String()}
}

// hear takes in what an answer of now said.
func (t *target) hear(said words, remaining time.Duration, now int64) {
	if said == (words{}) {
		t.words, t.hold = nil, 0
		return
	}
	if said.source == fetcher.SourceMaxAge {
		said.aged = said.age(remaining, t.words)
	}
	if t.words == nil || *t.words != said {
		kept := said // said itself stays off the heap, as most of them
		t.words = &kept
	}
	t.hold = said.hold(now, remaining)
}

// recall takes in what the origin said before the start, and reports whether it is
// too soon to ask now.
func (t *target) recall(said words, now int64) (wait bool) {
	if said == (words{}) || t.lastPoll == 0 {
		return false
	}
	t.hear(said, said.fresh, t.lastPoll)
	return t.hold > now || said.mask().excludes(now)
}

// mask returns the hours and weekdays that the words exclude.
func (w *words) mask() mask { return newMask(w.hints.SkipHours, w.hints.SkipDays) }

// mask is a set of hours and weekdays, UTC, at which nobody is to come. Either of
// them leaves something.
type mask struct {
	hours uint32 // bit h: from h to h+1
	days  uint8  // bit d: as time.Weekday counts them
}

const (
	allHours = 1<<24 - 1
	allDays  = 1<<7 - 1
)

// newMask ignores a part that leaves nothing: it cannot be meant.
func newMask(hours uint32, days uint8) (m mask) {
	if hours &= allHours; hours != allHours {
		m.hours = hours
	}
	if days &= allDays; days != allDays {
		m.days = days
	}
	return m
}

func (m mask) isZero() bool { return m == mask{} }

// excludes reports a time at which nobody is to come.
func (m mask) excludes(at int64) bool {
	t := time.Unix(0, at).UTC()
	return m.hours>>t.Hour()&1 == 1 || m.days>>t.Weekday()&1 == 1
}

// next returns the first time, from one on, that is not excluded.
func (m mask) next(at int64) int64 {
	for m.excludes(at) {
		at += int64(time.Hour) - at%int64(time.Hour)
	}
	return at
}

// longest returns the longest time that is excluded without a break.
func (m mask) longest() time.Duration {
	const week = 7 * 24
	longest, run := 0, 0
	for hour := range 2 * week {
		if !m.excludes(int64(hour) * int64(time.Hour)) {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return time.Duration(longest) * time.Hour
}

// String lists what is excluded: "0, 1, Saturday".
func (m mask) String() string {
	var all []string
	for h := range 24 {
		if m.hours>>h&1 == 1 {
			all = append(all, strconv.Itoa(h))
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if m.days>>d&1 == 1 {
			all = append(all, d.String())
		}
	}
	return strings.Join(all, ", ")
}
