package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// inRange returns the first URL of a kind whose ID is in a range.
func inRange(r channel.Range, kind string) string {
	for i := 0; ; i++ {
		if url := fmt.Sprintf("http://%s.example/%d", kind, i); r.Has(channel.IDOf(url).Bucket()) {
			return url
		}
	}
}

// fleetTest runs a test with some nodes and two ranges.
func fleetTest(t *testing.T, nodes int, test func(f *fleet, first, second channel.Range)) {
	tunedFleetTest(t, nodes, func(*fleetNode) {}, test)
}

func tunedFleetTest(t *testing.T, nodes int, tune func(*fleetNode), test func(f *fleet, first, second channel.Range)) {
	synctest.Test(t, func(*testing.T) {
		f := newFleet(nodes, 2, tune)
		defer f.stops()
		ranges := f.cluster.Ranges()
		test(f, ranges[0], ranges[1])
	})
}

// leaderless is a store of which one range takes no write: each fails after five
// seconds.
type leaderless struct {
	*memstore.Member
	dead channel.Range
}

var errLeaderless = errors.New("range has no leader")

func (s *leaderless) Advance(ctx context.Context, positions []channel.Progress) error {
	for _, p := range positions {
		if s.dead.Has(p.Channel.Bucket()) {
			time.Sleep(5 * time.Second)
			return errLeaderless
		}
	}
	return s.Member.Advance(ctx, positions)
}

func (s *leaderless) SetEndpoint(ctx context.Context, e, was channel.Endpoint) error {
	if s.dead.Has(channel.IDOf(e.URL).Bucket()) {
		time.Sleep(5 * time.Second)
		return errLeaderless
	}
	return s.Member.SetEndpoint(ctx, e, was)
}

// held is a store that commits positions once it is let go.
type held struct {
	*memstore.Member
	holds atomic.Bool
	gate  chan struct{}
}

func (s *held) Advance(ctx context.Context, positions []channel.Progress) error {
	if s.holds.Load() {
		<-s.gate
	}
	return s.Member.Advance(ctx, positions)
}

// A range that is lost and gained at once, as in a split, is not read while positions of
// before are being committed: they would replace what the node of now relies on, and the next
// leader would lack a straggler.
func TestCommitOfTenureBefore(t *testing.T) {
	var store *held
	hold := func(n *fleetNode) {
		if store == nil {
			store = &held{Member: n.member, gate: make(chan struct{})}
			n.core.store = store
		}
	}
	tunedFleetTest(t, 2, hold, func(f *fleet, r, others channel.Range) {
		id := f.store.AddChannel(inRange(r, "origin"))
		f.cluster.Lead(others, f.nodes[1].member)
		f.cluster.Lead(r, f.nodes[0].member)
		fails, hangs := inRange(others, "fails"), inRange(others, "hangs")
		subs := []channel.Subscription{f.store.Subscribe(id, fails, ""), f.store.Subscribe(id, hangs, "")}
		answers := func(ofFails, ofHangs answer) {
			f.sinks.set(fails, ofFails)
			f.sinks.set(hangs, ofHangs)
		}
		refuses := answer{status: http.StatusInternalServerError}
		elapse(time.Second)
		answers(refuses, refuses)
		f.store.Commit(id)
		elapse(time.Second)
		store.holds.Store(true)
		answers(answer{}, answer{})
		elapse(6 * time.Second)                           // acknowledged after 5 s, and not committed
		answers(refuses, answer{delay: 20 * time.Second}) // which keeps the channel in memory
		f.cluster.Lead(r, nil)
		f.cluster.Lead(r, f.nodes[0].member)
		elapse(time.Second)
		store.holds.Store(false)
		close(store.gate)
		elapse(time.Second)
		f.store.Commit(id)
		elapse(time.Second)
		f.cluster.Lead(r, f.nodes[1].member)
		answers(answer{}, answer{})
		elapse(10 * time.Hour)
		for _, complaint := range f.missing(subs) {
			t.Error(complaint)
		}
	})
}

