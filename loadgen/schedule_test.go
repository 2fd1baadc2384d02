package loadgen

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIntervals(t *testing.T) {
	const channels = 100_000
	schedule := Schedule{Seed: 7}
	var frequent, middle, weekly int
	for channel := range channels {
		switch interval := schedule.Interval(channel); {
		case interval >= 10*time.Minute && interval <= time.Hour:
			frequent++
		case interval > time.Hour && interval <= 5*24*time.Hour:
			middle++
		case interval == 7*24*time.Hour:
			weekly++
		default:
			t.Fatalf("channel %d: interval %s is in no class", channel, interval)
		}
	}
	for _, share := range []struct {
		name string
		have int
		want float64
	}{{"within an hour", frequent, 0.1}, {"1 h to 5 d", middle, 0.4}, {"weekly", weekly, 0.5}} {
		if got := float64(share.have) / channels; math.Abs(got-share.want) > 0.01 {
			t.Errorf("%s: %.3f of the channels, want %.1f", share.name, got, share.want)
		}
	}
}

// ChangedAt and Revision must agree to the nanosecond, or the truth would name
// changes that no poll could see.
func TestChangedAtIsRevisionsInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schedule := Schedule{rapid.Uint64().Draw(t, "seed")}
		channel := rapid.IntRange(0, MaxChannels-1).Draw(t, "channel")
		revision := rapid.Int64Range(2, 5000).Draw(t, "revision")
		at := schedule.ChangedAt(channel, revision)
		if at <= 0 {
			t.Fatalf("revision %d changed at %s, not after the start", revision, at)
		}
		if got := schedule.Revision(channel, at); got < revision {
			t.Fatalf("at its own instant revision %d is still %d", revision, got)
		}
		if got := schedule.Revision(channel, at-1); got >= revision {
			t.Fatalf("a nanosecond before its instant revision %d is already %d", revision, got)
		}
		if before := schedule.ChangedAt(channel, revision-1); before > at {
			t.Fatalf("revision %d changed at %s, the one before at %s", revision, at, before)
		}
	})
}

func TestStartShowsRevision1(t *testing.T) {
	for channel := range 1000 {
		schedule := Schedule{Seed: 3}
		if got := schedule.Revision(channel, 0); got != 1 {
			t.Fatalf("channel %d starts with revision %d", channel, got)
		}
		if at := schedule.ChangedAt(channel, 1); at > 0 {
			t.Fatalf("channel %d: revision 1 changed %s after the start", channel, at)
		}
	}
}

// Gaps are close to exponential: their mean is the interval, and the 90th
// percentile lies about 3.3 medians out.
func TestGaps(t *testing.T) {
	schedule := Schedule{Seed: 1}
	const changes = 20_000
	channel := 5
	gaps := make([]float64, changes)
	for i := range gaps {
		revision := int64(i) + 2
		gaps[i] = float64(schedule.ChangedAt(channel, revision+1) - schedule.ChangedAt(channel, revision))
	}
	sum := 0.0
	for _, gap := range gaps {
		sum += gap
	}
	interval := float64(schedule.Interval(channel))
	if mean := sum / changes / interval; math.Abs(mean-1) > 0.01 {
		t.Errorf("mean gap is %.3f intervals, want 1", mean)
	}
	slices.Sort(gaps)
	if spread := gaps[changes*9/10] / gaps[changes/2]; spread < 3 || spread > 3.6 {
		t.Errorf("the 90th percentile of gaps is %.2f medians, want about 3.3", spread)
	}
}

func TestClockWhenIsAtsInverse(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		c := clock{start: start, speedup: rapid.Float64Range(minSpeedup, maxSpeedup).Draw(t, "speedup")}
		at := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "at"))
		when := c.when(at)
		if got := c.at(when); got < at {
			t.Fatalf("at %s the schedule's time is %s, before %s", when, got, at)
		}
		if got := c.at(when.Add(-1)); got >= at {
			t.Fatalf("a nanosecond before, the schedule's time is already %s, want before %s", got, at)
		}
	})
}

func TestClockEnds(t *testing.T) {
	c := clock{start: time.Unix(0, 0), speedup: maxSpeedup}
	at := c.at(time.Unix(1e9, 0))
	if at != scheduleEnd {
		t.Fatalf("after 32 years a million times as fast: %s, want the end", at)
	}
	if revision := (Schedule{Seed: 1}).Revision(0, at); revision < 1 {
		t.Errorf("revision %d at the end of time", revision)
	}
}
