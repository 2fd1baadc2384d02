package primary

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
)

// land is several owners of one cluster, each of which leads some ranges, in a bubble of
// synctest. What one tells, the others that live hear at once.
type land struct {
	t      *testing.T
	config Config
	store  *memory
	ranges []channel.Range
	owners []*landlord

	mu     sync.Mutex
	leader []int // of each range; −1: none
	term   uint64
}

type landlord struct {
	owner  *Owner
	poller *orders
	stop   context.CancelFunc
	done   chan struct{}
	dead   bool
}

const (
	landRanges = 16
	landOwners = 4
)

func newLand(t *testing.T, config Config) *land {
	l := &land{t: t, config: config, store: newMemory(), leader: slices.Repeat([]int{-1}, landRanges)}
	const width = channel.Buckets / landRanges
	for i := range landRanges {
		l.ranges = append(l.ranges, channel.Range{ID: uint32(i), From: channel.Bucket(i * width), To: channel.Bucket((i+1)*width - 1)})
	}
	l.store.changed = l.changed
	return l
}

// settle makes n channels in ranges that are not alike: those of the first are the most
// popular.
func (l *land) settle(n int) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		r := l.ranges[i%landRanges]
		popular := 1 + 40/float64(1+r.ID)
		q := uint64(1 + popular*math.Pow(random.Float64()+1e-3, -0.7))
		bucket := r.From + channel.Bucket(i/landRanges)%channel.Bucket(r.Buckets())
		id := channel.ID{byte(bucket >> 4), byte(bucket << 4), byte(i >> 8), byte(i)}
		l.store.put(channel.Channel{ID: id, URL: fmt.Sprintf("https://%d.example/", i), Incarnation: 1, Subscribers: q, Version: 1})
	}
}

func (l *land) changed(ch channel.Channel, ended bool) {
	if n := l.leaderOf(ch.ID.Bucket()); n >= 0 {
		l.owners[n].owner.ChannelChanged(ch, ended)
	}
}

func (l *land) leaderOf(b channel.Bucket) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.ranges {
		if r.Has(b) {
			return l.leader[i]
		}
	}
	return -1
}

func (l *land) share(n int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	led := 0
	for _, leader := range l.leader {
		if leader == n {
			led++
		}
	}
	return float64(led) / landRanges
}

// run starts all owners, each a part of a maintenance interval after the one before.
func (l *land) run() {
	for n := range landOwners {
		l.start(n)
		for i := range l.ranges {
			if i%landOwners == n {
				l.gain(n, i)
			}
		}
		time.Sleep(l.config.maintenance() / (landOwners + 1))
	}
}