// A range that commits nothing holds up the positions and the endpoint records of its
// own alone.
func TestLeaderlessRangeHoldsUpItsOwn(t *testing.T) {
	noLeader := func(n *fleetNode) { n.core.store = &leaderless{n.member, n.fleet.cluster.Ranges()[0]} }
	tunedFleetTest(t, 1, noLeader, func(f *fleet, dead, alive channel.Range) {
		n := f.nodes[0]
		var channels []channel.ID
		var endpoints []string
		for _, r := range []channel.Range{dead, alive} {
			id, fails := f.store.AddChannel(inRange(r, "origin")), inRange(r, "fails")
			f.cluster.Lead(r, n.member)
			f.store.Subscribe(id, inRange(r, "works"), "")
			f.store.Subscribe(id, fails, "")
			f.sinks.set(fails, answer{err: errNetwork})
			channels, endpoints = append(channels, id), append(endpoints, fails)
		}
		for range 10 {
			for _, id := range channels {
				f.store.Commit(id)
			}
			elapse(time.Second)
		}
		for i, want := range []uint64{1, 11} {
			if p, _ := f.store.Progress(channels[i]); p.Version != want {
				t.Errorf("range %d: saved up to version %d, want %d", i, p.Version, want)
			}
			if saved := f.store.Kept(endpoints[i]).Attempts > 0; saved != (i == 1) {
				t.Errorf("range %d: streak saved %v", i, saved)
			}
		}
	})
}

// unreadable is a node whose store cannot read a range's endpoints or channels for a while.
type unreadable struct {
	*memstore.Member
	dead                channel.Range
	endpoints, channels atomic.Bool
	behind              atomic.Bool  // of channels, all pages but the first
	begun               atomic.Int64 // first pages read
}

var errUnreadable = errors.New("a block is damaged")

func (s *unreadable) EndpointsIn(r channel.Range) ([]channel.Endpoint, error) {
	if s.endpoints.Load() && r == s.dead {
		return nil, errUnreadable
	}
	return s.Member.EndpointsIn(r)
}

func (s *unreadable) ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	if r == s.dead && (s.channels.Load() || after != nil && s.behind.Load()) {
		return nil, errUnreadable
	}
	if r == s.dead && after == nil {
		s.begun.Add(1)
	}
	return s.Member.ChannelsIn(r, after, limit)
}

// A range that cannot be read holds up no other one, and is delivered once it can.
func TestUnreadableRangeHoldsUpItsOwn(t *testing.T) {
	for _, of := range []string{"endpoints", "channels"} {
		var store *unreadable
		damaged := func(n *fleetNode) {
			store = &unreadable{Member: n.member, dead: n.fleet.cluster.Ranges()[0]}
			store.endpoints.Store(of == "endpoints")
			store.channels.Store(of == "channels")
			n.core.store = store
		}
		tunedFleetTest(t, 1, damaged, func(f *fleet, dead, alive channel.Range) {
			var subs []channel.Subscription
			for _, r := range []channel.Range{dead, alive} {
				id := f.store.AddChannel(inRange(r, "origin"))
				subs = append(subs, f.store.Subscribe(id, inRange(r, "sink"), ""))
				f.store.Commit(id) // which the node is not told of: it is found by the scan
				f.cluster.Lead(r, f.nodes[0].member)
			}
			elapse(10 * time.Second)
			for i, want := range []int{0, 1} {
				if came := f.sinks.versions(subs[i]); len(came) != want {
					t.Errorf("%s of a range cannot be read: versions %v came of range %d", of, came, i)
				}
			}
			store.endpoints.Store(false)
			store.channels.Store(false)
			elapse(10 * time.Second)
			if came := f.sinks.versions(subs[0]); len(came) != 1 {
				t.Errorf("%s can be read again: versions %v came", of, came)
			}
		})
	}
}

// A scan that cannot read on goes on where it was.
func TestScanGoesOn(t *testing.T) {
	var store *unreadable
	damaged := func(n *fleetNode) {
		n.core.limits.page = 2
		store = &unreadable{Member: n.member, dead: n.fleet.cluster.Ranges()[0]}
		store.behind.Store(true)
		n.core.store = store
	}
	tunedFleetTest(t, 1, damaged, func(f *fleet, r, _ channel.Range) {
		var subs []channel.Subscription
		for i := range 5 {
			id := f.store.AddChannel(inRange(r, fmt.Sprint("origin", i)))
			subs = append(subs, f.store.Subscribe(id, inRange(r, fmt.Sprint("sink", i)), ""))
			f.store.Commit(id)
		}
		f.cluster.Lead(r, f.nodes[0].member)
		elapse(10 * time.Second)
		store.behind.Store(false)
		elapse(10 * time.Second)
		for _, sub := range subs {
			if came := f.sinks.versions(sub); len(came) != 1 {
				t.Errorf("versions %v came", came)
			}
		}
		if begun := store.begun.Load(); begun != 1 {
			t.Errorf("the scan began %d times at the first channel", begun)
		}
	})
}

