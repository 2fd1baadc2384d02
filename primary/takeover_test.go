package primary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// quarters are the ranges of a cluster that has four.
func quarters() []channel.Range {
	ranges := make([]channel.Range, 4)
	const width = channel.Buckets / 4
	for i := range ranges {
		ranges[i] = channel.Range{ID: uint32(i), From: channel.Bucket(i * width), To: channel.Bucket((i+1)*width - 1)}
	}
	return ranges
}

// in returns the nth channel of a range, which has as many subscribers.
func in(r channel.Range, n int, subscribers uint64) channel.Channel {
	bucket := r.From + channel.Bucket(n%7)
	id := channel.ID{byte(bucket >> 4), byte(bucket << 4), byte(n >> 8), byte(n)}
	return channel.Channel{ID: id, URL: fmt.Sprintf("https://%d.example/%d", r.ID, n), Incarnation: 1, Subscribers: subscribers, Version: 1}
}

// leaders is a store of which an owner leads some ranges: it is told of their changes
// alone, and the store takes from it only what is of them.
type leaders struct {
	*memory
	mu  sync.Mutex
	led map[uint32]bool
}

var errNoLeader = fmt.Errorf("asked a node that does not lead: %w", ownership.ErrUnavailable)

func (s *leaders) lead(r channel.Range, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.led[r.ID] = leads
}

func (s *leaders) leads(id channel.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range quarters() {
		if r.Has(id.Bucket()) {
			return s.led[r.ID]
		}
	}
	return false
}

func (s *leaders) EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error {
	if !s.leads(id) {
		return errNoLeader
	}
	return s.memory.EndChannel(ctx, id, incarnation)
}

// newLeaders is an owner that leads nothing, and its store.
func newLeaders(config Config) (*leaders, *Owner, *orders) {
	config.Now, config.Logger = time.Now, slog.New(slog.DiscardHandler)
	if config.Interval == 0 {
		config.Interval, config.Floor = time.Hour, time.Minute
	}
	store := &leaders{memory: newMemory(), led: make(map[uint32]bool)}
	owner := New(config, store, nil)
	store.changed = func(ch channel.Channel, ended bool) {
		if store.leads(ch.ID) {
			owner.ChannelChanged(ch, ended)
		}
	}
	return store, owner, &orders{ordered: make(map[channel.ID]engine.Order)}
}

func (s *leaders) gain(o *Owner, r channel.Range) {
	s.lead(r, true)
	o.RangeGained(r, 1)
}

func (s *leaders) lose(o *Owner, r channel.Range) {
	s.lead(r, false)
	o.RangeLost(r, 1)
}

// stray tells a change of a range that the owner does not lead: one of the first instant
// before a gain, or of the last before a loss.
func (s *leaders) stray(o *Owner, random *rand.Rand, r channel.Range) {
	if ch, err := s.Channel(in(r, random.IntN(20), 0).ID); err == nil {
		o.ChannelChanged(ch, false)
	}
}

// After any series of gains, losses and changes, of each range by itself and of all at
// once, exactly the polled channels of the ranges that are led have orders, with what
// is committed of them, and the plan knows no others.
func TestOrdersFollowLeadership(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followLeadership(t, seed) })
		})
	}
}

// What this node plans is without the channels of a range a look after that is lost,
// however long the solve before it took.
func TestLostRangeIsNotPlanned(t *testing.T) {
	store, owner, poller := newLeaders(Config{})
	ranges := quarters()
	for i, r := range ranges[:2] {
		store.put(in(r, i, 1))
		store.gain(owner, r)
	}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	if planned := owner.Plan().Subscribers; planned != 2 {
		t.Fatalf("%v subscribers are planned for, want 2", planned)
	}
	owner.notBefore = time.Now().Add(time.Hour)
	store.lose(owner, ranges[0])
	owner.look(time.Now())
	if planned := owner.Plan().Subscribers; planned != 1 {
		t.Errorf("%v subscribers are planned for after a range was lost, want 1", planned)
	}
}

