package honeycomb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

const (
	minute = 60.0
	hour   = 3600.0
	day    = 24 * hour
)

// watch lets a history see polls of a channel that changes by a Poisson process,
// at gaps that are drawn anew each time.
func watch(r *rand.Rand, h *History, interval float64, polls int, gap func() float64, counted bool) (changed int) {
	for range polls {
		seconds := gap()
		n := poisson(r, seconds/interval)
		if n > 0 {
			changed++
		}
		if counted {
			h.ObserveCounted(seconds, n)
		} else {
			h.Observe(seconds, n > 0)
		}
	}
	return changed
}

func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
		n++
	}
	return n
}

// The stated error: over 400 histories each of 200 irregular polls, 5 minutes to
// 2 hours apart (five days), the mean estimated rate is within 6 % of the truth
// where changes come no faster than two in the shortest gap and are five or more
// in all, and half of all single estimates are within 30 %; with two changes in
// all within 12 %. Changes seen over time, the naive rate, is off by up to four
// fifths.
func TestIntervalError(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	gap := func() float64 { return 5 * minute * math.Exp(r.Float64()*math.Log(24)) }
	for _, tc := range []struct{ interval, bias, near float64 }{
		{10 * minute, 0.06, 0.9}, {30 * minute, 0.06, 0.9}, {2 * hour, 0.06, 0.9}, {8 * hour, 0.06, 0.6},
		{day, 0.06, 0.5}, {3 * day, 0.12, 0.15},
	} {
		var rates, naive, near float64
		const histories = 400
		for range histories {
			var h History
			changed := watch(r, &h, tc.interval, 200, gap, false)
			estimate := h.Interval()
			rates += tc.interval / estimate / histories
			naive += float64(changed) * tc.interval / (200 * 36.2 * minute) / histories
			if math.Abs(estimate/tc.interval-1) < 0.3 {
				near += 1.0 / histories
			}
		}
		t.Logf("interval %6.0f s: mean rate %.3f of the truth, naive %.3f, %.0f %% of estimates within 30 %%",
			tc.interval, rates, naive, 100*near)
		if math.Abs(rates-1) > tc.bias || near < tc.near {
			t.Errorf("interval %v s: mean rate %.3f of the truth, %.2f within 30 %%", tc.interval, rates, near)
		}
	}
}

// For regular polls the estimate is the published closed form.
func TestIntervalOfRegularPolls(t *testing.T) {
	for _, tc := range []struct{ polls, changed int }{{20, 1}, {20, 10}, {20, 19}, {100, 100}, {50, 0}} {
		var h History
		for i := range tc.polls {
			h.Observe(600, i < tc.changed)
		}
		n, x := float64(tc.polls), float64(tc.changed)
		want := LongestInterval
		if tc.changed > 0 {
			want = 600 / -math.Log((n-x+0.5)/(n+0.5))
		}
		if got := h.Interval(); math.Abs(got/want-1) > 0.02 { // decay, a little
			t.Errorf("%d of %d polls changed: %.1f s, want %.1f", tc.changed, tc.polls, got, want)
		}
	}
}

// Counting changes by their entries' times sees what polls cannot.
func TestIntervalFromEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	var blind, counting History
	gap := func() float64 { return 2 * hour }
	watch(r, &blind, 5*minute, 100, gap, false)
	watch(r, &counting, 5*minute, 100, gap, true)
	if got := counting.Interval(); math.Abs(got/(5*minute)-1) > 0.1 {
		t.Errorf("counted: %v s, want %v", got, 5*minute)
	}
	if got := blind.Interval(); got < 10*minute {
		t.Errorf("every poll changed: %v s cannot be known", got)
	}
	var seeded History
	seeded.Seed(10*day, 20)
	if got := seeded.Interval(); math.Abs(got/(day/2)-1) > 0.01 {
		t.Errorf("20 entries in ten days: %v s", got)
	}
}

