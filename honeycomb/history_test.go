package honeycomb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// told is what a history remembers on both sides, but for what faded in some hours.
func told(h History) (changes, seconds float64) {
	return float64(h.Before.Changes + h.Since.Changes), float64(h.Before.Quiet + h.Since.Quiet)
}

func about(got, want float64) bool { return math.Abs(got-want) <= 0.03*want }

// A first document tells of its newer half, as eight changes at most, where half of its
// entries have moments of their own, and replaces what was known.
func TestSeedTells(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entries := func(hours ...int) (all []time.Time) {
		for _, h := range hours {
			all = append(all, now.Add(-time.Duration(h)*time.Hour))
		}
		return all
	}
	var many []int
	for h := range 40 {
		many = append(many, h+1)
	}
	for _, tc := range []struct {
		name             string
		entries          []time.Time
		changes, seconds float64
	}{
		{"none", entries(), 0, 0},
		{"two", entries(1, 2), 0, 0},
		{"three", entries(1, 2, 4), 1, 2 * 3600}, // from the middle one to now
		{"four", entries(1, 2, 4, 9), 1, 2 * 3600},
		{"ten", entries(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 4, 5 * 3600},
		{"forty", entries(many...), 8, 20 * 3600 * 8 / 19.0},
		{"half have moments of their own", entries(1, 1, 2, 2, 4, 4), 1, 2 * 3600},
		{"fewer have", entries(1, 1, 2, 2, 4, 4, 4), 0, 0},
	} {
		var fresh History
		fresh.Seed(tc.entries, now)
		if changes, seconds := told(fresh); !about(changes, tc.changes) || !about(seconds, tc.seconds) || changes > mostSeeded {
			t.Errorf("%s: %v changes in %v s, want %v in %v", tc.name, changes, seconds, tc.changes, tc.seconds)
		}
		known := History{Before: Stretch{Changes: 70, Gap: 9, Quiet: 1e5}, Since: Stretch{Changes: 3, Quiet: 4}}
		before := known
		if known.Seed(tc.entries, now); tc.changes > 0 && known != fresh || tc.changes == 0 && known != before {
			t.Errorf("%s: %+v was known, now %+v, want %+v", tc.name, before, known, fresh)
		}
	}
}

// Counted changes are believed up to 32 of one poll, those beyond by every second, every
// third and so on, with the time from one instant to the other.
func TestCountedTells(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for moments, changes := range map[int]float64{0: 0, 1: 1, 31: 31, 32: 32, 33: 16, 64: 32, 65: 21, 96: 32} {
		var each []time.Time
		for i := range moments {
			each = append(each, from.Add(time.Duration(i+1)*5*time.Minute))
		}
		until := from.Add(10 * time.Hour)
		seconds := 36_000.0
		if moments == 0 {
			seconds = 0
		}
		var h History
		h.Counted(from, each, until)
		if gotChanges, gotSeconds := told(h); !about(gotChanges, changes) || !about(gotSeconds, seconds) {
			t.Errorf("%d moments: %v changes in %v s, want %v in %v", moments, gotChanges, gotSeconds, changes, seconds)
		}
	}
	var h History
	if h.Counted(from, []time.Time{from}, from); h != (History{}) {
		t.Errorf("no time: %+v", h)
	}
	if h.Counted(from, []time.Time{from}, from.Add(time.Hour)); h.Before.Changes+h.Since.Changes != 0 {
		t.Errorf("a change at the instant before: %+v", h)
	}
}

// A change seen without a gap, or after less than no time, adds nothing.
func TestChangedTells(t *testing.T) {
	var h History
	h.Changed(60, 0)
	h.Changed(-1, 60)
	h.Changed(math.NaN(), 60)
	if h != (History{}) {
		t.Errorf("%+v", h)
	}
	h.Changed(0, 60)
	if changes, seconds := told(h); !about(changes, 1) || seconds != 0 {
		t.Errorf("%v changes in %v s", changes, seconds)
	}
}

// The gap of a pull has it, whatever the guess.
func TestGapOf(t *testing.T) {
	for _, rate := range []float64{1 / LongestInterval, 1e-4, 1 / ShortestInterval} {
		for _, y := range []float64{1e-3, 0.1, 1, 4, 30, 200} { // changes that a gap would show
			for _, part := range []float64{0.2, 0.9, 1, 1.1, 4} {
				gap := y / rate
				if got := gapOf(rate, pull(rate, gap), part*gap); math.Abs(got/gap-1) > 1e-4 {
					t.Errorf("rate %v: a gap of %v from %v, want %v", rate, got, part*gap, gap)
				}
			}
		}
	}
	if got := gapOf(1, 0, 7); got != 7 {
		t.Errorf("no pull at all: %v, want the guess", got)
	}
	if got := pull(0.25, 0); got != 4 {
		t.Errorf("a counted change pulls %v, want 4", got)
	}
	if small, none := pull(0.25, 1e-6), pull(0.25, 0); math.Abs(small-none) > 1e-5 {
		t.Errorf("the shortest gap pulls %v, none %v", small, none)
	}
}

// The likeliest rate is that with the greatest likelihood.
func TestLogLikelihood(t *testing.T) {
	for _, s := range []Stretch{{Changes: 5, Gap: 300, Quiet: 9000}, {Changes: 5, Quiet: 9000}, {Changes: 1, Gap: 9000, Quiet: 60}, {Changes: 100, Gap: 60, Quiet: 700}} {
		best := s.likeliest()
		at := s.logLikelihood(best)
		for _, part := range []float64{0.5, 0.97, 1.03, 2} {
			if got := s.logLikelihood(best * part); got >= at {
				t.Errorf("%+v: %v at %v, %v at %v", s, at, best, got, best*part)
			}
		}
	}
	if got := (Stretch{Changes: 2, Gap: 10, Quiet: 30}).logLikelihood(0.1); math.Abs(got-(2*math.Log(1-math.Exp(-1))-3)) > 1e-12 {
		t.Errorf("seen: %v", got)
	}
	if got := (Stretch{Changes: 2, Quiet: 30}).logLikelihood(0.1); math.Abs(got-(2*math.Log(0.1)-3)) > 1e-12 {
		t.Errorf("counted: %v", got)
	}
	if got := (Stretch{Gap: 10, Quiet: 30}).logLikelihood(0.1); math.Abs(got+3) > 1e-12 {
		t.Errorf("none: %v", got)
	}
}

// One change tells a rate after nine quiet gaps, two tell it at once.
func TestStretchTells(t *testing.T) {
	for _, tc := range []struct {
		s    Stretch
		want bool
	}{
		{Stretch{}, false}, {Stretch{Changes: 1, Gap: 10, Quiet: 89}, false}, {Stretch{Changes: 1, Gap: 10, Quiet: 90}, true},
		{Stretch{Changes: 1, Quiet: 1e6}, false}, {Stretch{Changes: 1.01, Quiet: 1}, true},
	} {
		if got := tc.s.tells(); got != tc.want {
			t.Errorf("%+v tells: %v", tc.s, got)
		}
	}
}

// However many changes there were, and however they came together, no more are
// remembered than 128: what is new counts.
func TestHistoryRemembersSoMany(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 31))
		var h History
		for range 2_000 {
			gap := math.Exp(6 * r.Float64())
			h.Changed(gap*float64(r.IntN(3)), gap)
			if h.Before.Changes > mostRemembered || h.Since.Changes > mostRemembered {
				t.Fatalf("seed %d: %v changes before, %v since", seed, h.Before.Changes, h.Since.Changes)
			}
		}
	}
}