func followLeadership(t *testing.T, seed uint64) {
	store, owner, poller := newLeaders(Config{})
	owner.scanPage = 3
	ctx, stop := context.WithCancel(t.Context())
	var running, changing sync.WaitGroup
	running.Go(func() { owner.Run(ctx) })
	for i, r := range quarters() {
		changing.Go(func() { changeRange(store, owner, r, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	changing.Wait()
	time.Sleep(time.Minute)
	synctest.Wait()
	store.check(t, owner, poller)
	stop()
	running.Wait()
}

// changeRange changes channels of a range, and whether the owner leads it.
func changeRange(store *leaders, owner *Owner, r channel.Range, random *rand.Rand) {
	for range 150 {
		ch := in(r, random.IntN(20), uint64(random.IntN(4)))
		leads := store.leads(ch.ID)
		switch what := random.IntN(12); {
		case what < 6:
			ch.Gone = random.IntN(5) == 0
			if known, err := store.Channel(ch.ID); err == nil {
				ch.Version = known.Version
			}
			if !leads { // else a poller of this node has reported it, and knows
				ch.Version += uint64(random.IntN(3))
			}
			ch.EmptiedAt = time.Now()
			store.put(ch)
		case what < 7:
			if known, err := store.Channel(ch.ID); err == nil && known.Subscribers == 0 {
				_ = store.memory.EndChannel(context.Background(), ch.ID, 1)
			}
		case what < 8:
			owner.Bound(ch.ID, 1, time.Duration(random.IntN(3))*20*time.Minute)
		case what < 9:
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
		case leads:
			store.lose(owner, r)
			store.stray(owner, random, r)
		default:
			store.stray(owner, random, r)
			store.gain(owner, r)
		}
	}
}

// check compares orders and plan with what is stored.
func (s *leaders) check(t *testing.T, owner *Owner, poller *orders) {
	t.Helper()
	known, polled := 0, 0
	for id, ch := range s.channels {
		if !s.leads(id) {
			continue
		}
		known++
		order, ordered := poller.ordered[id]
		if wanted := ch.Subscribers > 0 && !ch.Gone; ordered != wanted {
			t.Errorf("channel %s, %+v: ordered %v", id, ch, ordered)
		} else if wanted {
			polled++
			if order.Version != ch.Version || order.Rate.Polls == 0 || order.Rate != owner.Rate(ch) {
				t.Errorf("channel %s at version %d and %v: ordered %+v", id, ch.Version, owner.Rate(ch), order)
			}
		}
	}
	p := &owner.book.plan
	if len(poller.ordered) != polled || p.polled != polled || p.factors.n != known {
		t.Errorf("%d orders, %d planned, %d known; want %d, %d, %d", len(poller.ordered), p.polled, p.factors.n, polled, polled, known)
	}
}

// What a node takes over has its own rates from the first order on, and the channels
// that it had go on with the orders that they have.
func TestTakeoverDisturbsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, owner, poller := newLeaders(Config{Budget: 600})
		mine, taken := quarters()[0], quarters()[1]
		for n := range 100 {
			store.put(in(mine, n, uint64(1+n)))
			store.put(in(taken, n, uint64(1+n)))
		}
		store.gain(owner, mine)
		first := &firstOrders{orders: poller, first: make(map[channel.ID]engine.Order)}
		if err := owner.Start(first); err != nil {
			t.Fatal(err)
		}
		if len(first.first) != 100 {
			t.Fatalf("%d channels ordered at the start, want 100", len(first.first))
		}
		store.gain(owner, taken)
		changed := in(taken, 3, 40)
		store.put(changed)
		owner.Bound(changed.ID, 1, time.Hour)
		if len(first.first) != 100 {
			t.Error("a channel of a range is ordered before the others of it are known")
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); owner.Run(ctx) }()
		synctest.Wait()
		if len(first.first) != 200 || first.again != 0 {
			t.Errorf("%d channels ordered, %d of them twice; want 200, none", len(first.first), first.again)
		}
		slowest, fastest := first.first[in(taken, 0, 0).ID].Rate, first.first[in(taken, 99, 0).ID].Rate
		if slowest.Float() >= fastest.Float() {
			t.Errorf("first ordered at %v and %v; want each at its own rate", slowest, fastest)
		}
		stop()
		<-done
	})
}

