package primary

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// town is an owner with a poller, and channels on a few hosts.
type town struct {
	t      fataler
	store  *memory
	owner  *Owner
	poller *orders
	next   uint64 // incarnation
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newTown(t fataler, c Config) *town {
	c.Now, c.Logger = time.Now, slog.New(slog.DiscardHandler)
	w := &town{t: t, store: newMemory(), poller: &orders{ordered: make(map[channel.ID]engine.Order)}}
	w.owner = New(c, w.store, nil)
	w.owner.RangeGained(everything, 1)
	w.store.changed = w.owner.ChannelChanged
	return w
}

func (w *town) start() {
	w.t.Helper()
	if err := w.owner.Start(w.poller); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// run starts the owner in a bubble of synctest and keeps it running until the test
// ends.
func (w *town) run(t *testing.T) {
	w.start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.owner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// subscribe gives channel n of one of ten hosts so many subscribers.
func (w *town) subscribe(n int, subscribers uint64) {
	id := numbered(n)
	ch, err := w.store.Channel(id)
	if err != nil {
		w.next++
		ch = channel.Channel{ID: id, URL: fmt.Sprintf("http://host%d.example/%d", n%10, n), Incarnation: w.next, Version: 1}
	}
	if ch.Subscribers = subscribers; subscribers == 0 {
		ch.EmptiedAt = time.Now()
	}
	w.store.put(ch)
}

func (w *town) stale() bool {
	w.owner.book.Lock()
	defer w.owner.book.Unlock()
	return w.owner.book.plan.stale
}

func (w *town) rate(n int) float64 { return w.poller.ordered[numbered(n)].Rate.Float() }

// planned is Σ rate of what is ordered.
func (w *town) planned() (sum float64) {
	w.poller.mu.Lock()
	defer w.poller.mu.Unlock()
	for _, order := range w.poller.ordered {
		sum += order.Rate.Float()
	}
	return sum
}

// After any series of changes the rates are those of a solve of the same factors from
// the start, and each is ordered.
func TestRatesAreTheOptimisers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTown(t, drawConfig(t))
		for n := range rapid.IntRange(0, 30).Draw(t, "channels") {
			w.subscribe(n, rapid.Uint64Range(0, 50).Draw(t, "subscribers"))
		}
		w.start()
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				w.change(t)
			}
			if err := w.owner.solve(rapid.IntRange(0, 5).Draw(t, "full") == 0); err != nil {
				t.Fatal(err)
			}
			for len(w.owner.book.plan.dirty) > 0 || w.stale() {
				if err := w.owner.solve(w.stale()); err != nil {
					t.Fatal(err)
				}
			}
			w.check()
		}
	})
}

func drawConfig(t *rapid.T) Config {
	c := Config{
		Interval: time.Hour, Floor: rapid.SampledFrom([]time.Duration{time.Minute, 7 * time.Minute, time.Hour}).Draw(t, "floor"),
		Policy: rapid.SampledFrom([]honeycomb.Policy{honeycomb.Lite, honeycomb.Fast, honeycomb.Fair}).Draw(t, "policy"),
		Ladder: rapid.SampledFrom([]honeycomb.Ladder{honeycomb.Any(), honeycomb.Geometric(2)}).Draw(t, "ladder"),
		Cost:   rapid.SampledFrom([]honeycomb.Cost{honeycomb.Polls, honeycomb.Bytes}).Draw(t, "cost"),
		Budget: rapid.SampledFrom([]float64{0, 0, 20, 5000, 1e6}).Draw(t, "budget"),
		Target: 10 * time.Minute,
	}
	if gap := rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute}).Draw(t, "gap"); gap > 0 {
		c.HostGap = func(string) time.Duration { return gap }
	}
	return c
}

// change does something to a channel.
func (w *town) change(t *rapid.T) {
	n := rapid.IntRange(0, 40).Draw(t, "channel")
	incarnation := w.store.channels[numbered(n)].Incarnation
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		w.owner.Bound(numbered(n), incarnation, time.Duration(rapid.IntRange(0, 600).Draw(t, "at least"))*time.Minute/2)
	case 1:
		w.owner.Sized(numbered(n), incarnation, rapid.Int64Range(0, 1e6).Draw(t, "bytes"))
	case 2:
		w.subscribe(n, 0)
		if err := w.store.EndChannel(context.Background(), numbered(n), w.store.channels[numbered(n)].Incarnation); err != nil {
			t.Fatal(err)
		}
	default:
		w.subscribe(n, rapid.Uint64Range(0, 1000).Draw(t, "subscribers"))
	}
}