// start starts an owner that leads nothing.
func (l *land) start(n int) {
	l.t.Helper()
	config := l.config
	config.Now, config.Logger, config.Ranges = time.Now, slog.New(slog.DiscardHandler), func() []channel.Range { return l.ranges }
	config.Share = func() float64 { return l.share(n) }
	one := new(landlord)
	config.Tell = func(tradeoffs []byte) { go l.tell(one, l.living(n), tradeoffs) }
	*one = landlord{owner: New(config, l.store, nil), poller: &orders{ordered: make(map[channel.ID]engine.Order)}, done: make(chan struct{})}
	l.mu.Lock()
	l.owners = append(l.owners, one)
	l.mu.Unlock()
	if err := one.owner.Start(one.poller); err != nil {
		l.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	one.stop = stop
	go func() { defer close(one.done); one.owner.Run(ctx) }()
}

// living returns the owners that live, but for one.
func (l *land) living(but int) (others []*landlord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, one := range l.owners {
		if n != but && !one.dead {
			others = append(others, one)
		}
	}
	return others
}

func (l *land) tell(from *landlord, others []*landlord, tradeoffs []byte) {
	for _, other := range others {
		if _, wrong, err := decodeTradeoffs(tradeoffs, other.owner.exchange.settings, other.owner.exchange.byID()); wrong != nil || err != nil {
			l.t.Error(wrong, err)
		}
		if err := other.owner.Hear(tradeoffs); err != nil {
			l.t.Error(err)
		}
		if reply := other.owner.Told(); reply != nil {
			if err := from.owner.Hear(reply); err != nil {
				l.t.Error(err)
			}
		}
	}
}

func (l *land) gain(n, i int) {
	l.mu.Lock()
	l.leader[i] = n
	l.term++
	term := l.term
	l.mu.Unlock()
	l.owners[n].owner.RangeGained(l.ranges[i], term)
}

// die ends an owner, with the polls that it ordered, and returns the ranges that it led.
func (l *land) die(n int) (led []int) {
	l.owners[n].stop()
	<-l.owners[n].done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners[n].dead = true
	for i, leader := range l.leader {
		if leader == n {
			l.leader[i] = -1
			led = append(led, i)
		}
	}
	return led
}

func (l *land) close() {
	for _, one := range l.owners {
		if !one.dead {
			one.stop()
			<-one.done
		}
	}
}

// crowd changes the subscribers of all channels.
func (l *land) crowd(change func(ch channel.Channel) uint64) {
	var all []channel.Channel
	for _, ch := range l.store.channels {
		all = append(all, ch)
	}
	slices.SortFunc(all, func(a, b channel.Channel) int { return a.ID.Compare(b.ID) })
	for _, ch := range all {
		if ch.Subscribers = change(ch); ch.Subscribers == 0 {
			ch.EmptiedAt = time.Now()
		}
		l.store.put(ch)
	}
}

// planned returns Σ rate and Σ q/rate of what living owners have ordered.
func (l *land) planned() (load, wait float64) {
	for _, one := range l.owners {
		if one.dead {
			continue
		}
		one.poller.mu.Lock()
		for id, order := range one.poller.ordered {
			r := order.Rate.Float()
			load += r
			wait += float64(l.store.channels[id].Subscribers) / r
		}
		one.poller.mu.Unlock()
	}
	return load, wait
}

// budget is that of all channels.
func (l *land) budget() (budget float64) {
	if l.config.Budget > 0 {
		return l.config.Budget
	}
	for _, ch := range l.store.channels {
		budget += float64(ch.Subscribers)
	}
	return budget
}

// central returns Σ q/rate of the optimum of all channels together.
func (l *land) central() (wait float64) {
	l.t.Helper()
	var ch honeycomb.Channels
	for _, one := range l.store.channels {
		ch.Subscribers = append(ch.Subscribers, float64(one.Subscribers))
	}
	p, err := honeycomb.Prepare(l.config.optimiserConfig(), ch)
	if err != nil {
		l.t.Fatal(err)
	}
	p.Solve()
	for i, q := range ch.Subscribers {
		if q > 0 {
			wait += q / p.Rate(i)
		}
	}
	return wait
}

// pass lets maintenance intervals pass. In no minute may the mean load be more than 5 %
// over the budget; at the end the plan has to be within 2 % of the optimum.
func (l *land) pass(what string, intervals int) {
	l.t.Helper()
	worst := 0.0
	for range time.Duration(intervals) * l.config.maintenance() / time.Minute {
		mean := 0.0
		for range 6 {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			load, _ := l.planned()
			mean += load / 6
		}
		worst = max(worst, mean/l.budget()-1)
	}
	load, wait := l.planned()
	off, central := load/l.budget()-1, l.central()
	l.t.Logf("%-28s load %+.4f of the budget at the end, %+.4f at most; objective %+.4f", what, off, worst, wait/central-1)
	if worst > 0.05 {
		l.t.Errorf("%s: load %+.4f over the budget", what, worst)
	}
	if wait/central-1 > 0.02 {
		l.t.Errorf("%s: objective %+.4f beyond the optimum", what, wait/central-1)
	}
}

// Four owners of ranges that are not alike plan, by what they tell each other, as one
// would: within three maintenance intervals of a start, of a death, of crowds that come
// and that go.
func TestOwnersPlanAsOne(t *testing.T) {
	for _, ladder := range []honeycomb.Ladder{honeycomb.Any(), honeycomb.Prefix(16)} {
		for _, budget := range []float64{0, 30_000} {
			t.Run(fmt.Sprintf("%v/%v", ladder, budget), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { planAsOne(t, ladder, budget) })
			})
		}
	}
}

func planAsOne(t *testing.T, ladder honeycomb.Ladder, budget float64) {
	l := newLand(t, Config{
		Interval: 30 * time.Minute, Floor: 5 * time.Minute, Pollers: func() int { return 64 },
		Ladder: ladder, Budget: budget,
	})
	l.settle(4000)
	l.run()
	defer l.close()
	l.pass("start", 3)
	l.crowd(func(ch channel.Channel) uint64 { return 2 * ch.Subscribers })
	l.pass("twice the subscriptions", 3)
	l.crowd(func(ch channel.Channel) uint64 { return (ch.Subscribers + 1) / 2 })
	l.pass("half of them leave", 3)
	popular := l.ranges[1].From
	l.crowd(func(ch channel.Channel) uint64 {
		if ch.ID.Bucket() == popular {
			return ch.Subscribers + 5000
		}
		return ch.Subscribers
	})
	l.pass("a crowd on one range", 3)
	l.crowd(func(ch channel.Channel) uint64 {
		if ch.ID.Bucket() == popular {
			return ch.Subscribers - 5000
		}
		return ch.Subscribers
	})
	l.pass("and gone", 3)
	led := l.die(3)
	time.Sleep(15 * time.Second)
	for k, i := range led {
		l.gain(k%3, i)
	}
	l.pass("a death", 3)
	l.start(4)
	time.Sleep(time.Second)
	for _, i := range led {
		l.owners[l.leaderOf(l.ranges[i].From)].owner.RangeLost(l.ranges[i], 0)
		l.gain(4, i)
	}
	l.pass("and its return", 3)
}