// The streak of an endpoint is kept by the leader of its URL's range, and what another node
// that delivers to it learns is told to that one. Whichever node follows goes on with it.
func TestStreakIsSavedByItsKeeper(t *testing.T) {
	fleetTest(t, 2, func(f *fleet, mine, others channel.Range) {
		id, url := f.store.AddChannel(inRange(mine, "origin")), inRange(others, "sink")
		f.cluster.Lead(mine, f.nodes[0].member)
		f.cluster.Lead(others, f.nodes[1].member)
		sub := f.store.Subscribe(id, url, "")
		f.sinks.set(url, answer{err: errNetwork})
		f.store.Commit(id)
		elapse(time.Hour)
		if e := f.store.Kept(url); e.Attempts != 4 { // at 0 s, 5 s, 5 min and 35 min
			t.Errorf("the keeper has saved %+v, want four steps", e)
		}
		if made := f.requests(f.nodes[0]); made != 4 {
			t.Errorf("%d requests in an hour, want the schedule's", made)
		}
		f.cluster.Lead(others, f.nodes[0].member)
		elapse(time.Second)
		if made, e := f.requests(f.nodes[0]), f.store.Kept(url); made != 4 || e.Attempts != 4 {
			t.Errorf("with another keeper %d requests, and %+v", made, e)
		}
		f.sinks.set(url, answer{})
		elapse(10 * time.Hour)
		if e, came := f.store.Kept(url), f.sinks.versions(sub); !e.Healthy() || len(came) != 1 {
			t.Errorf("at the end %+v, versions %v", e, came)
		}
	})
}

// requests returns how many requests a node has made.
func (f *fleet) requests(n *fleetNode) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return n.requests
}

// The next leader of an endpoint's and its channel's ranges goes on with the streak: it
// asks no sooner than the schedule says.
func TestStreakSurvivesATakeover(t *testing.T) {
	fleetTest(t, 2, func(f *fleet, first, second channel.Range) {
		id, url := f.store.AddChannel(inRange(first, "origin")), inRange(second, "sink")
		for _, r := range []channel.Range{first, second} {
			f.cluster.Lead(r, f.nodes[0].member)
		}
		sub := f.store.Subscribe(id, url, "")
		f.sinks.set(url, answer{err: errNetwork})
		f.store.Commit(id)
		elapse(40 * time.Minute)
		before := f.store.Kept(url)
		for _, r := range []channel.Range{first, second} {
			f.cluster.Lead(r, f.nodes[1].member)
		}
		f.sinks.set(url, answer{})
		elapse(time.Until(before.NextAttempt) - time.Second)
		if made := f.requests(f.nodes[1]); made != 0 {
			t.Errorf("%d requests before the next step of the schedule", made)
		}
		elapse(2 * time.Second)
		if came := f.sinks.versions(sub); len(came) != 1 || !f.store.Kept(url).Healthy() {
			t.Errorf("versions %v, record %+v", came, f.store.Kept(url))
		}
	})
}

// A node that has lost an endpoint's range does not go on by itself: the next keeper says
// what is lost, and when the endpoint is tried.
func TestLostSuspensionWaitsForAKeeper(t *testing.T) {
	fleetTest(t, 2, func(f *fleet, first, second channel.Range) {
		id, url := f.store.AddChannel(inRange(first, "origin")), inRange(second, "sink")
		for _, r := range []channel.Range{first, second} {
			f.cluster.Lead(r, f.nodes[0].member)
		}
		sub := f.store.Subscribe(id, url, "")
		f.sinks.set(url, answer{err: errNetwork})
		f.store.Commit(id)
		elapse(80 * time.Hour)
		if e := f.store.Kept(url); e.State != channel.EndpointSuspended {
			t.Fatalf("endpoint %+v", e)
		}
		f.cluster.Lead(second, nil)
		f.sinks.set(url, answer{})
		made := f.requests(f.nodes[0])
		elapse(48 * time.Hour)
		if again := f.requests(f.nodes[0]); again != made {
			t.Errorf("%d requests without a keeper", again-made)
		}
		f.cluster.Lead(second, f.nodes[1].member)
		elapse(time.Minute)
		if came := f.sinks.arrivals(sub); len(came) != 1 || came[0].id != sub.ID+"-gap-2-2" {
			t.Errorf("arrivals %+v, want the gap", came)
		}
	})
}

