package webhook

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// crowd is a fleet whose nodes deliver to one endpoint, each from a channel of its own.
type crowd struct {
	*fleet
	keeper   channel.Range // of the endpoint
	channels []channel.ID
	subs     []channel.Subscription
	asked    []time.Time // requests at the endpoint
}

// newCrowd returns a crowd in which each node leads the range of a channel, long enough to
// know of old updates, and the last one the endpoint's, which is sinkA.
func newCrowd(nodes int) *crowd { return newTunedCrowd(nodes, func(*fleetNode) {}) }

func newTunedCrowd(nodes int, tune func(*fleetNode)) *crowd {
	c := &crowd{fleet: newFleet(nodes, 8, tune)}
	for _, n := range c.nodes {
		n.dispatcher.caller.transport = tap(c.sinks, func(request *http.Request) {
			n.sends(request)
			c.asked = append(c.asked, time.Now())
		})
	}
	var others []channel.Range
	for _, r := range c.cluster.Ranges() {
		if r.Has(channel.IDOf(sinkA).Bucket()) {
			c.keeper = r
		} else {
			others = append(others, r)
		}
	}
	c.cluster.Lead(c.keeper, c.nodes[nodes-1].member)
	for i, r := range others {
		c.cluster.Lead(r, c.nodes[i%nodes].member)
	}
	for _, r := range others[:4] {
		id := c.store.AddChannel(inRange(r, "origin"))
		c.channels, c.subs = append(c.channels, id), append(c.subs, c.store.Subscribe(id, sinkA, ""))
	}
	elapse(2 * clockSkew)
	return c
}

func (c *crowd) commit() {
	for _, id := range c.channels {
		c.store.Commit(id)
	}
}

// tries returns when requests came, since the first of them; those of one moment are one.
func (c *crowd) tries() (tries []time.Duration) {
	c.sinks.locked(func() {
		for _, at := range c.asked {
			since := at.Sub(c.asked[0])
			if len(tries) == 0 || since-tries[len(tries)-1] > time.Second {
				tries = append(tries, since)
			}
		}
	})
	return tries
}

// fails has an endpoint fail through the whole schedule and returns when it was tried.
// Meanwhile, between two tries, something happens now and then.
func fails(t *testing.T, nodes int, every time.Duration, happens func(c *crowd)) (tries []time.Duration, requests int) {
	synctest.Test(t, func(*testing.T) {
		c := newCrowd(nodes)
		defer c.stops()
		c.sinks.set(sinkA, answer{err: errNetwork, delay: 50 * time.Millisecond}) // all begin before the first fails
		c.commit()
		for end := time.Now().Add(76 * time.Hour); time.Now().Before(end); elapse(every) {
			happens(c)
		}
		tries = c.tries()
		c.sinks.locked(func() { requests = len(c.asked) })
	})
	return tries, requests
}

// Several nodes try an endpoint that fails no more often than one node does, at the same
// times.
func TestSeveralTryAsOne(t *testing.T) {
	commits := func(c *crowd) { c.commit() }
	alone, requests := fails(t, 1, time.Hour, commits)
	if len(alone) != 10 {
		t.Fatalf("one node tries at %v, want ten steps", alone)
	}
	for _, nodes := range []int{2, 3} {
		tries, all := fails(t, nodes, time.Hour, commits)
		if len(tries) != len(alone) || all != requests {
			t.Fatalf("%d nodes make %d requests, at %v; one makes %d, at %v", nodes, all, tries, requests, alone)
		}
		for i := range tries {
			if late := tries[i] - alone[i]; late.Abs() > time.Second {
				t.Errorf("%d nodes try at %s, one does at %s", nodes, tries[i], alone[i])
			}
		}
	}
}

// A change of the keeper costs one try more at most, also when it comes while a request is
// under way, or its outcome is not saved yet. A try of a streak that is not saved at all is
// the first one again, of each node.
func TestKeeperChangesInStreak(t *testing.T) {
	alone, _ := fails(t, 1, time.Hour, func(*crowd) {})
	for seed := range uint64(10) {
		random, changes, seen := rand.New(rand.NewPCG(seed, 0)), 0, 0
		tries, requests := fails(t, 3, 20*time.Millisecond, func(c *crowd) {
			if made := len(c.tries()); made == seen {
				elapse(time.Until(c.nextTry()))
				return
			}
			seen++
			elapse(time.Duration(random.Int64N(int64(4*time.Millisecond) << random.IntN(9))))
			c.cluster.Lead(c.keeper, nil)
			elapse(time.Duration(random.Int64N(int64(4*time.Millisecond) << random.IntN(9))))
			c.cluster.Lead(c.keeper, c.nodes[random.IntN(3)].member)
			changes++
		})
		t.Logf("seed %d: %d tries of %d requests with %d changes of the keeper", seed, len(tries), requests, changes)
		if changes < 10 || len(tries) > len(alone)+changes || requests > 4*(1+changes)+len(alone) {
			t.Errorf("seed %d: too many for %d tries of one node", seed, len(alone))
		}
		if last := tries[len(tries)-1]; last < alone[len(alone)-1]-time.Minute {
			t.Errorf("seed %d: the last try came %s after the first, want the schedule's", seed, last)
		}
	}
}

