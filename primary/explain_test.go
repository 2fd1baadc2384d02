package primary

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

func (w *town) explain(n int) Explanation {
	w.t.Helper()
	e, err := w.owner.Explain(numbered(n))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return e
}

// Where the budget draws the line, one channel is the last in, and one the first out.
func TestExplainBoundary(t *testing.T) {
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Budget: 1000})
	for n := range 200 {
		w.subscribe(n, uint64(3+n))
	}
	w.start()
	e := w.explain(100)
	if e.Above == nil || e.Below == nil || e.Lambda <= 0 || e.Solved.IsZero() {
		t.Fatalf("%+v", e)
	}
	if e.Last < e.Lambda || e.Next > e.Lambda || e.Above.Worth < e.Lambda || e.Below.Worth != e.Lambda {
		t.Errorf("%+v", e)
	}
	if e.Weight != 103 || e.Cost != 1 || e.Subscribers != 103 || e.Least != 1 || e.Most != 30 || e.AtLeast != BoundOnce || e.AtMost != BoundFloor {
		t.Errorf("%+v", e)
	}
	for n := range 200 {
		e := w.explain(n)
		if e.Rate.Float() != w.rate(n) || e.Above.Worth > e.Last && e.Last > 0 {
			t.Errorf("channel %d: %+v, above %+v", n, e, e.Above)
		}
		if numbered(n) == e.Below.Channel && (e.Next != e.Below.Worth || e.Rate.Float() != e.Below.Rate) {
			t.Errorf("the first out: %+v, below %+v", e, e.Below)
		}
	}
}

func TestExplainBounds(t *testing.T) {
	gap := func(host string) time.Duration {
		return map[string]time.Duration{"host3.example:80": time.Minute}[host]
	}
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, HostGap: gap})
	for n := range 40 {
		w.subscribe(n, 100)
	}
	w.start()
	w.owner.Bound(numbered(1), w.store.channels[numbered(1)].Incarnation, 10*time.Minute)
	w.owner.Bound(numbered(2), w.store.channels[numbered(2)].Incarnation, time.Hour)
	solve(t, w.owner)
	for _, test := range []struct {
		name            string
		n               int
		rate            float64
		atLeast, atMost string
	}{
		{"floor", 0, 30, BoundOnce, BoundFloor},
		{"origin", 1, 3, BoundOnce, BoundOrigin},
		{"origin, under one", 2, 0.5, BoundOrigin, BoundOrigin},
		{"host", 3, 7, BoundOnce, BoundHost},
	} {
		e := w.explain(test.n)
		if e.Rate.Float() != test.rate || e.Most != test.rate || e.Next != 0 || e.AtLeast != test.atLeast || e.AtMost != test.atMost {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
	if e := w.explain(3); e.HostMu <= 0 || e.HostCap != 28.5 || e.HostPolls != 28 || e.Host != "host3.example:80" {
		t.Errorf("%+v", e)
	}
	if e := w.explain(0); e.HostCap != 0 || e.HostMu != 0 {
		t.Errorf("%+v", e)
	}
}

func TestExplainSmallBudget(t *testing.T) {
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Budget: 10})
	for n := range 40 {
		w.subscribe(n, 1)
	}
	w.start()
	if e := w.explain(3); e.AtLeast != BoundBudget || e.Least >= 1 || e.Rate.Float() >= 1 {
		t.Errorf("%+v", e)
	}
}

func TestExplainWhatIsNotSolved(t *testing.T) {
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute})
	w.subscribe(1, 5)
	w.start()
	w.subscribe(2, 4)
	if e := w.explain(2); !e.Solved.IsZero() || e.Rate.Float() != 1 || e.Subscribers != 4 {
		t.Errorf("new: %+v", e)
	}
	w.subscribe(1, 0)
	if e := w.explain(1); !e.Solved.IsZero() || e.Rate.Polls != 0 || e.Width != 0 {
		t.Errorf("no subscriber: %+v", e)
	}
	w.store.put(channel.Channel{ID: numbered(2), Incarnation: 2, Subscribers: 4, Gone: true})
	solve(t, w.owner)
	if e := w.explain(2); !e.Solved.IsZero() || e.Rate.Polls != 0 {
		t.Errorf("gone: %+v", e)
	}
	if _, err := w.owner.Explain(channel.ID{9}); err == nil {
		t.Error("an unknown channel is explained")
	}
}
