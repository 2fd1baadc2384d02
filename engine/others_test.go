package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// handOver is how a range goes from one node to the next, in the words of package
// ownership: the next leads at an instant, the one before has a lease until at most a lease
// later, and learns of it at any time.
type handOver struct {
	gap    time.Duration // before it none of them leads
	lapses time.Duration // after it, less than lease
	drops  time.Duration // after it
}

const lease = time.Second

// TestNoPollUnderTheFloorAtATakeover: three nodes poll the same channels, of all rates and
// with slow answers, one after the other; who was paused wakes with polls in its queues. No
// two polls of a channel come under the floor, whichever node makes them, and each leader
// polls each channel, a floor late at most.
func TestNoPollUnderTheFloorAtATakeover(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { takeOvers(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

const takeOverChannels = 30

func takeOvers(t *testing.T, random *rand.Rand) {
	const interval, floor = time.Minute, 10 * time.Second
	up := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	nodes := make([]*world, 3)
	for i := range nodes {
		nodes[i] = newWorld(t, Config{Interval: interval, Floor: floor})
		defer nodes[i].close()
		nodes[i].lapse(true)
		for n := range takeOverChannels {
			nodes[i].origins[testURL(n)] = &origin{status: 200, body: "same", etag: "e", after: up(3 * time.Second)}
		}
	}
	leader := nodes[0]
	lead(leader, time.Time{})
	for next := 1; next < 8; next++ {
		leader.lapse(false)
		began := time.Now()
		leads := 2*floor + 2*interval + up(3*interval)
		leader.pass(leads)
		for n := range takeOverChannels {
			if !slices.ContainsFunc(leader.askedFor(testURL(n)), began.Before) {
				t.Errorf("leader %d has not polled channel %d within %v", next, n, leads)
			}
		}
		before := leader
		leader = nodes[next%3]
		h := handOver{up(3 * time.Second), up(lease), up(2 * floor)}
		if random.IntN(2) == 0 { // it goes on until it is deposed: else it is cut off or paused before
			before.pass(h.gap)
		} else {
			before.lapse(true)
			before.pass(h.gap)
		}
		lead(leader, time.Now().Add(lease))
		leader.lapse(false)
		time.AfterFunc(h.lapses, func() { before.lapse(true) })
		time.AfterFunc(h.drops, func() {
			for n := range takeOverChannels {
				before.engine.Drop(channel.IDOf(testURL(n)))
			}
		})
	}
	leader.pass(interval)
	for n := range takeOverChannels {
		var all []time.Time
		for _, node := range nodes {
			all = append(all, node.askedFor(testURL(n))...)
		}
		slices.SortFunc(all, time.Time.Compare)
		for i := 1; i < len(all); i++ {
			if apart := all[i].Sub(all[i-1]); apart < floor {
				t.Errorf("channel %d is asked %v and %v later", n, all[i-1].Sub(nodes[0].start), apart)
			}
		}
	}
}

// lead gives a node the orders of the one that leads from now on.
func lead(w *world, others time.Time) {
	w.mu.Lock()
	var orders []Order
	for n := range takeOverChannels {
		o := testOrder(n, 0)
		o.Rate, o.Others = overlay.Rate{Polls: 1 + uint32(n%6), Intervals: 1}, others
		if version := w.own(o.Channel); version.core != nil {
			o.Version, o.Hash = version.version, version.hash()
		}
		orders = append(orders, *o)
	}
	w.mu.Unlock()
	w.engine.Order(orders...)
}

// askedFor returns when a URL was asked for so far.
func (w *world) askedFor(url string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked[url])
}

// lapse says whether the node has no lease.
func (w *world) lapse(lapsed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lapsed = lapsed
}

// TestFloorCountsFromTheRequest: what held a request up before it was sent, a suspended
// process or a slow connection, does not bring the next one closer.
func TestFloorCountsFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const floor = 10 * time.Second
		w := newWorld(t, Config{Interval: time.Minute, Floor: floor})
		defer w.close()
		url := testURL(1)
		w.origins[url] = &origin{status: 200, body: "same", etag: "e"}
		var mu sync.Mutex
		var sent []time.Time
		polls := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(sent)
		}
		w.engine.asker.fetcher = fetchFunc(func(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
			if polls()%2 == 0 {
				time.Sleep(7 * time.Second)
			}
			mu.Lock()
			sent = append(sent, time.Now())
			mu.Unlock()
			if polls()%5 == 0 {
				return nil, &fetcher.Error{Class: fetcher.Timeout, URL: req.URL, Err: context.DeadlineExceeded, Sent: time.Now()}
			}
			resp, err := w.Fetch(ctx, req)
			resp.Sent = time.Now()
			return resp, err
		})
		o := testOrder(1, 0)
		o.Rate = overlay.Rate{Polls: 6, Intervals: 1}
		w.engine.Order(*o)
		w.pass(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(sent) < 20 {
			t.Fatalf("%d polls", len(sent))
		}
		for i := 1; i < len(sent); i++ {
			if apart := sent[i].Sub(sent[i-1]); apart < floor {
				t.Errorf("poll %d is sent %v after the one before", i, apart)
			}
		}
	})
}
