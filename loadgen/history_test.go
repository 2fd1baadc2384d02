package loadgen

import (
	"errors"
	"testing"
	"time"
)

func traceOf(bodies string, minutes ...int) *Trace {
	t := new(Trace)
	for i, at := range minutes {
		t.Captures = append(t.Captures, Capture{At: time.Duration(at) * time.Minute, Body: []byte(bodies[i : i+1])})
	}
	return t
}

// A capture of what stood already is no change.
func TestPast(t *testing.T) {
	p, err := pastOf(traceOf("aabbcd", 0, 10, 20, 30, 50, 60))
	if err != nil || len(p.changes) != 3 || p.changes[0] != 20*time.Minute || p.period != 80*time.Minute {
		t.Errorf("%+v, %v", p, err)
	}
	counts := []int64{0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4}
	for i, at := range []int{-1, 0, 19, 20, 49, 50, 60, 79, 80, 99, 100} {
		if got := p.count(time.Duration(at) * time.Minute); got != counts[i] {
			t.Errorf("at %d min: %d changes, want %d", at, got, counts[i])
		}
	}
	for n := int64(-7); n < 20; n++ {
		if at := p.at(n); p.count(at) != n || p.count(at-1) != n-1 {
			t.Errorf("change %d at %s: %d there, %d before", n, at, p.count(at), p.count(at-1))
		}
	}
	for _, still := range []*Trace{traceOf("a", 0), traceOf("aaa", 0, 1, 2), traceOf("ab", 0, 0)} {
		if _, err := pastOf(still); !errors.Is(err, errStill) {
			t.Errorf("%+v: %v", still, err)
		}
	}
}

// An origin whose channels follow a history tells when each change came.
func TestHistoryOrigin(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	o, err := NewOrigin(Config{Channels: 9, Speedup: 10, Start: start, Listen: "127.77.0.2:0"})
	if err != nil {
		t.Fatal(err)
	}
	one, _ := pastOf(traceOf("abcd", 0, 20, 50, 60))
	other, _ := pastOf(traceOf("ab", 0, 7))
	o.changes.history = history{one, other}
	if o.Interval(0) != 80*time.Minute/3/10 || o.Interval(1) != 14*time.Minute/10 {
		t.Errorf("intervals %s, %s", o.Interval(0), o.Interval(1))
	}
	for n := range 9 {
		o.Change(n, start.Add(3*time.Minute)) // beside the history
		for revision := int64(2); revision < 30; revision++ {
			at := o.ChangedAt(n, revision)
			if o.Revision(n, at) != revision || o.Revision(n, at.Add(-1)) != revision-1 {
				t.Fatalf("channel %d revision %d at %s: %d there, %d before", n, revision, at, o.Revision(n, at), o.Revision(n, at.Add(-1)))
			}
		}
	}
}