// firstOrders keeps the first order of each channel.
type firstOrders struct {
	*orders
	first map[channel.ID]engine.Order
	again int
}

func (f *firstOrders) Order(given ...engine.Order) {
	f.orders.Order(given...)
	for _, order := range given {
		if _, known := f.first[order.Channel]; known {
			f.again++
			continue
		}
		f.first[order.Channel] = order
	}
}

// A range that is gained while the owner starts is taken over too.
func TestGainDuringTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner *Owner
		gained := false
		config := Config{Share: func() float64 {
			if owner != nil && !gained {
				gained = true
				owner.RangeGained(quarters()[1], 1)
				synctest.Wait() // until Run has heard of it
			}
			return 1
		}}
		store, owned, poller := newLeaders(config)
		owner = owned
		store.put(in(quarters()[1], 1, 1))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); owner.Run(ctx) }()
		if err := owner.Start(poller); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if poller.mu.Lock(); len(poller.ordered) != 1 {
			t.Errorf("%d orders, want 1", len(poller.ordered))
		}
		poller.mu.Unlock()
		stop()
		<-done
	})
}

// A takeover whose store does not answer is tried again, by itself.
func TestTakeoverIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _, poller := newLeaders(Config{})
		failing := &failing{leaders: store}
		failing.fail.Store(2)
		owner := New(Config{Interval: time.Hour, Floor: time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, failing, nil)
		if err := owner.Start(poller); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); owner.Run(ctx) }()
		synctest.Wait() // until it waits for a range: it has been woken by Start already
		r := quarters()[2]
		store.put(in(r, 1, 1))
		store.gain(owner, r)
		synctest.Wait()
		if left := failing.fail.Load(); left != 1 {
			t.Errorf("the store has %d failures left, want 1: it was asked once", left)
		}
		time.Sleep(2 * takeOverAgain)
		synctest.Wait()
		poller.mu.Lock()
		defer poller.mu.Unlock()
		if len(poller.ordered) != 1 {
			t.Errorf("%d orders once the store answers, want 1", len(poller.ordered))
		}
		stop()
		<-done
	})
}

// A range that cannot be read keeps no other one from being taken over.
func TestTakeoverOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _, poller := newLeaders(Config{})
		damaged, whole := quarters()[1], quarters()[2]
		owner := New(Config{Interval: time.Hour, Floor: time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, &failing{leaders: store, damaged: damaged}, nil)
		if err := owner.Start(poller); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); owner.Run(ctx) }()
		for _, r := range []channel.Range{damaged, whole} {
			store.put(in(r, 1, 1))
			store.gain(owner, r)
		}
		time.Sleep(3 * takeOverAgain)
		synctest.Wait()
		poller.mu.Lock()
		defer poller.mu.Unlock()
		if len(poller.ordered) != 1 {
			t.Errorf("%d orders, want that of the range that can be read", len(poller.ordered))
		}
		stop()
		<-done
	})
}

type failing struct {
	*leaders
	fail    atomic.Int32  // calls that are to fail
	damaged channel.Range // of which all do
}

func (f *failing) ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	if f.fail.Add(-1) >= 0 || r == f.damaged {
		return nil, errors.New("cannot read")
	}
	return f.leaders.ChannelsIn(r, after, limit)
}

