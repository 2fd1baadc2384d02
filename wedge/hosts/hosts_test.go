package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-91e7e7c1/corona/channel"
)

// world is some nodes of a cluster with two ranges, in virtual time, whose replicated
// state is one table: what is committed is never lost.
type world struct {
	*testing.T
	commits atomic.Int32
	ranges  []channel.Range
	nodes   map[string]*testNode

	mu     sync.Mutex
	leader map[uint32]string // by range; "": it has none
	cut    map[string]bool   // nodes that reach no other, and are not reached
	state  map[channel.ID]channel.Rest
}

// testNode is a node whose engine notes when it heard of which rest.
type testNode struct {
	*Node
	w    *world
	name string
	stop func()

	mu      sync.Mutex
	rests   map[channel.ID]channel.Rest
	demands []channel.Demand
	grants  map[channel.ID]channel.Grant
}

func newWorld(t *testing.T, names ...string) *world {
	w := &world{
		T:      t,
		ranges: []channel.Range{{ID: 0, To: channel.Buckets/2 - 1}, {ID: 1, From: channel.Buckets / 2, To: channel.Buckets - 1}},
		nodes:  make(map[string]*testNode), leader: make(map[uint32]string), cut: make(map[string]bool),
		state: make(map[channel.ID]channel.Rest),
	}
	for _, name := range names {
		w.start(name, names)
	}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.stop()
		}
	})
	return w
}

// start opens a node that knows nothing.
func (w *world) start(name string, all []string) *testNode {
	n := &testNode{w: w, name: name, rests: make(map[channel.ID]channel.Rest), grants: make(map[channel.ID]channel.Grant)}
	var others []string
	for _, other := range all {
		if other != name {
			others = append(others, other)
		}
	}
	n.Node = New(Config{Self: name, Ranges: w.table, Others: func() []string { return others }, Store: n, Ask: n, Call: n.call, Held: n.callHeld}, nil)
	n.Start(n)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx) })
	n.stop = func() { stop(); running.Wait() }
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[name] = n
	return n
}

// lead makes a node the leader of a range; "": none leads.
func (w *world) lead(r channel.Range, name string) {
	w.mu.Lock()
	before := w.nodes[w.leader[r.ID]]
	w.leader[r.ID] = name
	n := w.nodes[name]
	w.mu.Unlock()
	if before != nil {
		before.RangeLost(r)
	}
	if n != nil {
		n.RangeGained(r)
	}
}

func (w *world) table() []channel.Range {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ranges
}

// split splits the first range, whose other half another node leads.
func (w *world) split(other string) {
	table := w.table()
	first := table[0]
	left := channel.Range{ID: first.ID, From: first.From, To: first.To / 2}
	right := channel.Range{ID: uint32(len(table)), From: left.To + 1, To: first.To}
	w.mu.Lock()
	leader := w.nodes[w.leader[first.ID]]
	w.ranges = append([]channel.Range{left, right}, table[1:]...)
	w.mu.Unlock()
	leader.RangeLost(first)
	leader.RangeGained(left)
	w.lead(right, other)
}

func (w *world) setCut(name string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[name] = cut
}

var errUnreachable = errors.New("unreachable")

// reach finds a node as another one sees it.
func (w *world) reach(from, to string) (*testNode, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.nodes[to]; n != nil && (from == to || !w.cut[from] && !w.cut[to]) {
		return n, nil
	}
	return nil, errUnreachable
}