// What is under way when a range is lost counts for nothing: the next leader sends it
// again, and goes on.
func TestUnderWayCountsForNothing(t *testing.T) {
	fleetTest(t, 2, func(f *fleet, r, other channel.Range) {
		id := f.store.AddChannel(inRange(r, "origin"))
		f.cluster.Lead(r, f.nodes[0].member)
		f.cluster.Lead(other, f.nodes[0].member)
		sub := f.store.Subscribe(id, sinkA, "")
		f.sinks.set(sinkA, answer{delay: 500 * time.Millisecond})
		f.store.Commit(id)
		elapse(100 * time.Millisecond)
		f.cluster.Lead(r, nil)
		f.store.Commit(id)
		elapse(10 * time.Second)
		if p, _ := f.store.Progress(id); p.Delivered(sub) > 1 || len(f.sinks.arrivals(sub)) != 1 {
			t.Errorf("saved %+v, arrivals %v; want none saved, and what was under way", p, f.sinks.versions(sub))
		}
		f.cluster.Lead(r, f.nodes[1].member)
		elapse(10 * time.Second)
		n := &node{sinks: f.sinks}
		n.expectVersions(t, sub, 2, 2, 3)
		if p, _ := f.store.Progress(id); p.Delivered(sub) != 3 {
			t.Errorf("saved %+v, want version 3", p)
		}
	})
}

// A keeper that comes to have something for an endpoint whose step was due before tries it at once.
func TestKeeperComesToHaveSomething(t *testing.T) {
	for name, regained := range map[string]bool{"keeps": false, "regains": true} {
		t.Run(name, func(t *testing.T) {
			fleetTest(t, 2, func(f *fleet, mine, others channel.Range) {
				id, url := f.store.AddChannel(inRange(mine, "origin")), inRange(others, "sink")
				f.cluster.Lead(mine, f.nodes[0].member)
				f.cluster.Lead(others, f.nodes[1].member)
				sub := f.store.Subscribe(id, url, "")
				elapse(2 * clockSkew)
				f.sinks.set(url, answer{err: errNetwork})
				f.store.Commit(id)
				elapse(time.Second)
				f.sinks.set(url, answer{})
				f.cluster.Lead(mine, nil) // before its try
				elapse(10 * time.Second)  // the step was due, and the keeper had nothing
				if regained {
					f.cluster.Lead(others, nil)
					f.cluster.Lead(others, f.nodes[1].member)
					elapse(time.Second)
				}
				f.cluster.Lead(mine, f.nodes[1].member)
				elapse(10 * time.Second)
				for _, complaint := range f.missing([]channel.Subscription{sub}) {
					t.Error(complaint)
				}
			})
		})
	}
}

// What waits in an endpoint's queue when a range is lost is not sent, and what waits of
// other ranges is.
func TestQueueOfALostRangeIsNotSent(t *testing.T) {
	fleetTest(t, 1, func(f *fleet, lost, kept channel.Range) {
		f.sinks.set(sinkA, answer{delay: 500 * time.Millisecond})
		var subs [2][]channel.Subscription
		f.cluster.Lead(lost, f.nodes[0].member)
		f.cluster.Lead(kept, f.nodes[0].member)
		elapse(clockSkew)
		for i, r := range []channel.Range{lost, kept} {
			id := f.store.AddChannel(inRange(r, "origin"))
			for range 30 {
				subs[i] = append(subs[i], f.store.Subscribe(id, sinkA, ""))
			}
			f.store.Commit(id)
			elapse(50 * time.Millisecond)
		}
		f.cluster.Lead(lost, nil)
		elapse(time.Minute)
		var came [2]int
		for i := range subs {
			for _, sub := range subs[i] {
				came[i] += len(f.sinks.arrivals(sub))
			}
		}
		if came != [2]int{8, 30} {
			t.Errorf("%d messages of the lost range, %d of the other; want the 8 under way, and 30", came[0], came[1])
		}
		f.checkRest(t)
	})
}