// check compares what is ordered with a solve of all that is known, in the same rows.
func (w *town) check() {
	w.t.Helper()
	o := w.owner
	p := &o.book.plan
	all := honeycomb.Channels{}
	rows := o.rates.columns.Len()
	for _, column := range []*[]float64{&all.Subscribers, &all.SizeBytes, &all.UpdateInterval, &all.MinRate, &all.MaxRate} {
		*column = make([]float64, rows)
	}
	all.Host = slices.Repeat([]int32{noHost}, rows)
	config := o.config.optimiserConfig()
	config.HostCaps = make([]float64, 10)
	taken := make(map[int32]bool)
	for id, ch := range w.store.channels {
		f, _ := p.factors.get(id)
		if ch.Subscribers == 0 {
			continue
		}
		if f.dirty || taken[f.row] {
			w.t.Fatalf("channel %s: %+v", id, f)
		}
		taken[f.row] = true
		all.Subscribers[f.row] = float64(ch.Subscribers)
		all.SizeBytes[f.row] = p.costOf(f)
		all.UpdateInterval[f.row] = honeycomb.LongestInterval
		all.MaxRate[f.row] = f.most.float()
		if gap := o.config.HostGap; gap != nil {
			number := int32(ch.URL[len("http://host")] - '0')
			all.Host[f.row], config.HostCaps[number] = number, plannedPart*float64(o.config.Interval)/float64(gap(""))
		}
	}
	problem, err := honeycomb.Prepare(config, all)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	problem.Solve()
	for id, ch := range w.store.channels {
		f, _ := p.factors.get(id)
		if ch.Subscribers == 0 {
			continue
		}
		want := paceOf(problem.Rate(int(f.row)))
		if order := w.poller.ordered[id]; f.rate != want || order.Rate != want.rate() {
			w.t.Fatalf("channel %s: %+v, ordered %+v, want rate %d", id, f, order.Rate, want)
		}
	}
}

// A channel that is suddenly popular has its rate within two seconds, and the plan
// stays within the budget.
func TestFlashCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Budget: 3000})
		for n := range 1000 {
			w.subscribe(n, 1+uint64(n%7))
		}
		w.run(t)
		if got := w.planned(); math.Abs(got-3000) > 1 || w.rate(500) > 5 {
			t.Fatalf("%v polls planned, %v of the channel; want the budget", got, w.rate(500))
		}
		w.subscribe(500, 4000)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := w.rate(500); got != 30 {
			t.Errorf("rate %v after two seconds; want the most, 30", got)
		}
		if got := w.planned(); got > 3000 {
			t.Errorf("%v polls planned, of 3000", got)
		}
	})
}

// When nearly all subscribers leave, those who stay have the polls that they pay for.
func TestMassUnsubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute})
		for n := range 1000 {
			w.subscribe(n, 20)
		}
		w.run(t)
		for n := range 990 {
			w.subscribe(n, 0)
		}
		for n := 990; n < 1000; n++ {
			w.subscribe(n, 1)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := w.planned(); got != 10 || len(w.poller.ordered) != 10 {
			t.Errorf("%v polls planned of %d channels; want 10 of 10", got, len(w.poller.ordered))
		}
		if plan := w.owner.Plan(); plan.Budget != 10 || plan.Polls != 10 {
			t.Errorf("%+v", plan)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if rows := w.owner.rates.columns.Len(); rows > 10+fewRows {
			t.Errorf("%d rows for 10 channels after a maintenance", rows)
		}
	})
}

// With a budget of less than a poll an interval for each, no more is ordered from the
// beginning on, and of what comes later.
func TestSmallBudgetFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Budget: 100})
		for n := range 1000 {
			w.subscribe(n, 1+uint64(n%7))
		}
		w.run(t)
		if got := w.planned(); got > 100 || got < 90 {
			t.Errorf("%v polls planned, of 100", got)
		}
		for n := 1000; n < 2000; n++ {
			w.subscribe(n, 5)
			if got := w.rate(n); got > 0.1 {
				t.Fatalf("rate %v at once", got)
			}
		}
		if got := w.planned(); got > 200 {
			t.Errorf("%v polls planned at once, of 100", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := w.planned(); got > 100 || got < 90 {
			t.Errorf("%v polls planned, of 100", got)
		}
	})
}