// leaderOf waits a second for a leader.
func (n *testNode) leaderOf(b channel.Bucket) (*testNode, channel.Range, error) {
	table := n.w.table()
	r := table[slices.IndexFunc(table, func(r channel.Range) bool { return r.Has(b) })]
	for range 10 {
		n.w.mu.Lock()
		name := n.w.leader[r.ID]
		n.w.mu.Unlock()
		if leader, err := n.w.reach(n.name, name); err == nil {
			return leader, r, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, r, errUnreachable
}

func (n *testNode) Refused(ctx context.Context, b channel.Bucket, rests []byte) error {
	leader, r, err := n.leaderOf(b)
	if err != nil {
		return err
	}
	return leader.ServeRefused(ctx, r, rests)
}

func (n *testNode) Resting(_ context.Context, b channel.Bucket) error {
	leader, r, err := n.leaderOf(b)
	if err != nil {
		return err
	}
	return leader.ServeResting(r, n.name)
}

func (n *testNode) Shares(_ context.Context, b channel.Bucket, q Question) (Answer, error) {
	leader, r, err := n.leaderOf(b)
	if err != nil {
		return Answer{}, err
	}
	time.Sleep(10 * time.Millisecond)
	return leader.ServeShares(r, q)
}

func (n *testNode) call(_ context.Context, to string, rests []byte) error {
	time.Sleep(time.Millisecond)
	other, err := n.w.reach(n.name, to)
	if err != nil {
		return err
	}
	return other.Serve(rests)
}

func (n *testNode) callHeld(_ context.Context, to string, rangeID uint32) ([]byte, error) {
	time.Sleep(time.Millisecond)
	other, err := n.w.reach(n.name, to)
	if err != nil {
		return nil, err
	}
	return other.ServeHeld(uint64(rangeID))
}

// Rest implements Store, of which package ownership has the rules.
func (n *testNode) Rest(_ context.Context, r channel.Range, rests []channel.Rest) (committed int, err error) {
	time.Sleep(10 * time.Millisecond)
	w := n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader[r.ID] != n.name {
		return 0, errUnreachable
	}
	for _, rest := range rests {
		if stands, is := w.state[rest.Host]; !is || rest.Until.After(stands.Until.Add(time.Second)) || rest.Refusals > stands.Refusals {
			w.state[rest.Host] = rest.Merge(stands)
			committed++
		}
	}
	w.commits.Add(int32(committed))
	return committed, nil
}

// RestsIn implements Store.
func (n *testNode) RestsIn(r channel.Range) (rests []channel.Rest, err error) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	for host, rest := range n.w.state {
		if r.Has(host.Bucket()) && rest.Until.After(time.Now()) {
			rests = append(rests, rest)
		}
	}
	return rests, nil
}

// Rest of the engine is apart from that of the store.
type testEngine struct{ *testNode }

func (e testEngine) Rest(rests ...channel.Rest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, rest := range rests {
		e.rests[rest.Host] = rest.Merge(e.rests[rest.Host])
	}
}

func (e testEngine) Demands() []channel.Demand {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.demands
}

func (e testEngine) Grant(grants ...channel.Grant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range grants {
		e.testNode.grants[g.Host] = g
	}
}

func (testEngine) SetNodes(int) {}

func (n *testNode) Start(of *testNode) { n.Node.Start(testEngine{of}) }

// refused has a host refuse the node, as its engine says.
func (n *testNode) refused(rest channel.Rest) {
	testEngine{n}.Rest(rest)
	n.Node.Refused(rest)
}

// restsUntil reports whether the node lets a host rest, about until a time.
func (n *testNode) restsUntil(host channel.ID, until time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	rest, rests := n.rests[host]
	return rests && rest.Until.Sub(until).Abs() <= time.Second
}

// heard returns how many hosts the node has heard of.
func (n *testNode) heard() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rests)
}

func (w *world) wantRest(when string, rest channel.Rest, want bool, names ...string) {
	w.Helper()
	for _, name := range names {
		if got := w.nodes[name].restsUntil(rest.Host, rest.Until); got != want {
			w.Errorf("%s: at %s the host rests until %v: %v, want %v", when, name, time.Until(rest.Until), got, want)
		}
	}
}

