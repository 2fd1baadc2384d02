package primary

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// evidence is what the plan keeps in memory of how often a channel changes, and of
// how soon its document overflows: 36 bytes.
type evidence struct {
	history honeycomb.History // until the latest change
	turned  float32           // see learned
	changed uint32            // when it was, or the first content; seconds since 1970
	since   uint32            // when the first content was
}

// evidenceOf reads what a channel's range has replicated of it.
func evidenceOf(ch channel.Channel) evidence {
	l, ok := readLearned(ch.Learned)
	if !ok {
		return evidence{}
	}
	return evidence{l.history, l.turned, seconds(changedAt(ch)), seconds(ch.FirstContent)}
}

// UpdateInterval returns the estimated mean time between two changes of a channel.
func UpdateInterval(ch channel.Channel, now time.Time) time.Duration {
	return time.Duration(evidenceOf(ch).interval(now) * float64(time.Second))
}

// interval returns the estimated mean time between two changes in seconds, from
// [honeycomb.ShortestInterval] to [honeycomb.LongestInterval].
func (e evidence) interval(now time.Time) float64 {
	return e.history.Interval(secondsSince(e.changed, now))
}

// least returns the polls per interval below which entries may come and go unseen
// between two polls, 0 where none do: at it, half of what the document shows is
// replaced between two polls on average.
func (e evidence) least(now time.Time, interval time.Duration) float64 {
	if e.turned == 0 {
		return 0
	}
	known := max(secondsSince(e.since, now), interval.Seconds())
	turned := float64(e.turned) * honeycomb.Faded(secondsSince(e.changed, now))
	return 2 * turned * interval.Seconds() / honeycomb.FadedSpan(known)
}

func seconds(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), math.MaxUint32)) }

// secondsSince returns the seconds since an instant, 0 before it.
func secondsSince(instant uint32, now time.Time) float64 {
	return max(now.Sub(time.Unix(int64(instant), 0)).Seconds(), 0)
}
