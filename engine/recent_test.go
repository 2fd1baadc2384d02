package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A lateness lies below its bucket's end, by no more than an eighth and a
// microsecond, and longer ones are in no earlier bucket.
func TestLatenessBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "lateness"))
		end := bucketEnd(latenessBucket(d))
		if end <= d || end > d+d/8+time.Microsecond {
			t.Fatalf("%v is counted as %v", d, end)
		}
		longer := d + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))
		if latenessBucket(longer) < latenessBucket(d) {
			t.Fatalf("%v is counted before %v", longer, d)
		}
	})
	if bucket := latenessBucket(1<<63 - 1); bucket != latenessBuckets-1 {
		t.Errorf("292 years are in bucket %d", bucket)
	}
}

func TestRecentForgets(t *testing.T) {
	var r recent
	now := int64(1e18)
	if got := r.summary(now, 0.99); got.perSecond != 0 || got.lateness != 0 {
		t.Errorf("nothing yet: %v a second, %v late", got.perSecond, got.lateness)
	}
	for i := range 600 { // ten a second; the first ten seconds' are late
		lateness := time.Millisecond
		if i < 100 {
			lateness = time.Second
		}
		r.note(now+int64(i)*1e8, byPlan, lateness)
	}
	now += 60e9 - 1
	if got := r.summary(now, 0.99); got.perSecond < 9.9 || got.perSecond > 10.1 || got.lateness < time.Second || got.lateness > 1200*time.Millisecond {
		t.Errorf("after a minute: %v a second, %v late", got.perSecond, got.lateness)
	}
	if got := r.summary(now, 0.5); got.lateness > 1200*time.Microsecond {
		t.Errorf("half were %v late", got.lateness)
	}
	if got := r.summary(now+10e9, 0.99); got.perSecond > 10 || got.lateness > 1200*time.Microsecond {
		t.Errorf("ten seconds later: %v a second, %v late", got.perSecond, got.lateness)
	}
	if got := r.summary(now+60e9, 0.99); got.perSecond != 0 || got.lateness != 0 {
		t.Errorf("a minute later: %v a second, %v late", got.perSecond, got.lateness)
	}
}

// TestLoadByPlan: after an import, and where polls are redirected, the polls that count
// as planned are as many as the rates say; first polls are counted apart.
func TestLoadByPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 100 * time.Second, Floor: time.Second})
		defer w.close()
		const imported, redirected = 500, 100
		var orders []Order
		for i := range imported + redirected {
			o := *testOrder(i, 0)
			w.origins[o.URL] = &origin{status: 200, body: "x"}
			if i >= imported {
				o = *testOrder(i, 1)
				w.origins[o.URL] = &origin{to: nameOf(orders[i%imported].URL)}
			}
			orders = append(orders, o)
		}
		w.engine.Order(orders...)
		about := func(when string, got, want float64) {
			t.Helper()
			if got < want*0.85 || got > want*1.15 {
				t.Errorf("%s: %v, want about %v", when, got, want)
			}
		}
		const planned = (imported + redirected) / 100.
		w.pass(59 * time.Second)
		load := w.engine.Load()
		if load.FirstPolls != imported {
			t.Errorf("%d first polls, want %d", load.FirstPolls, imported)
		}
		about("planned polls a second after the import", load.ByPlan, planned)
		about("all polls a second after the import", load.PollsPerSecond, planned+redirected/100.+imported/59.)
		w.pass(141 * time.Second)
		load = w.engine.Load()
		if load.FirstPolls != 0 {
			t.Errorf("two intervals later %d first polls", load.FirstPolls)
		}
		about("planned polls a second, later", load.ByPlan, planned)
		about("requests a second, later", load.PollsPerSecond, planned+redirected/100.)
	})
}