// host returns the n-th host of a range.
func (w *world) host(r channel.Range, n int) channel.ID {
	for i := n * 1000; ; i++ {
		if id := channel.HostID(fmt.Sprintf("host%d.example:80", i)); r.Has(id.Bucket()) {
			return id
		}
	}
}

func restOf(host channel.ID, d time.Duration) channel.Rest {
	return channel.Rest{Host: host, Until: time.Now().Add(d), Refusals: 1, Turn: 5}
}

var three = []string{"a", "b", "c"}

// within is how soon all nodes have to know of a rest.
const within = 2 * time.Second

// TestRestReachesAll: all nodes know of a refusal in time, which is committed once
// however many nodes were refused, and a longer rest takes the place of a shorter one.
func TestRestReachesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		for i, r := range w.ranges {
			rest := restOf(w.host(r, i), time.Minute)
			w.nodes["c"].refused(rest)
			w.wantRest("at once", rest, false, "a", "b")
			time.Sleep(within)
			w.wantRest("in time", rest, true, three...)
			again := rest
			again.Until = again.Until.Add(300 * time.Millisecond)
			w.nodes["b"].refused(again)
			time.Sleep(within)
			if int(w.commits.Load()) != i+1 {
				t.Errorf("range %d: %d commits, want %d", i, w.commits.Load(), i+1)
			}
		}
		longer := restOf(w.host(w.ranges[0], 0), time.Hour)
		w.nodes["b"].refused(longer)
		time.Sleep(within)
		w.wantRest("longer", longer, true, three...)
		if heard := testutil.ToFloat64(w.nodes["c"].metrics.heard); heard != 3 {
			t.Errorf("c heard of %v rests, want 3", heard)
		}
	})
}

// TestRestOutlivesLeader: a rest that was committed holds when the leader dies before it
// has told it, and one that was met while there is no leader is told as soon as there is
// one. Other ranges do not wait for that.
func TestRestOutlivesLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		time.Sleep(within)
		w.setCut("a", true)
		kept := restOf(w.host(w.ranges[0], 1), time.Minute)
		w.nodes["a"].refused(kept) // committed, and not told
		time.Sleep(within)
		w.wantRest("while its leader is cut off", kept, false, "b", "c")
		w.lead(w.ranges[0], "")
		orphan, other := restOf(w.host(w.ranges[0], 2), time.Minute), restOf(w.host(w.ranges[1], 3), time.Minute)
		w.nodes["c"].refused(orphan)
		w.nodes["c"].refused(other)
		time.Sleep(within)
		w.wantRest("without a leader", orphan, false, "b")
		w.wantRest("of another range", other, true, "b", "c")
		w.lead(w.ranges[0], "b")
		time.Sleep(within)
		w.wantRest("after the next gain", kept, true, "b", "c")
		w.wantRest("after the next gain", orphan, true, "b", "c")
		w.setCut("a", false)
		time.Sleep(within)
		w.wantRest("back", orphan, true, "a")
		w.wantRest("back", other, true, "a")
	})
}

// TestRestAfterStart: a node that starts asks for what stands, also while a range has no
// leader yet, and hears nothing of what is over.
func TestRestAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		long, short := restOf(w.host(w.ranges[0], 1), time.Hour), restOf(w.host(w.ranges[0], 2), 10*time.Second)
		late := restOf(w.host(w.ranges[1], 1), time.Hour)
		for _, rest := range []channel.Rest{long, short, late} {
			w.nodes["a"].refused(rest)
		}
		time.Sleep(20 * time.Second)
		w.nodes["c"].stop()
		w.lead(w.ranges[1], "")
		c := w.start("c", three)
		time.Sleep(within)
		w.wantRest("after a start", long, true, "c")
		if c.heard() != 1 {
			t.Errorf("heard of %d rests, want that one alone that is not over", c.heard())
		}
		w.wantRest("without a leader", late, false, "c")
		w.mu.Lock()
		w.leader[w.ranges[1].ID] = "b" // which is not told: it led before
		w.mu.Unlock()
		time.Sleep(within)
		w.wantRest("once there is one", late, true, "c")
	})
}

