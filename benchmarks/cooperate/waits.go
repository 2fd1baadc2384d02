//go:build linux

package main

import (
	"slices"
	"time"
)

// timeline is when each channel was polled, in order, whichever node did.
type timeline [][]time.Duration

func newTimeline(channels int, polls []poll) timeline {
	t := make(timeline, channels)
	for _, p := range polls {
		t[p.channel] = append(t[p.channel], p.at)
	}
	for _, one := range t {
		slices.Sort(one)
	}
	return t
}

// wait is how long a change of a channel would have waited for the next poll, on average
// over all instants of a span. ok is false where no poll follows the span.
func (t timeline) wait(channel int, from, to time.Duration) (mean time.Duration, ok bool) {
	polls := t[channel]
	i, _ := slices.BinarySearch(polls, from)
	var area float64 // seconds squared
	for at := from; at < to; i++ {
		if i == len(polls) {
			return 0, false
		}
		end := min(polls[i], to)
		// Waits fall from polls[i]−at to polls[i]−end.
		area += (end - at).Seconds() * ((polls[i] - at).Seconds() + (polls[i] - end).Seconds()) / 2
		at = end
	}
	return time.Duration(area / (to - from).Seconds() * float64(time.Second)), true
}

// waits is the mean of wait over channels, weighted by subscribers; left is the part of the
// subscribers whose channel no poll of follows the span.
func (t timeline) waits(places []place, from, to time.Duration) (mean time.Duration, left float64) {
	sum, weight, all := 0.0, 0.0, 0.0
	for n, p := range places {
		all += float64(p.subscribers)
		if wait, ok := t.wait(n, from, to); ok {
			sum += float64(p.subscribers) * float64(wait)
			weight += float64(p.subscribers)
		}
	}
	return time.Duration(sum / max(weight, 1)), 1 - weight/max(all, 1)
}

// span is a part of a run.
type span struct{ from, to time.Duration }

func (s span) has(at time.Duration) bool { return s.from <= at && at < s.to }

func (s span) length() time.Duration { return s.to - s.from }
