package honeycomb

import (
	"math"
	"math/rand/v2"
	"slices"
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

// watcher polls a channel that changes by a Poisson process, and lets a history
// know what an owner learns of that.
type watcher struct {
	random  *rand.Rand
	history History
	exact   likelihood
	quiet   float64 // seconds since the latest change was seen
	passed  float64
	changed int
}

func newWatcher(seed uint64) *watcher { return &watcher{random: rand.New(rand.NewPCG(seed, 9))} }

// watch polls for so many seconds, at gaps that are drawn each time.
func (w *watcher) watch(seconds, interval float64, gap func(*rand.Rand) float64) {
	for end := w.passed + seconds; w.passed < end; {
		w.poll(gap(w.random), interval)
	}
}

func (w *watcher) poll(gap, interval float64) {
	changed := w.random.Float64() > math.Exp(-gap/interval)
	w.passed += gap
	w.exact.poll(gap, changed)
	if !changed {
		w.quiet += gap
		return
	}
	w.changed++
	w.history.Changed(w.quiet, gap)
	w.quiet = 0
}

func (w *watcher) interval() float64 { return w.history.Interval(w.quiet) }

func regular(seconds float64) func(*rand.Rand) float64 {
	return func(*rand.Rand) float64 { return seconds }
}

// irregular draws gaps from so many seconds to so many, even in their logarithm.
func irregular(from, to float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return from * math.Exp(r.Float64()*math.Log(to/from)) }
}

// A likelihood is what a history stands for, with each poll's own gap.
type likelihood struct {
	gaps, ends         []float64 // of the polls that showed a change; seconds
	quiet, polls, time float64   // faded
	now                float64
}

func (l *likelihood) poll(gap float64, changed bool) {
	left := Faded(gap)
	l.now += gap
	l.quiet, l.polls, l.time = l.quiet*left, l.polls*left+1, l.time*left+gap
	if changed {
		l.gaps, l.ends = append(l.gaps, gap), append(l.ends, l.now)
		return
	}
	l.quiet += FadedSpan(gap)
}

// interval is the most likely one, with half an unchanged poll of the mean gap.
func (l *likelihood) interval() float64 {
	weights := make([]float64, len(l.gaps))
	for i, end := range l.ends {
		weights[i] = Faded(l.now - end)
	}
	quick, slow := math.Log(ShortestInterval), math.Log(LongestInterval)
	for range 16 {
		middle := (quick + slow) / 2
		slope := -l.quiet - l.time/l.polls/2
		for i, gap := range l.gaps {
			slope += weights[i] * pull(math.Exp(-middle), gap)
		}
		if slope > 0 {
			slow = middle
		} else {
			quick = middle
		}
	}
	return math.Exp(quick)
}

// off is the error of estimates as a factor, and their bias: of rates, whose mean
// over the truth is 1 if there is none.
type off struct{ bias, factor, near float64 }

func (o *off) add(estimate, truth, weight float64) {
	o.bias += weight * truth / estimate
	o.factor += weight * math.Abs(math.Log(estimate/truth))
	if math.Abs(estimate/truth-1) < 0.3 {
		o.near += weight
	}
}

