package primary

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
)

func numbered(n int) channel.ID {
	var id channel.ID
	binary.BigEndian.PutUint32(id[:], uint32(n)<<16)
	return id
}

func TestPlanFollowsChannels(t *testing.T) {
	one := channel.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 1}
	many := channel.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 9}
	none := channel.Channel{ID: numbered(1), Incarnation: 1, EmptiedAt: begin}
	gone := channel.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 9, Gone: true}
	next := channel.Channel{ID: numbered(1), Incarnation: 2, Subscribers: 2}
	steps := []struct {
		name        string
		ch          channel.Channel
		ended       bool
		want        polling
		polled      int
		subscribers uint64
	}{
		{"created", one, false, pollStart, 1, 1},
		{"more subscribers", many, false, pollAsBefore, 1, 9},
		{"emptied", none, false, pollStop, 0, 0},
		{"subscribed again", one, false, pollStart, 1, 1},
		{"gone", gone, false, pollStop, 0, 0},
		{"gone, again", gone, false, pollAsBefore, 0, 0},
		{"ended", none, true, pollAsBefore, 0, 0},
		{"next incarnation", next, false, pollStart, 1, 2},
		{"late end of the one before", none, true, pollAsBefore, 1, 2},
		{"ended while polled", next, true, pollStop, 0, 0},
	}
	p := planFor(Config{Interval: time.Hour, Floor: time.Minute, HostGap: func(string) time.Duration { return time.Second }})
	for _, step := range steps {
		if got := p.update(step.ch, step.ended); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
		if p.polled != step.polled || p.subscribers != step.subscribers {
			t.Errorf("%s: %d polled, %d subscribers; want %d, %d", step.name, p.polled, p.subscribers, step.polled, step.subscribers)
		}
	}
	if p.factors.n+len(p.emptied)+len(p.hosts.numbers) != 0 || len(p.rows.left)+len(p.rows.clear) != int(p.rows.n) {
		t.Errorf("left over: %d channels, %v, %v, %+v", p.factors.n, p.emptied, p.hosts.numbers, p.rows)
	}
}

// One node polls a channel that has no content yet, and as many as its rate asks for from
// its first content on.
func TestFirstContentWidens(t *testing.T) {
	for _, test := range []struct {
		rate  float64 // polls a minute, floor 10 s
		width int
		want  polling
	}{
		{6, 1, pollAsBefore},
		{18, 3, pollAnew},
	} {
		p := planFor(Config{Interval: time.Minute, Floor: 10 * time.Second})
		ch := channel.Channel{ID: feedID, URL: feedURL, Incarnation: 7, Subscribers: 1}
		p.update(ch, false)
		f := p.factors.at(feedID)
		f.rate = paceOf(test.rate)
		if width := p.width(*f); width != 1 {
			t.Errorf("%v polls: %d nodes fetch the first content", test.rate, width)
		}
		ch.Version = 1
		got := p.update(ch, false)
		if width := p.width(*p.factors.at(feedID)); got != test.want || width != test.width {
			t.Errorf("%v polls: the first content means %d, by %d nodes; want %d, %d", test.rate, got, width, test.want, test.width)
		}
		if ch.Version++; p.update(ch, false) != pollAsBefore {
			t.Errorf("%v polls: the second content is ordered", test.rate)
		}
	}
}

// planFor is a plan without an owner.
func planFor(c Config) *plan {
	p := newPlan(c, newColumns(c.optimiserConfig(), 0))
	return &p
}