func TestIntervalForgets(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	var h History
	gap := func() float64 { return 0.5*hour + r.Float64()*hour }
	watch(r, &h, 2*hour, 1000, gap, false)
	before := h.Interval()
	watch(r, &h, 2*day, int(8*HalfLife/hour), gap, false)
	if after := h.Interval(); before > 2.6*hour || after < 1.5*day || after > 3*day {
		t.Errorf("from 2 hours to 2 days: %.1f h, then %.1f h", before/hour, after/hour)
	}
}

func TestIntervalBeforeAnythingIsKnown(t *testing.T) {
	var h History
	for i := range enoughPolls {
		if got := h.Interval(); got != LongestInterval {
			t.Fatalf("%v s after %d polls with one change", got, i)
		}
		h.Observe(30*minute, i == 0)
	}
	if got := h.Interval(); got > day {
		t.Errorf("%v s after ten polls with a change", got)
	}
	var quick History
	quick.Observe(minute, true)
	quick.Observe(minute, true)
	if got := quick.Interval(); got > 2*minute {
		t.Errorf("%v s after two changes in two minutes", got)
	}
}

// Whatever is observed, the estimate is within its clamps, more changes never
// make it longer, and nonsense changes nothing.
func TestIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, more History
		for range rapid.IntRange(0, 60).Draw(t, "polls") {
			seconds := math.Exp(rapid.Float64Range(-5, 16).Draw(t, "log seconds"))
			changed := rapid.Bool().Draw(t, "changed")
			h.Observe(seconds, changed)
			more.Observe(seconds, changed || rapid.Bool().Draw(t, "more"))
		}
		estimate := h.Interval()
		if !(estimate >= ShortestInterval*0.999 && estimate <= LongestInterval*1.001) {
			t.Fatalf("estimate %v", estimate)
		}
		if h.polls >= enoughPolls && more.Interval() > estimate*1.0001 {
			t.Fatalf("more changes: %v s, fewer: %v s", more.Interval(), estimate)
		}
		before := h
		h.Observe(math.NaN(), true)
		h.Observe(-1, true)
		h.ObserveCounted(0, 3)
		h.ObserveCounted(5, -3)
		h.Seed(math.Inf(-1), 4)
		h.Seed(4, 0)
		if h != before {
			t.Fatal("nonsense was observed")
		}
	})
}

func TestHistoryIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(History{}); size > 192 {
		t.Errorf("a history takes %d bytes", size)
	}
}

func TestPublished(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes ...float64) []time.Time {
		var times []time.Time
		for _, m := range minutes {
			times = append(times, base.Add(time.Duration(m*float64(time.Minute))))
		}
		return times
	}
	for _, tc := range []struct {
		name    string
		entries []time.Time
		changes int
		ok      bool
	}{
		{"no entries", nil, 0, false},
		{"all older", at(-5, -100), 0, false},
		{"two new ones", at(10, 20, -5, -60, -90), 2, true},
		{"at the same time", at(10, 10.5, 10.2, -5, -60, -90, -100), 1, true},
		{"at the poll before", at(0, -5, -10), 0, false},
		{"at this poll", at(30, -5, -10), 1, true},
		{"in the future", at(31, -5, -10), 0, false},
		{"all stamped anew", at(10, 11, 12, 13, -10), 0, false},
		{"a document of one entry", at(10), 1, true},
	} {
		changes, ok := Published(tc.entries, base, base.Add(30*time.Minute))
		if changes != tc.changes || ok != tc.ok {
			t.Errorf("%s: %d, %v, want %d, %v", tc.name, changes, ok, tc.changes, tc.ok)
		}
	}
}

// Question: what does an estimate cost the maintenance of a million channels?
//
//	go test -run '^$' -bench Interval -count 6 ./honeycomb | benchstat -
//
// What counts: ns/op, which is milliseconds for a million channels.
func BenchmarkInterval(b *testing.B) {
	var h History
	for i := range 100 {
		h.Observe(float64(600+i%3*1200), i%7 == 0)
	}
	for b.Loop() {
		h.Interval()
	}
}