// The stated error (benchmarks/README.md, "Update intervals"): over 60 histories each of four weeks.
func TestIntervalError(t *testing.T) {
	const histories = 60
	for _, polls := range []struct {
		name string
		gap  func(*rand.Rand) float64
		bias map[float64]float64 // at most, of an interval's mean rate
	}{
		{"each 5 min", regular(5 * minute), nil},
		{"each 30 min", regular(30 * minute), map[float64]float64{5 * minute: 0.2}},
		{"5 to 120 min apart", irregular(5*minute, 120*minute), map[float64]float64{5 * minute: 0.12}},
		{"each 6 h", regular(6 * hour), map[float64]float64{5 * minute: 1, 30 * minute: 0.75}},
	} {
		for _, interval := range []float64{5 * minute, 30 * minute, 2 * hour, 8 * hour, day, 3 * day, 7 * day} {
			var ours, exact, naive off
			for i := range uint64(histories) {
				w := newWatcher(i)
				w.watch(28*day, interval, polls.gap)
				ours.add(w.interval(), interval, 1.0/histories)
				exact.add(w.exact.interval(), interval, 1.0/histories)
				naive.add(w.passed/max(float64(w.changed), 0.1), interval, 1.0/histories)
			}
			t.Logf("%-18s interval %6.0f s: rate %.2f, error %.2f, near %3.0f %%; likelihood %.2f, %.2f, %3.0f %%; naive %.2f", polls.name, interval,
				ours.bias, math.Exp(ours.factor), 100*ours.near, exact.bias, math.Exp(exact.factor), 100*exact.near, naive.bias)
			most := 0.12
			if known, ok := polls.bias[interval]; ok {
				most = known
			}
			if interval < LongestInterval && math.Abs(ours.bias-1) > most {
				t.Errorf("polls %s, interval %v s: mean rate %.3f of the truth", polls.name, interval, ours.bias)
			}
			if ours.factor > exact.factor+0.1 { // no more than 128 changes are remembered
				t.Errorf("polls %s, interval %v s: off by %.3f, the likelihood by %.3f", polls.name, interval, math.Exp(ours.factor), math.Exp(exact.factor))
			}
		}
	}
}

// For regular polls the estimate is the published closed form.
func TestIntervalOfRegularPolls(t *testing.T) {
	for _, tc := range []struct{ polls, changed int }{{20, 1}, {20, 10}, {20, 19}, {100, 100}, {50, 0}} {
		var h History
		for range tc.changed {
			h.Changed(0, 600)
		}
		n, x := float64(tc.polls), float64(tc.changed)
		want := LongestInterval
		if tc.changed > 0 {
			want = 600 / -math.Log((n-x+0.5)/(n+0.5))
		}
		// Half a gap is quiet since the latest poll.
		if got := h.Interval((n - x + 0.5) * 600); math.Abs(got/want-1) > 0.02 { // it fades, a little
			t.Errorf("%d of %d polls changed: %.1f s, want %.1f", tc.changed, tc.polls, got, want)
		}
	}
}

// A channel is down for hours each day: its changes seen late must not spoil what
// the others tell.
func TestIntervalWithOutages(t *testing.T) {
	for _, interval := range []float64{10 * minute, hour, 8 * hour} {
		var estimates off
		for i := range uint64(100) {
			w := newWatcher(i)
			for range 28 {
				w.watch(14*hour, interval, regular(30*minute))
				w.poll(10*hour, interval)
			}
			estimates.add(w.interval(), interval, 0.01)
		}
		if math.Abs(estimates.bias-1) > 0.1 || estimates.near < 0.85 {
			t.Errorf("interval %v s: mean rate %.3f of the truth, %.2f near", interval, estimates.bias, estimates.near)
		}
	}
}

// count adds changes that are even in a span of seconds.
func count(h *History, span float64, changes int) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var moments []time.Time
	for i := range changes {
		moments = append(moments, from.Add(time.Duration(span*float64(i+1)/float64(changes)*float64(time.Second))))
	}
	h.Counted(from, moments, from.Add(time.Duration(span*float64(time.Second))))
}

// What is counted is seen where polls alone cannot.
func TestIntervalOfCountedChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	var blind, counting History
	quiet := 0.0
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	changed := now
	for range 100 {
		var moments []time.Time
		for at := r.ExpFloat64(); at < 24; at += r.ExpFloat64() {
			moments = append(moments, now.Add(time.Duration(at*float64(5*time.Minute))))
		}
		now = now.Add(2 * time.Hour)
		if len(moments) == 0 {
			quiet += 2 * hour
			continue
		}
		blind.Changed(quiet, 2*hour)
		counting.Counted(changed, moments, now)
		quiet, changed = 0, now
	}
	if got := counting.Interval(quiet); math.Abs(got/(5*minute)-1) > 0.1 {
		t.Errorf("counted: %v s, want %v", got, 5*minute)
	}
	if got := blind.Interval(quiet); got < 10*minute {
		t.Errorf("every poll changed: %v s cannot be known", got)
	}
}

