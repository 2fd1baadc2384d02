package engine

import (
	"testing"
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
	if rate, late := r.summary(now, 0.99); rate != 0 || late != 0 {
		t.Errorf("nothing yet: %v a second, %v late", rate, late)
	}
	for i := range 600 { // ten a second; the first ten seconds' are late
		lateness := time.Millisecond
		if i < 100 {
			lateness = time.Second
		}
		r.note(now+int64(i)*1e8, lateness)
	}
	now += 60e9 - 1
	if rate, late := r.summary(now, 0.99); rate < 9.9 || rate > 10.1 || late < time.Second || late > 1200*time.Millisecond {
		t.Errorf("after a minute: %v a second, %v late", rate, late)
	}
	if _, late := r.summary(now, 0.5); late > 1200*time.Microsecond {
		t.Errorf("half were %v late", late)
	}
	if rate, late := r.summary(now+10e9, 0.99); rate > 10 || late > 1200*time.Microsecond {
		t.Errorf("ten seconds later: %v a second, %v late", rate, late)
	}
	if rate, late := r.summary(now+60e9, 0.99); rate != 0 || late != 0 {
		t.Errorf("a minute later: %v a second, %v late", rate, late)
	}
}