// What an owner that died told counts for three intervals, unless the next leader of its
// ranges tells something before; then its part of a budget that was set is not spent.
func TestTradeoffsOfTheDeadEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLand(t, Config{Interval: 30 * time.Minute, Floor: 5 * time.Minute, Pollers: func() int { return 64 }, Budget: 30_000})
		l.settle(2000)
		l.run()
		defer l.close()
		time.Sleep(30 * time.Minute)
		led := l.die(3)
		part := func() float64 {
			x := l.owners[0].owner.exchange
			x.mu.Lock()
			defer x.mu.Unlock()
			return x.known(time.Since(x.began)).Part
		}
		time.Sleep(19 * time.Minute) // of the latest that was told, up to ten have passed
		if got := part(); got != 1 {
			t.Errorf("after 19 minutes of silence %v of all channels is known, want 1", got)
		}
		time.Sleep(25 * time.Minute)
		synctest.Wait()
		if load, _ := l.planned(); part() != 0.75 || math.Abs(load/30_000-0.75) > 0.01 {
			t.Errorf("after 44 minutes %v of all channels is known, %v planned; want 0.75, 22,500", part(), load)
		}
		l.gain(1, led[0])
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := part(); got != 0.75+1.0/landRanges {
			t.Errorf("with a new leader of one range %v of all channels is known, want 0.8125", got)
		}
	})
}

func TestTradeoffsAreChecked(t *testing.T) {
	cluster := local.Cluster{Cost: 10, Root: 20, Least: 3, Most: 5}
	good := local.Told{Range: 3, Term: 7, Sequence: 9, Summary: local.Summary{
		Clusters: []local.Cluster{cluster}, FixedLoad: 1, FixedWait: 2, Subscribers: 3, Auto: 4, Planned: 5, Wait: 6, Lambda: 7, Wanted: 8, Limit: 9,
	}}
	with := func(change func(*local.Told)) local.Told {
		told := good
		told.Summary.Clusters = []local.Cluster{cluster}
		change(&told)
		return told
	}
	wrong := map[string]local.Told{
		"unknown range":     with(func(t *local.Told) { t.Range = 4 }),
		"NaN":               with(func(t *local.Told) { t.Summary.Planned = math.NaN() }),
		"negative":          with(func(t *local.Told) { t.Summary.FixedLoad = -1 }),
		"infinite":          with(func(t *local.Told) { t.Summary.Auto = math.Inf(1) }),
		"empty cluster":     with(func(t *local.Told) { t.Summary.Clusters[0] = local.Cluster{} }),
		"NaN in a cluster":  with(func(t *local.Told) { t.Summary.Clusters[0].Root = math.NaN() }),
		"mean out of range": with(func(t *local.Told) { t.Summary.Clusters[0].Root = 100 }),
		"upside down":       with(func(t *local.Told) { t.Summary.Clusters[0].Least = 9 }),
		"many clusters":     with(func(t *local.Told) { t.Summary.Clusters = slices.Repeat([]local.Cluster{cluster}, local.Bins+1) }),
	}
	ranges := map[uint32]channel.Range{3: {ID: 3}}
	for name, bad := range wrong {
		told, refused, err := decodeTradeoffs(encodeTradeoffs("s", []local.Told{bad, good}), "s", ranges)
		if err != nil || len(refused) != 1 || !reflect.DeepEqual(told, []local.Told{good}) {
			t.Errorf("%s: took %+v, refused %v, %v", name, told, refused, err)
		}
	}
	for name, bytes := range map[string][]byte{
		"no message": {0xff}, "other settings": encodeTradeoffs("other", []local.Told{good}), "long": make([]byte, mostTradeoffs+1),
	} {
		if told, _, err := decodeTradeoffs(bytes, "s", ranges); err == nil || told != nil {
			t.Errorf("%s: took %+v, %v", name, told, err)
		}
	}
}

// A cluster without channels gives all of them what they want as they come, on one node or
// on all, without waiting for a maintenance.
func TestFirstChannelsOfOwners(t *testing.T) {
	for _, budget := range []float64{0, 3000} {
		synctest.Test(t, func(t *testing.T) {
			l := newLand(t, Config{Interval: 30 * time.Minute, Floor: 5 * time.Minute, Pollers: func() int { return 64 }, Budget: budget})
			l.run()
			defer l.close()
			id := channel.ID{byte(l.ranges[5].From >> 4), byte(l.ranges[5].From << 4)}
			l.store.put(channel.Channel{ID: id, URL: "https://a.example/", Incarnation: 1, Subscribers: 10, Version: 1})
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if load, _ := l.planned(); load < 10 {
				t.Errorf("budget %v: %v polls of the first channel, want 10 at least", budget, load)
			}
			l.settle(1000)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			load, wait := l.planned()
			if off := load/l.budget() - 1; off > 0.001 || wait/l.central()-1 > 0.05 {
				t.Errorf("budget %v: two minutes after a thousand more: load %+.4f off, objective %+.4f beyond the optimum", budget, off, wait/l.central()-1)
			}
		})
	}
}