func TestSeed(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	apart := func(n int, interval float64) (entries []time.Time) {
		for i := range n {
			entries = append(entries, now.Add(-time.Duration(float64(i)*interval*float64(time.Second))))
		}
		return entries
	}
	older := func(entries []time.Time, seconds float64) []time.Time {
		for i := range entries {
			entries[i] = entries[i].Add(-time.Duration(seconds * float64(time.Second)))
		}
		return entries
	}
	for _, tc := range []struct {
		name    string
		entries []time.Time
		quiet   float64
		want    float64
	}{
		{"two a day", apart(20, day/2), 0, day / 2},
		{"a hundred in a day", apart(100, day/100), 0, day / 100},
		{"then none for a day", apart(100, day/100), day, 1.13 * day / 8}, // as 8
		{"two a day for a year", apart(700, day/2), 0, day / 2},
		{"and some that were kept", append(apart(20, day/2), apart(10, 30*day)...), 0, day / 2},
		{"long ago", apart(20, day/2), 90 * day, LongestInterval},
		{"woken up an hour ago", append(apart(7, 10*minute), older(apart(14, 2*hour), 300*day)...), 0, 10 * minute},
		{"asleep for three days", older(apart(20, hour), 3*day), 0, 2 * day},
		{"stamped by a build", apart(20, 1), 0, LongestInterval},
		{"dates without a time of day", slices.Concat(apart(5, day), apart(5, day), apart(5, day)), 0, LongestInterval},
		{"one", apart(1, 0), 0, LongestInterval},
		{"of times to come", apart(20, -hour), 0, LongestInterval},
	} {
		var h History
		h.Seed(tc.entries, now)
		if got := h.Interval(tc.quiet); math.Abs(got/tc.want-1) > 0.1 {
			t.Errorf("%s: %.0f s, want %.0f", tc.name, got, tc.want)
		}
	}
}

// A rate that changes a hundredfold is followed within days, since what was known
// of the one before ends.
func TestIntervalForgets(t *testing.T) {
	for _, tc := range []struct {
		before, after float64
		most          float64 // days until the estimate is within a factor of two
	}{{10 * minute, 1000 * minute, 6}, {1000 * minute, 10 * minute, 1}, {1000 * minute, 30 * minute, 1}, {2 * hour, 2 * day, 10}, {2 * day, 2 * hour, 2}} {
		w, days := newWatcher(11), 0.0
		w.watch(60*day, tc.before, irregular(15*minute, hour))
		if got := w.interval(); math.Abs(got/tc.before-1) > 0.3 {
			t.Errorf("%v s before it changes: %v", tc.before, got)
		}
		for ; math.Abs(math.Log(w.interval()/tc.after)) > math.Ln2; days++ {
			w.watch(day, tc.after, irregular(15*minute, hour))
		}
		t.Logf("from %.0f to %.0f s: within a factor of two after %v days", tc.before, tc.after, days)
		if days > tc.most {
			t.Errorf("from %v to %v s: %v days until the estimate is near", tc.before, tc.after, days)
		}
	}
}

func TestIntervalBeforeAnythingIsKnown(t *testing.T) {
	var h History
	if got := h.Interval(30 * day); got != LongestInterval {
		t.Errorf("%v s without a change", got)
	}
	h.Changed(0, 30*minute)
	for polls := 1; polls < enoughPolls; polls++ {
		if got := h.Interval(float64(polls-1) * 30 * minute); got != LongestInterval {
			t.Errorf("%v s after %d polls with one change", got, polls)
		}
	}
	if got := h.Interval(10 * 30 * minute); got > day {
		t.Errorf("%v s after eleven polls with a change", got)
	}
	var quick History
	quick.Changed(0, minute)
	quick.Changed(0, minute)
	if got := quick.Interval(0); got > 2*minute {
		t.Errorf("%v s after two changes in two minutes", got)
	}
	var counted History
	count(&counted, minute, 1)
	if got := counted.Interval(0); got != LongestInterval {
		t.Errorf("%v s after one change", got)
	}
}