// A host's channels share what its gap allows, less what is kept back.
func TestHostCaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gap := func(host string) time.Duration {
			return map[string]time.Duration{"host3.example:80": time.Minute}[host]
		}
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, HostGap: gap})
		for n := range 100 {
			w.subscribe(n, 20)
		}
		w.run(t)
		check := func(when string) {
			t.Helper()
			var polls float64
			for n := 3; n < 400; n += 10 {
				polls += w.rate(n)
			}
			if polls > 28.5 || polls < 27 {
				t.Errorf("%s: %v polls of the host; want 28.5", when, polls)
			}
		}
		check("at the start")
		if plan := w.owner.Plan(); plan.HostsBound != 1 || !plan.Feasible || plan.Polls < 1800 {
			t.Errorf("%+v", plan)
		}
		for n := 103; n < 400; n += 10 {
			w.subscribe(n, 3)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check("with more channels than polls")
	})
}

// The cap of a host binds also where it is passed only because the floor, which several nodes
// share, does not divide the interval.
func TestHostCapsOfAnOddFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gap := func(host string) time.Duration {
			return map[string]time.Duration{"host3.example:80": 10 * time.Second}[host]
		}
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: 16 * time.Minute, HostGap: gap, Pollers: func() int { return 2 }})
		for n := 3; n < 400; n += 10 {
			w.subscribe(n, 1000)
		}
		w.run(t)
		var polls float64
		for n := 3; n < 400; n += 10 {
			polls += w.rate(n)
		}
		if most := 0.95 * 180 / 2; polls > most || polls < most-6 {
			t.Errorf("%v polls of the host; want this node's part, %v", polls, most)
		}
	})
}

// A target that no rates reach is said to be so, and the nearest is planned.
func TestUnreachableTarget(t *testing.T) {
	for _, test := range []struct {
		target   time.Duration
		feasible bool
	}{{5 * time.Minute, true}, {time.Second, false}} {
		w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute, Policy: honeycomb.Fast, Target: test.target})
		for n := range 100 {
			w.subscribe(n, 10)
		}
		w.start()
		plan := w.owner.Plan()
		if plan.Feasible != test.feasible || plan.Unmet.Target == test.feasible || plan.Target != test.target {
			t.Errorf("target %v: %+v", test.target, plan)
		}
		if test.feasible && plan.Detected > test.target || !test.feasible && math.Abs(plan.Polls-1000) > 10 {
			t.Errorf("target %v: %v detected, %v polls", test.target, plan.Detected, plan.Polls)
		}
	}
}

// Equal rates are not ordered again.
func TestRatesAreOrderedOnce(t *testing.T) {
	w := newTown(t, Config{Interval: 30 * time.Minute, Floor: time.Minute})
	for n := range 1000 {
		w.subscribe(n, 1+uint64(n%7))
	}
	w.start()
	w.poller.paced = 0
	for range 3 {
		if err := w.owner.solve(true); err != nil {
			t.Fatal(err)
		}
	}
	if w.poller.paced != 0 {
		t.Errorf("%d orders of rates that are ordered", w.poller.paced)
	}
	w.subscribe(3, 5)
	solve(t, w.owner)
	if w.poller.paced < 1 || w.poller.paced > 20 {
		t.Errorf("%d orders after one change", w.poller.paced)
	}
}

// Whatever changes while rates are solved for, the plan is that of what there is in
// the end.
func TestChangesWhileSolving(t *testing.T) {
	w := newTown(t, Config{
		Interval: time.Hour, Floor: time.Minute,
		HostGap: func(string) time.Duration { return time.Minute },
	})
	w.start()
	var changing sync.WaitGroup
	for part := range 4 {
		changing.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(part)))
			for range 3000 {
				n := part + 4*r.IntN(100)
				id, incarnation := numbered(n), uint64(n+1)
				switch r.IntN(4) {
				case 0:
					w.owner.Bound(id, incarnation, time.Duration(r.IntN(120))*time.Minute)
				default:
					w.store.put(channel.Channel{ID: id, URL: fmt.Sprintf("http://host%d.example/%d", n%10, n), Incarnation: incarnation, Subscribers: uint64(r.IntN(9) * r.IntN(9))})
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { changing.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		if err := w.owner.solve(w.stale()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.owner.solve(true); err != nil {
			t.Fatal(err)
		}
	}
	w.check()
}