func TestStartOrdersEveryPolledChannel(t *testing.T) {
	store, owner := world(t)
	for i := range 2*scanPage + 1 {
		store.put(channel.Channel{ID: numbered(i), URL: "https://example.com/", Incarnation: 1, Subscribers: 1, Version: 3, Held: i == 3})
	}
	store.put(channel.Channel{ID: numbered(1), Incarnation: 1})
	store.put(channel.Channel{ID: numbered(2), Incarnation: 1, Subscribers: 1, Gone: true})
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	if want := 2*scanPage + 2 - 2; len(poller.ordered) != want {
		t.Errorf("%d orders, want %d", len(poller.ordered), want)
	}
	if order := poller.ordered[numbered(3)]; !order.Held || order.Version != 3 || order.Rate.Float() != 1 || order.Width != 1 {
		t.Errorf("order %+v", order)
	}
	if order := poller.ordered[numbered(4)]; order.Held {
		t.Errorf("order %+v: nothing is held", order)
	}

	store.changed = owner.ChannelChanged
	store.put(channel.Channel{ID: numbered(3), Incarnation: 1, EmptiedAt: begin})
	if _, still := poller.ordered[numbered(3)]; still || len(poller.dropped) != 1 {
		t.Errorf("dropped %v; want the emptied channel", poller.dropped)
	}
}

func TestRunEndsChannelsAfterAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, owner := world(t)
		ended := make(chan time.Time, 1)
		store.changed = func(ch channel.Channel, end bool) {
			owner.ChannelChanged(ch, end)
			if end {
				ended <- time.Now()
			}
		}
		poller := &orders{ordered: make(map[channel.ID]engine.Order)}
		if err := owner.Start(poller); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); owner.Run(ctx) }()

		emptied := time.Now()
		store.put(channel.Channel{ID: feedID, Incarnation: 7, EmptiedAt: emptied})
		if after := (<-ended).Sub(emptied); after < time.Minute || after > time.Minute+16*time.Second {
			t.Errorf("ended after %s; want one interval, and a sweep at most", after)
		}
		cancel()
		<-done
	})
}

func TestSweepEndsAllThatAreDue(t *testing.T) {
	store, owner := world(t)
	store.changed = owner.ChannelChanged
	const due = 2*sweepPage + 2
	for i := range due {
		store.put(channel.Channel{ID: numbered(i), Incarnation: 1, EmptiedAt: time.Now().Add(-time.Hour)})
	}
	back := channel.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 1}
	store.channels[back.ID] = back // as the plan will hear later

	owner.sweep(t.Context())
	if len(store.ended) != due-1 {
		t.Errorf("%d of %d channels ended; want all but the one with a subscriber", len(store.ended), due)
	}
	store.put(back)
	store.put(channel.Channel{ID: numbered(due), Incarnation: 1, EmptiedAt: time.Now()})
	owner.sweep(t.Context())
	if len(store.ended) != due-1 {
		t.Errorf("%d channels ended; want no more before their interval is over", len(store.ended))
	}
}

