package primary

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

func numbered(n int) channel.ID {
	var id channel.ID
	binary.BigEndian.PutUint32(id[:], uint32(n)<<16)
	return id
}

func TestPlanFollowsChannels(t *testing.T) {
	one := ownership.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 1}
	many := ownership.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 9}
	none := ownership.Channel{ID: numbered(1), Incarnation: 1, EmptiedAt: begin}
	gone := ownership.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 9, Gone: true}
	next := ownership.Channel{ID: numbered(1), Incarnation: 2, Subscribers: 2}
	steps := []struct {
		name    string
		ch      ownership.Channel
		ended   bool
		want    polling
		planned float64
		budget  float64
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
	p := newPlan(time.Hour, time.Minute)
	for _, step := range steps {
		if got := p.update(step.ch, step.ended); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
		if load := p.load(); load.Planned != step.planned || load.Budget != step.budget {
			t.Errorf("%s: load %+v, want planned %v, budget %v", step.name, load, step.planned, step.budget)
		}
	}
	if len(p.factors)+len(p.emptied) != 0 {
		t.Errorf("left over: %v, %v", p.factors, p.emptied)
	}
}

func TestPlanBounds(t *testing.T) {
	tests := []struct {
		name        string
		subscribers []uint64
		floor       time.Duration
		want        time.Duration
	}{
		// One subscriber each: the budget is one poll each, which is spent.
		{"uniform", []uint64{1, 1, 1, 1}, time.Minute, 30 * time.Minute},
		// One channel of 100: the budget allows 100 polls an hour, the floor 60.
		{"floor", []uint64{100}, time.Minute, 30 * time.Second},
		{"floor is the interval", []uint64{100}, time.Hour, 30 * time.Minute},
		// τ·(√1+√9)²/(2·10·10) = τ·0.08.
		{"skewed", []uint64{1, 9}, time.Second, 288 * time.Second},
	}
	for _, test := range tests {
		p := newPlan(time.Hour, test.floor)
		for i, q := range test.subscribers {
			p.update(ownership.Channel{ID: numbered(i), Incarnation: 1, Subscribers: q}, false)
		}
		load := p.load()
		if load.Bound.Round(time.Millisecond) != test.want || load.Detected != 30*time.Minute {
			t.Errorf("%s: bound %s, detection %s; want %s, 30m", test.name, load.Bound, load.Detected, test.want)
		}
	}
}

func TestStartOrdersEveryPolledChannel(t *testing.T) {
	store, owner := world(t)
	for i := range 2*scanPage + 1 {
		store.put(ownership.Channel{ID: numbered(i), URL: "https://example.com/", Incarnation: 1, Subscribers: 1, Version: 3})
	}
	store.put(ownership.Channel{ID: numbered(1), Incarnation: 1})
	store.put(ownership.Channel{ID: numbered(2), Incarnation: 1, Subscribers: 1, Gone: true})
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
	if order := poller.ordered[feedID]; order.Held {
		t.Errorf("order %+v: nothing can be held without content", order)
	}

	store.changed = owner.ChannelChanged
	store.put(ownership.Channel{ID: numbered(3), Incarnation: 1, EmptiedAt: begin})
	if _, still := poller.ordered[numbered(3)]; still || len(poller.dropped) != 1 {
		t.Errorf("dropped %v; want the emptied channel", poller.dropped)
	}
}

func TestRunEndsChannelsAfterAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, owner := world(t)
		ended := make(chan time.Time, 1)
		store.changed = func(ch ownership.Channel, end bool) {
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
		store.put(ownership.Channel{ID: feedID, Incarnation: 7, EmptiedAt: emptied})
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
		store.put(ownership.Channel{ID: numbered(i), Incarnation: 1, EmptiedAt: time.Now().Add(-time.Hour)})
	}
	back := ownership.Channel{ID: numbered(1), Incarnation: 1, Subscribers: 1}
	store.channels[back.ID] = back // as the plan will hear later

	owner.sweep(t.Context())
	if len(store.ended) != due-1 {
		t.Errorf("%d of %d channels ended; want all but the one with a subscriber", len(store.ended), due)
	}
	store.put(back)
	store.put(ownership.Channel{ID: numbered(due), Incarnation: 1, EmptiedAt: time.Now()})
	owner.sweep(t.Context())
	if len(store.ended) != due-1 {
		t.Errorf("%d channels ended; want no more before their interval is over", len(store.ended))
	}
}