// TestUnsoundMessages: what no sound node sends is refused whole and counted.
func TestUnsoundMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "a")
		a, host := w.nodes["a"], w.host(w.ranges[0], 1)
		for name, content := range map[string]string{
			"no JSON":           `x`,
			"half":              `[{"host":"` + host.String() + `"`,
			"no ID":             `[{"host":"12","left_us":1000000,"refusals":1}]`,
			"more than a day":   `[{"host":"` + host.String() + `","left_us":86400000001,"refusals":1}]`,
			"without a refusal": `[{"host":"` + host.String() + `","left_us":1000000}]`,
			"refusals":          `[{"host":"` + host.String() + `","left_us":1000000,"refusals":256}]`,
		} {
			if err := a.Serve([]byte(content)); err == nil {
				t.Errorf("%s: taken in", name)
			}
		}
		if err := a.Serve(encode(slices.Repeat([]channel.Rest{restOf(host, time.Second)}, most+1), time.Now())); err == nil {
			t.Error("too many in a message: taken in")
		}
		sound := encode([]channel.Rest{restOf(host, time.Second)}, time.Now())
		if err := a.ServeRefused(t.Context(), w.ranges[1], sound); !errors.Is(err, errOtherRange) {
			t.Errorf("a host of another range: %v", err)
		}
		if err := a.ServeResting(w.ranges[0], "x"); err == nil {
			t.Error("told a node that is none of the cluster")
		}
		if invalid := testutil.ToFloat64(a.metrics.invalid); invalid != 8 || a.heard() > 0 {
			t.Errorf("%v messages counted as unsound, want 8; %d rests", invalid, a.heard())
		}
		if err := a.Serve(sound); err != nil || a.heard() != 1 {
			t.Errorf("a sound one: %v, %d rests", err, a.heard())
		}
	})
}

// TestClockSetBack: a rest of a day whose node's clock is set back before it is told lasts
// a day.
func TestClockSetBack(t *testing.T) {
	now := time.Now()
	rest := channel.Rest{Until: now.Add(30 * time.Hour), Refusals: 1}
	rests, err := decode(encode([]channel.Rest{rest}, now), now)
	if err != nil || len(rests) != 1 || !rests[0].Until.Equal(now.Add(24*time.Hour)) {
		t.Errorf("%+v: %v", rests, err)
	}
}

// TestOutboxGivesUp: attempts to tell a node end with the rests.
func TestOutboxGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "a")
		time.Sleep(within)
		w.setCut("b", true)
		a := w.nodes["a"]
		a.refused(restOf(w.host(w.ranges[0], 1), 10*time.Second))
		failures := func() float64 { return testutil.ToFloat64(a.metrics.failures) }
		time.Sleep(9 * time.Second)
		during := failures()
		time.Sleep(2 * time.Second)
		after := failures()
		time.Sleep(time.Minute)
		if during < 10 || failures() != after {
			t.Errorf("%v attempts failed while the host rested, %v soon after, %v long after", during, after, failures())
		}
	})
}

// TestOutboxBatches: what waits for a receiver that cannot be reached goes in few
// messages, none with more than it may hold.
func TestOutboxBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.lead(w.ranges[0], "a")
		w.setCut("b", true)
		var last channel.Rest
		for i := range 2*most + 1 {
			last = restOf(w.host(w.ranges[0], i), time.Hour)
			w.nodes["a"].Node.Refused(last)
		}
		time.Sleep(time.Minute)
		if w.nodes["b"].heard() > 0 {
			t.Fatal("b is reached")
		}
		w.setCut("b", false)
		time.Sleep(within)
		if n := w.nodes["b"].heard(); n != 2*most+1 {
			t.Errorf("b heard of %d rests, want %d", n, 2*most+1)
		}
	})
}
