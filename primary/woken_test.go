package primary

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// sleeper is a feed of 20 dated entries, the newest ten months old, as its first poll
// finds it.
func sleeper(t *testing.T, now time.Time) (*life, *blog) {
	l, b := &life{}, &blog{window: 20, dated: true}
	b.write(now.Add(-302*day), now.Add(-300*day), 2*time.Hour)
	l.poll(now, b.core(t))
	return l, b
}

// Within 1.5 of the truth after 8 changes, 1.2 after 30, whether entries say when
// they were published or ten months of polls have shown no change.
func TestLearnFromWakingUp(t *testing.T) {
	dated, entries := sleeper(t, begin)
	polled, undated := &life{}, &blog{window: 20, entries: []time.Time{begin}}
	polled.poll(begin.Add(-300*day), undated.core(t))
	polled.poll(begin, undated.core(t))
	for _, tc := range []struct {
		name string
		life *life
		blog *blog
	}{{"entries with dates", dated, entries}, {"polls", polled, undated}} {
		if got := tc.life.interval(begin); got != 7*day {
			t.Errorf("%s: %s while it sleeps", tc.name, got)
		}
		now := tc.life.live(t, tc.blog, begin, 8*15*time.Minute, 15*time.Minute, time.Minute)
		if got := tc.life.interval(now); got < 10*time.Minute || got > 22*time.Minute+30*time.Second {
			t.Errorf("%s: %s after 8 changes 15 minutes apart", tc.name, got)
		}
		now = tc.life.live(t, tc.blog, now, 22*15*time.Minute, 15*time.Minute, time.Minute)
		if got := tc.life.interval(now); got < 12*time.Minute+30*time.Second || got > 18*time.Minute {
			t.Errorf("%s: %s after 30 changes 15 minutes apart", tc.name, got)
		}
	}
}

// Polls as rare as a sleeping feed gets them still see when entries were published.
func TestLearnFromWakingUpBetweenPolls(t *testing.T) {
	l, b := sleeper(t, begin)
	now := l.live(t, b, begin, 6*time.Hour, 15*time.Minute, 6*time.Hour)
	near(t, "20 entries in view after six hours", l.interval(now), 15*time.Minute)
}

func TestLearnFromFallingAsleep(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	l.poll(begin, b.core(t))
	now := l.live(t, b, begin, 10*day, time.Hour, 10*time.Minute)
	near(t, "a change each hour", l.interval(now), time.Hour)
	near(t, "a night", l.interval(now.Add(12*time.Hour)), time.Hour)
	near(t, "three days", l.interval(now.Add(3*day)), 2*day)
	if got := l.interval(now.Add(9 * day)); got != 7*day {
		t.Errorf("%s after nine days of silence", got)
	}
}

// A node's record from before histories had two sides is read as it was.
func TestLearnedVersion1(t *testing.T) {
	record := []byte{1,
		0x41, 0x20, 0, 0, // 10 changes
		0x44, 0xe1, 0, 0, // seen in gaps of 1,800 s
		0x49, 0x74, 0x24, 0, // 1,000,000 s without
		0x3f, 0, 0, 0, // 0.5 turned
		0, 20,
	}
	want := learned{honeycomb.History{Before: honeycomb.Stretch{Changes: 10, Gap: 1800, Quiet: 1e6}}, 0.5, 20}
	if got, ok := readLearned(record); !ok || got != want {
		t.Errorf("read %+v, %v; want %+v", got, ok, want)
	}
	if again, ok := readLearned(want.append(nil)); !ok || again != want {
		t.Errorf("written and read again %+v, %v; want %+v", again, ok, want)
	}
}

// Fair policies give a feed that wakes up its rate after a few changes: after 8 within
// a factor of two of what it has after 400.
func TestWokenFeedGetsItsRate(t *testing.T) {
	for _, policy := range []honeycomb.Policy{honeycomb.Fair, honeycomb.FairSqrt, honeycomb.FairLog} {
		asleep, soon, late := ratesOfWoken(t, policy)
		if asleep > soon/1.5 || soon < late/2 || soon > 2*late {
			t.Errorf("%s: %v polls per interval asleep, %v after 8 changes, %v after 400", policy, asleep, soon, late)
		}
	}
}

// ratesOfWoken returns the polls per interval of a feed among 40 others before it
// wakes up, and after 8 and 400 changes 15 minutes apart.
func ratesOfWoken(t *testing.T, policy honeycomb.Policy) (asleep, soon, late float64) {
	t.Helper()
	now := begin
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Policy: policy})
	w.owner.planner.config.Now = func() time.Time { return now }
	for n := 1; n <= 40; n++ {
		w.subscribe(n, 5)
		ch := w.store.channels[numbered(n)]
		ch.FirstContent = now
		l := learned{}
		l.history.Before = honeycomb.Stretch{Changes: 20, Quiet: 20 * 1800 * float32(n)}
		ch.Learned = l.append(nil)
		w.store.put(ch)
	}
	w.subscribe(0, 5)
	l, b := sleeper(t, now)
	rate := func() float64 {
		ch := w.store.channels[numbered(0)]
		ch.Learned, ch.Version, ch.FirstContent, ch.LastChange = l.ch.Learned, l.ch.Version, l.ch.FirstContent, l.ch.LastChange
		w.store.put(ch)
		if err := w.owner.solve(true); err != nil {
			t.Fatal(err)
		}
		return w.rate(0)
	}
	w.start()
	asleep = rate()
	now = l.live(t, b, now, 8*15*time.Minute, 15*time.Minute, 5*time.Minute)
	soon = rate()
	now = l.live(t, b, now, 392*15*time.Minute, 15*time.Minute, 5*time.Minute)
	return asleep, soon, rate()
}