// nextTry returns when the next try is due by the store's record, soon if it has none.
func (c *crowd) nextTry() time.Time {
	return latest(c.store.Kept(sinkA).NextAttempt, time.Now().Add(20*time.Millisecond))
}

// A suspension makes one gap for each subscription, whichever node delivers to it, and
// nothing that the gap covers comes later, however leaders change.
func TestSeveralMakeOneGapEach(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { suspended(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func suspended(t *testing.T, random *rand.Rand) {
	c := newTunedCrowd(3, func(n *fleetNode) { n.member.Pause = hesitate() })
	defer c.stops()
	c.sinks.set(sinkA, answer{err: errNetwork})
	for range 25 {
		c.commit()
		elapse(4 * time.Hour)
	}
	if e := c.store.Kept(sinkA); e.State != channel.EndpointSuspended {
		t.Fatalf("endpoint %+v, want suspended", e)
	}
	c.sinks.set(sinkA, answer{delay: 20 * time.Millisecond})
	for !c.store.Kept(sinkA).Works() {
		elapse(time.Duration(random.Int64N(int64(time.Minute))))
	}
	for range 20 { // as soon as it works
		if ranges := c.cluster.Ranges(); random.IntN(2) == 0 {
			c.cluster.Lead(ranges[random.IntN(len(ranges))], c.nodes[random.IntN(3)].member)
		}
		elapse(time.Duration(random.Int64N(int64(4*time.Millisecond) << random.IntN(10))))
	}
	c.commit()
	elapse(10 * time.Minute)
	for _, sub := range c.subs {
		c.checkGap(t, sub)
	}
}

// checkGap checks that a subscription was told of one gap, and got what follows it.
func (c *crowd) checkGap(t *testing.T, sub channel.Subscription) {
	t.Helper()
	var gaps []string
	lost, next := uint64(0), sub.FromVersion
	for _, a := range c.sinks.arrivals(sub) {
		switch d := a.message.Data; a.message.Type {
		case api.MessageGap:
			if !slices.Contains(gaps, a.id) { // again: its acknowledgement was not saved
				gaps = append(gaps, a.id)
			}
			lost, next = max(lost, d.To), max(next, d.To+1)
		case api.MessageUpdated:
			if len(gaps) == 0 || d.Version <= lost {
				t.Errorf("%s got version %d after the gaps %v", sub.ID, d.Version, gaps)
			}
			next = max(next, d.Version+1)
		}
	}
	ch, _ := c.store.Channel(sub.Channel)
	if len(gaps) != 1 || next != ch.Version+1 {
		t.Errorf("%s got the gaps %v and all before %d; the channel is at %d", sub.ID, gaps, next, ch.Version)
	}
}

// A node that is cut off from the keeper makes no try, whatever it has, but for what it
// sends while the endpoint works for all it knows. The others go on without it.
func TestCutOffFromKeeper(t *testing.T) {
	for name, known := range map[string]bool{"of an endpoint that it knows to fail": true, "before it fails": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { cutOff(t, known) })
		})
	}
}

func cutOff(t *testing.T, known bool) {
	c := newCrowd(3)
	defer c.stops()
	cut := c.nodes[0]
	set := func(is bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		cut.cut = is
	}
	c.sinks.set(sinkA, answer{err: errNetwork})
	set(!known)
	c.commit()
	elapse(time.Second)
	set(true)
	before := c.requests(cut)
	for range 10 {
		c.commit()
		elapse(10 * time.Minute)
	}
	c.sinks.set(sinkA, answer{})
	elapse(3 * time.Hour)
	if made := c.requests(cut); before == 0 || before > 2 || made != before {
		t.Errorf("%d requests of a node that the keeper cannot answer, after at most one for each of its 2 subscriptions (%d)", made-before, before)
	}
	set(false)
	elapse(2 * time.Minute)
	if complaints := c.missing(c.subs); len(complaints) > 0 {
		t.Error(complaints)
	}
}

// As long as endpoints work, no message crosses nodes for them but one for each new
// subscription.
func TestGoodCaseCostsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(3)
		defer c.stops()
		asked := func() (n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, n2 := range c.nodes {
				n += n2.questions
			}
			return n
		}
		before := asked()
		for range 100 {
			c.commit()
			elapse(time.Second)
		}
		if after := asked(); before == 0 || after != before {
			t.Errorf("%d messages for subscriptions, %d for deliveries", before, after-before)
		}
		if complaints := c.missing(c.subs); len(complaints) > 0 {
			t.Error(complaints)
		}
	})
}

// A subscription revives an endpoint that answered 410 for all nodes.
func TestNewSubscriptionRevivesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(3)
		defer c.stops()
		c.sinks.set(sinkA, answer{status: http.StatusGone})
		c.commit()
		elapse(time.Hour)
		c.commit()
		elapse(time.Hour)
		if e := c.store.Kept(sinkA); e.State != channel.EndpointDisabled {
			t.Fatalf("endpoint %+v, want disabled", e)
		}
		c.sinks.set(sinkA, answer{})
		c.store.Subscribe(c.channels[0], sinkA, "")
		elapse(2 * time.Minute)
		c.commit()
		elapse(2 * time.Minute)
		for _, sub := range c.subs {
			c.checkGap(t, sub)
		}
	})
}