// A report is judged only while its channel's range is led, and committed only in the
// tenure in which it was judged: another node may have committed in between.
func TestReportOfARangeThatIsLost(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(o *Owner) // the report
		during func(o *Owner) // its judgement
		err    error
	}{
		{"led", func(*Owner) {}, func(*Owner) {}, nil},
		{"lost before", func(o *Owner) { o.RangeLost(everything, 1) }, func(*Owner) {}, ErrNotLed},
		{"lost during", func(*Owner) {}, func(o *Owner) { o.RangeLost(everything, 1) }, ErrNotLed},
		{"lost and regained during", func(*Owner) {}, func(o *Owner) { o.RangeLost(everything, 1); o.RangeGained(everything, 2) }, ErrNotLed},
		{"lost and regained before", func(o *Owner) { o.RangeLost(everything, 1); o.RangeGained(everything, 2) }, func(*Owner) {}, nil},
	} {
		memory, _ := world(t)
		store := &lookedAt{memory: memory}
		owner := New(Config{Interval: time.Minute, Floor: 10 * time.Second, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, store, nil)
		owner.RangeGained(everything, 1)
		store.seen = func() { test.during(owner) }
		test.before(owner)
		report := engine.Report{Channel: feedID, Incarnation: 7, Begun: time.Now(), Core: feed(t, "a")}
		answer, err := owner.Report(t.Context(), report)
		committed := len(memory.commits) > 0
		if !errors.Is(err, test.err) || committed != (test.err == nil) || answer.Ended {
			t.Errorf("%s: %+v, %v, committed %v; want %v", test.name, answer, err, committed, test.err)
		}
		move := engine.Move{Channel: feedID, Incarnation: 7, To: "https://example.com/new", At: time.Now(), Since: time.Now()}
		if err := owner.Moved(t.Context(), move); test.name == "lost before" && !errors.Is(err, ErrNotLed) {
			t.Errorf("%s: moved: %v", test.name, err)
		}
	}
}

// lookedAt does something while a report is judged.
type lookedAt struct {
	*memory
	seen func()
}

func (s *lookedAt) Seen(id channel.ID) ([]uint64, error) {
	s.seen()
	return s.memory.Seen(id)
}

// A range that cannot commit holds up the ends of its own channels only, however many,
// and is asked once a sweep.
func TestEndsOfOtherRangesGoOn(t *testing.T) {
	store, owner, _ := newLeaders(Config{})
	dead, alive := quarters()[0], quarters()[3]
	counting := &countedEnds{leaders: store}
	owner.sweeper.store = counting
	store.gain(owner, dead)
	store.gain(owner, alive)
	for n := range 2*sweepPage + 10 {
		ch := in(dead, n, 0)
		ch.EmptiedAt = time.Now().Add(-2 * time.Hour)
		store.put(ch)
	}
	for n := range 10 {
		ch := in(alive, n, 0)
		ch.EmptiedAt = time.Now().Add(-2 * time.Hour)
		store.put(ch)
	}
	store.lead(dead, false) // and the owner has not heard of it
	owner.sweep(t.Context())
	if len(store.ended) != 10 || counting.failed != 1 {
		t.Errorf("%d channels ended, %d calls failed; want 10 and 1", len(store.ended), counting.failed)
	}
}

type countedEnds struct {
	*leaders
	failed int
}

func (s *countedEnds) EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error {
	err := s.leaders.EndChannel(ctx, id, incarnation)
	if err != nil {
		s.failed++
	}
	return err
}

// Of a budget and of a host's cap each node plans with its part, and no more once it
// has taken over what others led.
func TestSharesOfBudgetAndHosts(t *testing.T) {
	share, pollers := 0.25, 4
	store, owner, poller := newLeaders(Config{
		Interval: time.Hour, Floor: time.Minute, Budget: 400,
		HostGap: func(string) time.Duration { return 36 * time.Second }, // 95 polls planned for
		Share:   func() float64 { return share },
		Pollers: func() int { return pollers },
	})
	for _, r := range quarters() {
		for n := range 10 {
			ch := in(r, n, 100)
			ch.URL = fmt.Sprintf("https://example.com/%s", ch.ID)
			store.put(ch)
		}
	}
	store.gain(owner, quarters()[0])
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	plan := owner.Plan()
	if plan.Budget != 100 || plan.Polls > 22.6 || plan.Polls < 20 {
		t.Errorf("a quarter of the ranges: budget %v, %v polls; want 100 and at most 22.56", plan.Budget, plan.Polls)
	}
	if e, err := owner.Explain(in(quarters()[0], 1, 0).ID); err != nil || math.Abs(e.HostCap-95*0.95/4) > 1e-9 {
		t.Errorf("host cap %v, %v; want a quarter of 95 but for what is kept back", e.HostCap, err)
	}
	share, pollers = 1, 1
	for _, r := range quarters()[1:] {
		store.gain(owner, r)
	}
	if err := owner.takeOver(poller); err != nil {
		t.Fatal(err)
	}
	if plan = owner.Plan(); plan.Budget != 400 || plan.Polls > 95 || plan.Polls < 80 {
		t.Errorf("all ranges: budget %v, %v polls; want 400 and at most 95", plan.Budget, plan.Polls)
	}
}

