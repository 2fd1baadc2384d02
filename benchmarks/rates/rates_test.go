package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLayOut: as many subscriptions as asked for, each channel with one at least, and
// the first host with the most channels.
func TestLayOut(t *testing.T) {
	o := options{channels: 1000, subscriptions: 10_000, hosts: 20, seed: 1}
	places := layOut(o)
	sum, numbers, hosts := 0, make(map[int]bool), make([]int, o.hosts)
	for i, p := range places {
		sum += p.subscribers
		numbers[p.number] = true
		hosts[p.number%o.hosts]++
		if p.subscribers < 1 || i > 0 && p.subscribers > places[i-1].subscribers+1 { // sums are rounded
			t.Fatalf("channel %d has %d subscribers behind one with %d", i, p.subscribers, places[max(i-1, 0)].subscribers)
		}
	}
	if sum != o.subscriptions || len(numbers) != o.channels || len(places) != o.channels {
		t.Errorf("%d subscriptions to %d channels with %d numbers", sum, len(places), len(numbers))
	}
	if slices.Max(hosts) != hosts[0] || hosts[0] < 3*hosts[10] {
		t.Errorf("channels by host: %v", hosts)
	}
	if ratio := float64(places[0].subscribers) / float64(places[99].subscribers); math.Abs(ratio-9) > 2 { // the one that all have is not Zipf's
		t.Errorf("the first has %.1f times the subscribers of the hundredth, want about 9", ratio)
	}
}

func TestName(t *testing.T) {
	places := []place{{number: 2}, {number: 0}}
	if err := name(places, strings.NewReader("http://a/0\nhttp://b/1\nhttp://c/2\n")); err != nil || places[0].url != "http://c/2" || places[1].url != "http://a/0" {
		t.Errorf("%+v, %v", places, err)
	}
	if name([]place{{number: 3}}, strings.NewReader("http://a/0\n")) == nil {
		t.Error("a URL that is not there is not missed")
	}
}

// TestCompare: who has other polls than was explained is counted.
func TestCompare(t *testing.T) {
	a, b, c := &place{url: "a"}, &place{url: "b"}, &place{url: "c"}
	s := sample{places: []*place{a, b, c}, rates: [][]float64{{10, 0.5, 4}, {10, 0.5, 8}, {10, 0.5, 8}}}
	start := time.Now()
	from := reading{originAt: start, origin: map[string]float64{"a": 5}}
	to := reading{originAt: start.Add(20 * time.Second), origin: map[string]float64{"a": 25, "b": 1, "c": 20}}
	got := s.compare(from, to, 10*time.Second)
	if got.Off != 1 || got.Changed != 1 || got.WorstURL != "c" || got.WorstHave != 20 || got.WorstWant != 14 || got.Least != 0.5 || got.Most != 10 {
		t.Errorf("%+v; want c alone off: 20 polls where (4+8)/2 and 8 were to be", got)
	}
}

// TestCourse: polls are held against a plan that changes, and bursts show.
func TestCourse(t *testing.T) {
	const interval = 60 * time.Second
	start := time.Now()
	w := watch{begun: start}
	polls := 0.0
	for second := range 61 {
		p := point{at: start.Add(time.Duration(second) * time.Second), polls: polls, planned: 600}
		if second > 30 {
			p.planned = 1200
		}
		if second == 20 {
			p.over = 0.2
		}
		w.points = append(w.points, p)
		polls += p.planned / 60
		if second == 10 {
			polls += 100
		}
	}
	c := w.course(interval)
	if math.Abs(c.Planned-895) > 1 || math.Abs(c.Polls-c.Planned-95) > 1 || math.Abs(c.Busiest-3) > 0.01 || c.OverPlan != 0.2 {
		t.Errorf("%+v; want 95 polls more than 895, thrice the plan in the worst 5 s", c)
	}
	if w.settled() != 31*time.Second {
		t.Errorf("settled after %s, want 31s", w.settled())
	}
}