// stuck is a store whose positions are not committed from a moment on.
type stuck struct {
	*memstore.Member
	since atomic.Int64 // Unix nanoseconds
}

func (s *stuck) Advance(ctx context.Context, positions []channel.Progress) error {
	if time.Now().UnixNano() >= s.since.Load() {
		return errLeaderless
	}
	return s.Member.Advance(ctx, positions)
}

// The next leader of a channel makes the gap again that the one before was not able to
// save, whether the subscription was behind in the store or not; it sends nothing that the
// gap covers, and nothing before the keeper has said what that is.
func TestNextLeaderMakesTheGap(t *testing.T) {
	for name, saved := range map[string]time.Duration{"straggler": 99 * time.Hour, "pass": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { gapOfNext(t, saved) })
		})
	}
}

func gapOfNext(t *testing.T, saved time.Duration) {
	stores := make(map[*fleetNode]*stuck)
	c := newTunedCrowd(6, func(n *fleetNode) {
		stores[n] = &stuck{Member: n.member}
		stores[n].since.Store(math.MaxInt64)
		n.core.store = stores[n]
	})
	defer c.stops()
	before, next, sub := c.nodes[0], c.nodes[4], c.subs[0] // the next one has nothing for the endpoint
	stores[before].since.Store(time.Now().Add(saved).UnixNano())
	c.sinks.set(sinkA, answer{err: errNetwork})
	for range 25 {
		c.commit()
		elapse(4 * time.Hour)
	}
	c.sinks.set(sinkA, answer{})
	for len(c.sinks.arrivals(sub)) == 0 {
		elapse(time.Second)
	}
	for _, r := range c.cluster.Ranges() {
		if r.Has(sub.Channel.Bucket()) {
			c.cluster.Lead(r, next.member)
		}
	}
	elapse(time.Minute)
	c.commit()
	elapse(time.Minute)
	c.checkGap(t, sub)
	if gaps := c.sinks.arrivals(sub); gaps[1].id != gaps[0].id {
		t.Errorf("after %s came %s, want the same gap", gaps[0].id, gaps[1].id)
	}
}

// unrecorded is a store that does not commit records of endpoints while it is told so.
type unrecorded struct {
	*memstore.Member
	refuses atomic.Bool
}

func (s *unrecorded) SetEndpoint(ctx context.Context, e, was channel.Endpoint) error {
	if s.refuses.Load() {
		return errLeaderless
	}
	return s.Member.SetEndpoint(ctx, e, was)
}

// That a suspended endpoint works again, and what was lost, is told once it is committed.
// The next keeper does not know what the one before was not able to save: nodes that went
// by that would deliver while it goes on to suspend.
func TestRevivalIsToldOnceCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := make(map[*fleetNode]*unrecorded)
		c := newTunedCrowd(3, func(n *fleetNode) {
			stores[n] = &unrecorded{Member: n.member}
			n.core.store = stores[n]
		})
		defer c.stops()
		keeper, next := c.nodes[2], c.nodes[0]
		c.subs = append(c.subs, c.store.Subscribe(c.channels[2], sinkA, "")) // the keeper has two to tell
		c.sinks.set(sinkA, answer{err: errNetwork})
		for range 25 {
			c.commit()
			elapse(4 * time.Hour)
		}
		stores[keeper].refuses.Store(true)
		c.sinks.set(sinkA, answer{})
		for c.sinks.count() == 0 {
			elapse(time.Second)
		}
		elapse(5 * time.Minute) // all nodes have asked again
		if told := c.sinks.count(); told != 1 {
			t.Errorf("%d messages before the revival was committed, want that of the try", told)
		}
		c.cluster.Lead(c.keeper, next.member)
		elapse(10 * time.Minute)
		c.commit()
		elapse(10 * time.Minute)
		for _, sub := range c.subs {
			c.checkGap(t, sub)
		}
	})
}

// What waits in the queue of an endpoint whose request has failed is not sent before its
// keeper has said what to do.
func TestFailureStopsTheQueue(t *testing.T) {
	fleetTest(t, 2, func(f *fleet, mine, others channel.Range) {
		id, url := f.store.AddChannel(inRange(mine, "origin")), inRange(others, "sink")
		f.cluster.Lead(mine, f.nodes[0].member)
		f.cluster.Lead(others, f.nodes[1].member)
		elapse(2 * clockSkew)
		for range 100 {
			f.store.Subscribe(id, url, "")
		}
		elapse(time.Second)
		f.mu.Lock()
		f.nodes[0].cut = true
		f.mu.Unlock()
		f.sinks.set(url, answer{err: errNetwork, delay: time.Millisecond})
		f.store.Commit(id)
		elapse(time.Minute)
		if made := f.requests(f.nodes[0]); made != 8 {
			t.Errorf("%d requests, want those that were under way when the first failed", made)
		}
	})
}