// What an origin wants holds at once and in every plan, between the floor and the
// interval as well as above; what it no longer wants, from the next plan on.
func TestBoundSlowsAChannel(t *testing.T) {
	store, owner := world(t)
	store.put(channel.Channel{ID: feedID, URL: feedURL, Incarnation: 7, Subscribers: 1000})
	store.put(channel.Channel{ID: numbered(1), URL: feedURL, Incarnation: 1, Subscribers: 3})
	if most := paceWithin(time.Nanosecond, time.Minute); most <= 0 {
		t.Errorf("polls a nanosecond apart are %d", most)
	}
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		atLeast  time.Duration
		at, then overlay.Rate
	}{
		{0, overlay.Rate{Polls: 6, Intervals: 1}, overlay.Rate{Polls: 6, Intervals: 1}},
		{12 * time.Second, overlay.Rate{Polls: 5, Intervals: 1}, overlay.Rate{Polls: 5, Intervals: 1}},
		{25 * time.Second, overlay.Rate{Polls: 2, Intervals: 1}, overlay.Rate{Polls: 2, Intervals: 1}},
		{15 * time.Second, overlay.Rate{Polls: 2, Intervals: 1}, overlay.Rate{Polls: 4, Intervals: 1}},
		{time.Minute, overlay.Rate{Polls: 1, Intervals: 1}, overlay.Rate{Polls: 1, Intervals: 1}},
		{time.Minute + 1, overlay.Rate{Polls: 1, Intervals: 2}, overlay.Rate{Polls: 1, Intervals: 2}},
		{24 * time.Hour, overlay.Rate{Polls: 1, Intervals: 48}, overlay.Rate{Polls: 1, Intervals: 48}},
		{3 * time.Minute, overlay.Rate{Polls: 1, Intervals: 48}, overlay.Rate{Polls: 1, Intervals: 3}},
		{10 * time.Second, overlay.Rate{Polls: 1, Intervals: 3}, overlay.Rate{Polls: 6, Intervals: 1}},
	}
	for _, test := range tests {
		owner.Bound(feedID, 7, test.atLeast)
		order := poller.ordered[feedID]
		if order.Rate != test.at || order.Most != overlay.RateOf(test.atLeast, time.Minute, 0) {
			t.Errorf("at least %v: %+v at once, want %+v", test.atLeast, order, test.at)
		}
		solve(t, owner)
		if order = poller.ordered[feedID]; order.Rate != test.then {
			t.Errorf("at least %v: %+v, want %+v", test.atLeast, order, test.then)
		}
		if rate := owner.Rate(channel.Channel{ID: feedID, Incarnation: 7, Subscribers: 1}); rate != order.Rate {
			t.Errorf("rate %+v, ordered %+v", rate, order.Rate)
		}
	}
}

// solve has an owner look at what has changed.
func solve(t *testing.T, owner *Owner) {
	t.Helper()
	if err := owner.solve(false); err != nil {
		t.Fatal(err)
	}
}

// A bound of another incarnation, or of an unknown channel, counts for no channel;
// another incarnation starts without one.
func TestBoundIsOfOneIncarnation(t *testing.T) {
	store, owner := world(t)
	store.changed = owner.ChannelChanged
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	clear(poller.ordered)
	owner.Bound(feedID, 6, time.Hour)
	owner.Bound(numbered(5), 7, time.Hour)
	if len(poller.ordered) != 0 {
		t.Errorf("ordered %+v", poller.ordered)
	}
	owner.Bound(feedID, 7, 4*time.Minute)
	store.put(channel.Channel{ID: feedID, URL: feedURL, Incarnation: 7, Subscribers: 40})
	if rate := poller.ordered[feedID].Rate; rate.Intervals != 4 {
		t.Errorf("rate %+v after another subscriber", rate)
	}
	store.put(channel.Channel{ID: feedID, URL: feedURL, Incarnation: 8, Subscribers: 1})
	if rate := poller.ordered[feedID].Rate; rate.Intervals != 1 {
		t.Errorf("rate %+v of another incarnation", rate)
	}
}

// Origins are told of subscribers from ten on, and again when their number has
// moved by more than an eighth.
func TestOrdersTellSubscribers(t *testing.T) {
	store, owner := world(t)
	store.changed = owner.ChannelChanged
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		subscribers uint64
		ordered     bool
		told        uint64
	}{
		{1, false, 0}, {9, false, 0}, {10, true, 10}, {11, false, 0}, {12, true, 12}, {13, false, 0}, {100, true, 100},
		{112, false, 0}, {113, true, 113}, {99, false, 0}, {98, true, 98}, {9, true, 0}, {2, false, 0}, {12, true, 12},
	} {
		clear(poller.ordered)
		store.put(channel.Channel{ID: feedID, URL: feedURL, Incarnation: 7, Subscribers: step.subscribers})
		order, ordered := poller.ordered[feedID]
		if ordered != step.ordered || order.Subscribers != step.told {
			t.Errorf("%d subscribers: ordered %v, told %d; want %v, %d", step.subscribers, ordered, order.Subscribers, step.ordered, step.told)
		}
	}
}