// Whatever is told, the estimate is within its clamps and, once there is one, longer
// after more quiet time; more changes never make it longer; nonsense changes nothing.
func TestIntervalProperties(t *testing.T) {
	seconds := rapid.Map(rapid.Float64Range(-5, 16), math.Exp)
	rapid.Check(t, func(t *rapid.T) {
		var h History
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			if rapid.Bool().Draw(t, "counted") {
				count(&h, seconds.Draw(t, "span"), rapid.IntRange(1, 100).Draw(t, "number"))
			} else {
				h.Changed(seconds.Draw(t, "quiet"), seconds.Draw(t, "gap"))
			}
		}
		quiet, longer := seconds.Draw(t, "since"), seconds.Draw(t, "more")
		estimate := h.Interval(quiet)
		if !(estimate >= ShortestInterval*0.999 && estimate <= LongestInterval*1.001) {
			t.Fatalf("%+v: estimate %v", h, estimate)
		}
		if more := h.Interval(quiet + longer); estimate < LongestInterval && more < estimate*0.999 {
			t.Fatalf("%+v: %v s after %v quiet ones, %v after %v", h, estimate, quiet, more, quiet+longer)
		}
		before := h
		h.Changed(math.NaN(), 1)
		h.Changed(1, -1)
		h.Changed(-1, 1)
		now := time.Now()
		h.Counted(now, []time.Time{now}, now)
		h.Counted(now, nil, now.Add(time.Hour))
		h.Seed(nil, time.Now())
		if h != before {
			t.Fatal("nonsense was taken in")
		}
	})
}

// Quiet time is the same in one piece and in many, so nothing need be noted when a
// poll shows no change.
func TestQuietTimeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.Float64Range(0, 10*day)).Draw(t, "pieces")
		whole, parts := Stretch{Changes: 7, Gap: 600, Quiet: 86400}, Stretch{Changes: 7, Gap: 600, Quiet: 86400}
		sum := 0.0
		for _, piece := range pieces {
			parts.pass(piece)
			sum += piece
		}
		whole.pass(sum)
		if math.Abs(float64(parts.Quiet/whole.Quiet)-1) > 1e-4 || math.Abs(float64(parts.Changes-whole.Changes)) > 1e-4*float64(whole.Changes) {
			t.Fatalf("in parts %+v, in one %+v", parts, whole)
		}
	})
}

func TestHistoryIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(History{}); size > 24 {
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
		name          string
		entries, want []time.Time
	}{
		{"no entries", nil, nil},
		{"all older", at(-5, -100), nil},
		{"two, the newest first", at(20, 10, -5, -60, -90), at(10, 20)},
		{"at the same time", at(10, 10.5, 10.2, -5), at(10)},
		{"at the poll before", at(0, -5, -10), nil},
		{"at this poll", at(30, -5, -10), at(30)},
		{"in the future", at(31, -5, -10), nil},
	} {
		if got := Published(tc.entries, base, base.Add(30*time.Minute)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Question: what does an estimate cost the maintenance of a million channels, and
// what a commit?
//
//	go test -run '^$' -bench 'Interval|Changed' -count 6 ./honeycomb | benchstat -
//
// What counts: ns/op, which is milliseconds for a million channels.
func BenchmarkInterval(b *testing.B) {
	h := History{Before: Stretch{12, 1500, 300_000}, Since: Stretch{3, 1700, 30_000}}
	for b.Loop() {
		h.Interval(5000)
	}
}

func BenchmarkChanged(b *testing.B) {
	h := History{Before: Stretch{12, 1500, 300_000}, Since: Stretch{3, 1700, 30_000}}
	for i := 0; b.Loop(); i++ {
		h.Changed(5000, float64(600+i%7*300))
	}
}
