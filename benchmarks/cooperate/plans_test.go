//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Nodes that read the first documents estimate intervals that are near those known.
func TestKnownIntervals(t *testing.T) {
	for _, every := range []float64{600, 3600, 86_400, 3 * 86_400} {
		o := newOrigin(time.Now(), []place{{updateS: every}}, 16, nil)
		dates := o.dates(0)
		var entries []time.Time
		for entry := 1; entry > 1-16; entry-- {
			entries = append(entries, dates(entry))
		}
		var h honeycomb.History
		h.Seed(entries, o.began)
		if got := h.Interval(every / 2); off(got, every) > 0.2 {
			t.Errorf("every %gs is taken for %.0fs", every, got)
		}
	}
	if newOrigin(time.Now(), []place{{}}, 16, nil).dates(0) != nil {
		t.Error("a channel of no known interval has dates")
	}
}

// A change's entry has the time of the change.
func TestDateOfChange(t *testing.T) {
	o := newOrigin(time.Now().Add(-time.Hour), []place{{updateS: 600}}, 16, nil)
	o.freeze(false)
	o.grow(0)
	if at := o.dates(0)(2); time.Since(at) > time.Minute {
		t.Errorf("it changed at %s", at)
	}
	if text := string(document(0, 2, 3, o.dates(0))); strings.Count(text, "<pubDate>") != 3 {
		t.Error(text)
	}
}

// Channels change as often as is known of them.
func TestPicker(t *testing.T) {
	o, random := newOrigin(time.Now(), []place{{updateS: 10}, {updateS: 30}, {updateS: 60}}, 16, nil), rand.New(rand.NewPCG(1, 1))
	counts, pick := make([]int, 3), o.picker()
	for range 9000 {
		counts[pick(random)]++
	}
	for n, want := range []float64{6000, 2000, 1000} {
		if off(float64(counts[n]), want) > 0.1 {
			t.Errorf("channel %d changes %d times", n, counts[n])
		}
	}
}

// The optimum spends the budget, keeps hosts' caps, and no other rates of its load are better.
func TestSolveAll(t *testing.T) {
	o := &options{interval: 20 * second, floor: 20 * second / 6, gap: 10 * time.Millisecond}
	places := []place{{subscribers: 9, host: 0}, {subscribers: 1, host: 1}}
	best, err := o.solveAll(places, 5)
	if err != nil || best.load != 10 {
		t.Fatalf("%+v, %v", best, err)
	}
	for first := 1.0; first < 10; first++ {
		if wait, load := o.plannedWait(places, []float64{first, 10 - first}); load != 10 || wait < best.wait-1e-9 {
			t.Errorf("rates %g and %g: %g, sooner than %g", first, 10-first, wait, best.wait)
		}
	}
	o.gap = 20 * second / 4
	if best, err := o.solveAll(places, 5); err != nil || best.load > 2*4*plannedPart {
		t.Errorf("beyond caps: %+v, %v", best, err)
	}
	if wait, _ := o.plannedWait(places, []float64{1, 0}); !math.IsInf(wait, 1) {
		t.Errorf("a channel that is not polled: %g", wait)
	}
}

// A part of all subscriptions leaves, but no channel's last, and none twice.
func TestLeavers(t *testing.T) {
	r := &run{places: make([]place, 3), crowds: [][]string{{"a"}, {"b", "c", "d"}, {"e", "f"}}, told: &told{}}
	chosen := r.leavers(0.5, rand.New(rand.NewPCG(1, 1)))
	if len(chosen) != 3 {
		t.Fatalf("%v", chosen)
	}
	for _, one := range chosen {
		r.went(one)
	}
	if now, sum := r.subscribers(); sum != 3 || now[0].subscribers != 1 || now[1].subscribers+now[2].subscribers != 2 {
		t.Errorf("%v", r.crowds)
	}
	r.came(&api.Subscription{ID: "g"})
	if _, sum := r.subscribers(); sum != 4 {
		t.Errorf("%d with one more", sum)
	}
}

// Plans have settled when they stay near the optimum; only late samples are judged.
func TestSettling(t *testing.T) {
	s := settling{WithinS: -1}
	for i, excess := range []float64{0.5, 0.01, 0.03, 0.015, 0.005, 0.012} {
		s.note(excess, time.Duration(i)*second, i >= 4)
	}
	if s.WithinS != 3 || s.Excess != 0.012 || s.Samples != 2 || len(s.Course) != 6 {
		t.Errorf("%+v", s)
	}
	s.note(0.021, 6*second, true)
	res := newResult(&options{})
	s.Most = 1.04
	res.judgeSettling(s)
	if s.WithinS >= 0 || res.Rules[0].OK || !res.Rules[1].OK {
		t.Errorf("%+v, %+v", s, res.Rules)
	}
}

// Live figures are compared with the simulator's in both directions.
func TestBeside(t *testing.T) {
	for _, test := range []struct {
		wait, load           float64
		waitHolds, loadHolds bool
	}{{1.09, 5.4, true, true}, {0.88, 5, false, true}, {1, 4.4, true, false}, {math.NaN(), 5, false, true}} {
		res := newResult(&options{})
		res.judgeBeside(beside{Name: "lite", WaitS: test.wait, SimS: 1, Load: test.load, SimLoad: 5})
		if res.Rules[0].OK != test.waitHolds || res.Rules[1].OK != test.loadHolds {
			t.Errorf("%+v: %+v", test, res.Rules)
		}
		var out strings.Builder
		if err := res.print(&out, ""); err != nil || !strings.Contains(out.String(), fmt.Sprintf("%.3fs", test.wait)) {
			t.Errorf("%v\n%s", err, &out)
		}
	}
}

// The nodes get the simulator's channels.
func TestPlacesOf(t *testing.T) {
	o := options{channels: 50, hosts: 5, subscriptions: 250, nodes: 5, interval: 20 * second, floor: 4 * second, maintenance: 20 * second, target: second, seed: 3}
	of := o.simulation(1)
	if err := of.Validate(); err != nil {
		t.Fatal(err)
	}
	subscribers, updates := of.Workload()
	sum := 0
	for n, p := range o.placesOf(of) {
		sum += p.subscribers
		if float64(p.subscribers) != subscribers[n] || p.updateS != updates[n] || p.subscribers < 1 {
			t.Errorf("%d: %+v", n, p)
		}
	}
	if sum != 250 {
		t.Errorf("%d subscriptions", sum)
	}
}

// Kinds of runs do not mix.
func TestKinds(t *testing.T) {
	o := options{nodes: 5, channels: 10, interval: 20 * second, table2: true}
	if err := o.complete(); err != nil || o.maintenance != o.interval || o.entries != 16 || o.subscriptions != 50 {
		t.Errorf("%+v, %v", o, err)
	}
	o.settle = true
	if err := o.check(); err == nil {
		t.Error("two kinds at once")
	}
	o = options{nodes: 5, channels: 10, interval: 20 * second}
	if err := o.complete(); err != nil || o.maintenance != 10*second || o.entries != window || o.gap != 100*time.Millisecond {
		t.Errorf("%+v, %v", o, err)
	}
}
