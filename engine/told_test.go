package engine

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// A report says when a poll showed its base before, through failures, a candidate that
// waits and a start; and nothing where none is known to have.
func TestReportKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second})
		defer func() { w.close() }()
		url := "http://a.example/a"
		id := channel.IDOf(url)
		var reports []Report
		w.owner = func(r Report) (Answer, error) {
			reports = append(reports, r)
			return w.judge(r)
		}
		shows := func(o origin) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.origins[url] = &o
		}
		last := func() time.Time { st, _ := w.engine.Stats(id); return st.LastPoll }
		check := func(what string, want time.Time) {
			t.Helper()
			if r := reports[len(reports)-1]; !r.Known.Equal(want) {
				t.Errorf("%s: base known at %v, want %v", what, r.Known.Sub(w.start), want.Sub(w.start))
			}
		}
		shows(origin{status: 200, body: "one", etag: "e"})
		w.engine.Order(orderURL(url))
		w.pass(10 * time.Minute)
		check("first content", time.Time{})
		known := last()
		shows(origin{status: 500})
		w.pass(3 * time.Minute)
		w.own(id).hold = true
		shows(origin{status: 200, body: "two", etag: "f"})
		w.pass(8 * time.Minute)
		check("confirmed after failures", known)
		if len(reports) != 3 || !reports[1].Known.Equal(known) {
			t.Errorf("%d reports, candidate known at %v", len(reports), reports[1].Known)
		}
		w.own(id).hold = false
		known = last()
		shows(origin{status: 200, body: "three", etag: "g"})
		w.pass(time.Minute)
		check("changed", known)
		known = last()
		w.restart()
		o := orderURL(url)
		o.Version, o.Hash = w.own(id).version, w.own(id).hash()
		w.engine.Order(o)
		shows(origin{status: 200, body: "four", etag: "h"})
		w.pass(time.Minute)
		check("after a start", known)
		o.Version, o.Hash = 9, coreOf(t, "another").Hash
		w.owned[id] = &owned{version: 9, core: coreOf(t, "another")}
		w.engine.Order(o)
		w.pass(time.Minute)
		check("of a version that another poller found", time.Time{})
	})
}

// A poll that confirms a version which, as it turns out, is no longer the committed one
// leaves no validators: a 304 to them would hide the difference.
func TestStandsNoMore(t *testing.T) {
	cs := newChannels(Config{}.withDefaults())
	cs.order(testOrder(1, 3), 1e18)
	target := cs.index.get(channel.IDOf(testURL(1)))
	p := poll{Poll: schedule.Poll[channelState]{Target: target, Host: target.Host()}, incarnation: 1, version: 3}
	r := result{outcome: notModified, holding: store.Holding{Texts: store.NewTexts("e", "", "", ""), OK: true}}
	r = r.withAnswer(Answer{Version: 4, Hash: coreOf(t, "four").Hash})
	cs.learn(&p, &r, 1e18)
	if c := target.Channel; c.version != 4 || c.holding.OK || c.shown {
		t.Errorf("version %d with what is held of another: %+v", c.version, c.holding)
	}
}

// An owner whose rates follow from sizes hears of one after the first poll under an order,
// and then when it has moved by about a quarter. No other hears of any.
func TestSized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second, Sizes: true})
		defer func() { w.close() }()
		url := "http://a.example/a"
		w.origins[url] = &origin{status: 200, body: "one", etag: "e"}
		w.engine.Order(orderURL(url))
		w.pass(time.Hour)
		w.mu.Lock()
		w.origins[url] = &origin{status: 200, body: strings.Repeat("more ", 200)}
		w.mu.Unlock()
		w.pass(time.Hour)
		id := channel.IDOf(url)
		sizes := slices.Clone(w.sizes[id])
		if len(sizes) < 4 || len(sizes) > 15 || sizes[0] != 103 {
			t.Fatalf("told %v", sizes)
		}
		for i := 1; i < len(sizes); i++ {
			if ratio := float64(sizes[i]) / float64(sizes[i-1]); ratio < 1.18 || ratio > 2.5 {
				t.Errorf("told %v", sizes)
			}
		}
		w.restart()
		w.engine.Order(orderURL(url))
		w.pass(3 * time.Minute)
		if after := w.sizes[id][len(sizes):]; len(after) != 1 {
			t.Errorf("after a start told %v", after)
		}
		w.config.Sizes = false
		w.restart()
		polls := w.requests(url)
		w.engine.Order(orderURL(url))
		w.pass(3 * time.Minute)
		if told := len(w.sizes[id]) - len(sizes) - 1; told != 0 || w.requests(url) == polls {
			t.Errorf("without Sizes, %d were told of %d polls", told, w.requests(url)-polls)
		}
	})
}

func TestSizeStep(t *testing.T) {
	for size := 1.0; size < 1<<31; size *= 1.3 {
		if ratio := sizeStepOf(size).bytes() / size; ratio < 0.95 || ratio > 1.05 {
			t.Errorf("%v bytes are told as %v", size, sizeStepOf(size).bytes())
		}
	}
}

// What the origin's words allow is told when it is other than what the order says, and
// not at each poll, whether it is more than one poll an interval or less.
func TestMostIsToldOnce(t *testing.T) {
	tests := []struct {
		least time.Duration
		most  overlay.Rate
	}{
		{0, overlay.Rate{Intervals: 1}},
		{5 * time.Minute, overlay.Rate{Intervals: 1}},
		{5*time.Minute + 1, overlay.Rate{Polls: 5, Intervals: 1}},
		{16 * time.Minute, overlay.Rate{Polls: 1, Intervals: 1}},
		{30 * time.Minute, overlay.Rate{Polls: 1, Intervals: 1}},
		{30*time.Minute + 1, overlay.Rate{Polls: 1, Intervals: 2}},
		{24 * time.Hour, overlay.Rate{Polls: 1, Intervals: 48}},
	}
	for _, test := range tests {
		most := overlay.RateOf(test.least, halfHour, 5*time.Minute)
		if most != test.most {
			t.Errorf("%v between two polls allow %v, want %v", test.least, most, test.most)
		}
		s := newChannels(Config{}.withDefaults())
		o := testOrder(1, 1)
		s.order(o, 1e18)
		c := &s.index.get(o.Channel).Channel
		c.words = &words{}
		c.words.hints.TTL = test.least
		if least, news := s.newInterval(c); news != (most.Polls > 0) || least != test.least {
			t.Errorf("%v: told %v, %v", test.least, news, least)
		}
		if _, news := s.newInterval(c); news {
			t.Errorf("%v is told twice", test.least)
		}
		o.Most = most
		s.order(o, 1e18)
		if _, news := s.newInterval(c); news {
			t.Errorf("%v is told though the order says it", test.least)
		}
	}
	s := newChannels(Config{Nodes: 3}.withDefaults())
	o := testOrder(1, 1)
	s.order(o, 1e18)
	c := &s.index.get(o.Channel).Channel
	for least, want := range map[time.Duration]bool{5 * time.Minute / 3: false, 2 * time.Minute: true} {
		c.words, c.saidRate = &words{}, 0
		c.words.hints.TTL = least
		if _, news := s.newInterval(c); news != want {
			t.Errorf("three nodes, each with a floor of 5 min: %v is told: %v", least, news)
		}
	}
}