// A host's cap is divided by how many of its channels each owner has, once that is known.
func TestHostsByChannels(t *testing.T) {
	part := 0.0
	var asked []channel.Led
	store, owner, poller := newLeaders(Config{
		Interval: time.Hour, Floor: time.Minute, Budget: 1600,
		HostGap: func(string) time.Duration { return 36 * time.Second },
		Share:   func() float64 { return 0.25 },
		Pollers: func() int { return 4 },
		HostParts: func(owned []channel.Led) []float64 {
			asked = slices.Clone(owned)
			return slices.Repeat([]float64{part}, len(owned))
		},
	})
	for n := range 10 {
		ch := in(quarters()[0], n, 100)
		ch.URL = fmt.Sprintf("https://example.com/%s", ch.ID)
		store.put(ch)
	}
	store.gain(owner, quarters()[0])
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	want := func(when string, most float64) {
		t.Helper()
		if plan := owner.Plan(); plan.Polls > most || plan.Polls < 0.9*most {
			t.Errorf("%s: %v polls, want at most %v", when, plan.Polls, most)
		}
	}
	want("not known", 95*0.95/4)
	if led := (channel.Led{Host: channel.HostID("example.com:443"), Channels: 10}); !slices.Equal(asked, []channel.Led{led}) {
		t.Errorf("asked for %v, want %v", asked, led)
	}
	part = 0.8
	if err := owner.takeOver(poller); err != nil {
		t.Fatal(err)
	}
	want("most are its own", 0.8*95*0.95)
}

// What is ordered again is ordered between a beginning and an end of its own, and nothing of
// ranges that other nodes lead.
func TestOrderAgain(t *testing.T) {
	taken, other := quarters()[0], quarters()[1]
	store, owner, orders := newLeaders(Config{})
	for n := range 50 {
		store.put(in(taken, n, 1))
		store.put(in(other, n, 1))
	}
	store.gain(owner, taken)
	if err := owner.Start(orders); err != nil {
		t.Fatal(err)
	}
	clear(orders.ordered)
	owner.OrderAgain(other)
	if owner.startedWith() != nil {
		t.Error("a range that is not led waits to be ordered again")
	}
	owner.OrderAgain(everything)
	owner.OrderAgain(taken)
	if err := owner.takeOver(orders); err != nil {
		t.Fatal(err)
	}
	if want := []channel.Range{taken, taken}; !slices.Equal(orders.begun, want) || !slices.Equal(orders.completed, want) {
		t.Errorf("begun %v, completed %v; want %v", orders.begun, orders.completed, want)
	}
	if len(orders.ordered) != 50 {
		t.Errorf("%d channels ordered, want the 50 of the range that is led", len(orders.ordered))
	}
}

// A channel of which a poller of its new pace knows nothing is ordered as a whole.
func TestStrangersAreOrderedWhole(t *testing.T) {
	taken, share := quarters()[0], 1.0
	store, owner, orders := newLeaders(Config{Budget: 20, Share: func() float64 { return share }})
	orders.strange = make(map[channel.ID]bool)
	for n := range 20 {
		store.put(in(taken, n, 1))
	}
	store.gain(owner, taken)
	if err := owner.Start(orders); err != nil {
		t.Fatal(err)
	}
	stranger := in(taken, 3, 1)
	orders.strange[stranger.ID] = true
	delete(orders.ordered, stranger.ID)
	share = 0.5
	if err := owner.solve(true); err != nil {
		t.Fatal(err)
	}
	order, ordered := orders.ordered[stranger.ID]
	if !ordered || order.URL != stranger.URL || order.Rate.Float() != 0.5 || orders.paced < 20 {
		t.Errorf("ordered %v: %+v, %d paces; want the whole of an order of half a poll an interval", ordered, order, orders.paced)
	}
}
