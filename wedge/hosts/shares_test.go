package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// need has the node's engine need parts of hosts' caps.
func (n *testNode) need(demands ...channel.Demand) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.demands = demands
}

// has returns what the node may take of a host's cap.
func (n *testNode) has(host channel.ID) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if g := n.grants[host]; time.Now().Before(g.Until) {
		return g.Part
	}
	return 0
}

func (w *world) wantShares(when string, host channel.ID, want ...int64) {
	w.Helper()
	got := make([]int64, 0, len(three))
	for _, name := range three {
		got = append(got, w.nodes[name].has(host))
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: shares %v, want %v", when, got, want)
	}
}

// opened is when a leader grants whatever it was told, and grants have been made.
const opened = grants.Lease + 5*time.Second

// TestSharesFollowDemand: the one node that polls a host gets all of its cap that is
// granted, another one its part, and a node that dies leaves its share to the others.
func TestSharesFollowDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		host, whole := w.host(w.ranges[1], 1), int64(channel.WholeCap)
		w.nodes["c"].need(channel.Demand{Host: host, Part: whole})
		time.Sleep(opened)
		w.wantShares("one polls it", host, 0, 0, grants.Pool)
		w.nodes["a"].need(channel.Demand{Host: host, Part: 200_000})
		time.Sleep(15 * time.Second)
		w.wantShares("two do", host, 200_000, 0, grants.Pool-200_000)
		w.setCut("c", true)
		w.nodes["a"].need(channel.Demand{Host: host, Part: whole})
		time.Sleep(grants.Lease)
		w.wantShares("one is cut off", host, 200_000, 0, 0)
		time.Sleep(10 * time.Second)
		w.wantShares("its lease is over", host, grants.Pool, 0, 0)
		w.nodes["a"].need()
		time.Sleep(grants.Lease + time.Second)
		w.wantShares("nobody polls it", host, 0, 0, 0)
		if part := w.nodes["a"].grants[host]; part.Part != 0 {
			t.Errorf("the engine was not told of the end: %+v", part)
		}
		asked := testutil.ToFloat64(w.nodes["a"].metrics.asked)
		time.Sleep(time.Hour)
		if testutil.ToFloat64(w.nodes["a"].metrics.asked) != asked {
			t.Error("asks although it needs nothing")
		}
	})
}

// TestSharesWithoutLeader: what is held is spent, then nothing is; other ranges' hosts do
// not suffer. The next leader grants when the leases are over.
func TestSharesWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		lost, other, whole := w.host(w.ranges[0], 1), w.host(w.ranges[1], 1), int64(channel.WholeCap)
		w.nodes["c"].need(channel.Demand{Host: lost, Part: whole}, channel.Demand{Host: other, Part: whole})
		time.Sleep(opened)
		w.lead(w.ranges[0], "")
		time.Sleep(20 * time.Second)
		w.wantShares("within the lease", lost, 0, 0, grants.Pool)
		time.Sleep(10 * time.Second)
		w.wantShares("after it", lost, 0, 0, 0)
		w.wantShares("another range", other, 0, 0, grants.Pool)
		w.setCut("a", true)
		w.lead(w.ranges[0], "b")
		time.Sleep(grants.Lease)
		w.wantShares("while leases of the leader before may last", lost, 0, 0, 0)
		time.Sleep(5 * time.Second)
		w.wantShares("then", lost, 0, 0, grants.Pool)
	})
}

// TestSharesOfNewLeader: a leader that all nodes have told what they hold grants at once;
// one that a node does not tell does so when that node is back.
func TestSharesOfNewLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		host := w.host(w.ranges[0], 1)
		w.nodes["c"].need(channel.Demand{Host: host, Part: 400_000})
		time.Sleep(time.Second)
		w.wantShares("of an idle cluster", host, 0, 0, 675_000)
		w.nodes["a"].need(channel.Demand{Host: host, Part: 200_000})
		w.lead(w.ranges[0], "b")
		time.Sleep(8 * time.Second) // a question a renewal: none is on its way now
		a, c := w.nodes["a"].has(host), w.nodes["c"].has(host)
		if a < 200_000 || c < 400_000 || a+c > grants.Pool {
			t.Errorf("from one to another: %d and %d", a, c)
		}
		w.setCut("a", true)
		w.lead(w.ranges[0], "c")
		w.nodes["b"].need(channel.Demand{Host: host, Part: 100_000})
		time.Sleep(10 * time.Second)
		w.wantShares("one is cut off", host, a, 0, c)
		w.setCut("a", false)
		time.Sleep(8 * time.Second)
		if a, b, c := w.nodes["a"].has(host), w.nodes["b"].has(host), w.nodes["c"].has(host); a < 200_000 || b < 100_000 || c < 400_000 || a+b+c > grants.Pool {
			t.Errorf("it is back: %d, %d and %d", a, b, c)
		}
	})
}

// TestParts: owners learn which part of a host's channels is theirs, and what a node that
// died owned no longer counts.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		hosts := []channel.ID{w.host(w.ranges[0], 1), w.host(w.ranges[1], 1)}
		want := func(when, node string, channels, other int64, want ...float64) {
			t.Helper()
			got := w.nodes[node].Parts([]channel.Led{{Host: hosts[0], Channels: channels}, {Host: hosts[1], Channels: other}})
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s has parts %v, want %v", when, node, got, want)
			}
		}
		tell := func() {
			w.nodes["a"].Parts([]channel.Led{{Host: hosts[0], Channels: 6}})
			w.nodes["c"].Parts([]channel.Led{{Host: hosts[0], Channels: 2}, {Host: hosts[1], Channels: 5}})
		}
		// Nodes tell at once what they own; of those that do at one instant, the first hears of
		// the others when it tells the next time.
		const allTold = tellEvery + time.Second
		tell()
		want("not told yet", "c", 2, 5, 0, 0)
		time.Sleep(allTold)
		want("told", "c", 2, 5, 0.25, 1)
		w.lead(w.ranges[0], "c")
		time.Sleep(time.Second)
		w.nodes["c"].Parts([]channel.Led{{Host: hosts[0], Channels: 3}, {Host: hosts[1], Channels: 5}})
		time.Sleep(allTold)
		want("another leader", "c", 3, 5, 1.0/3, 1)
		w.nodes["c"].Parts([]channel.Led{{Host: hosts[1], Channels: 5}})
		time.Sleep(allTold)
		if part := w.nodes["a"].Parts([]channel.Led{{Host: hosts[0], Channels: 6}}); part[0] != 1 {
			t.Errorf("c has no channels any more, and a has part %v", part)
		}
		tell()
		want("the number of the others is no part", "c", 2, 5, 0, 1)
		time.Sleep(allTold)
		w.nodes["a"].stop()
		w.lead(w.ranges[0], "b")
		time.Sleep(allTold)
		want("a has died", "c", 2, 5, 0.25, 1)
		time.Sleep(opened + tellEvery)
		want("it is forgotten", "c", 4, 5, 1, 1)
		w.nodes["c"].Parts([]channel.Led{{Host: hosts[1], Channels: 5}})
		want("after a time without channels", "c", 2, 5, 0, 1)
	})
}

// TestSharesOfMany: a node asks about many hosts in few questions.
func TestSharesOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		var demands []channel.Demand
		for i := range most + 1 {
			demands = append(demands, channel.Demand{Host: w.host(w.ranges[0], i), Part: 100_000})
		}
		time.Sleep(opened)
		w.nodes["c"].need(demands...)
		time.Sleep(time.Second)
		for _, d := range []channel.Demand{demands[0], demands[most]} {
			w.wantShares("many", d.Host, 0, 0, 525_000)
		}
	})
}

// TestUnsoundQuestions: what no sound node asks is refused.
func TestUnsoundQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.lead(w.ranges[0], "a")
		a, host := w.nodes["a"], w.host(w.ranges[0], 1)
		ask := func(node string, asks ...grants.Ask) error {
			_, err := a.ServeShares(w.ranges[0], Question{Node: node, Number: 1, Asks: asks})
			return err
		}
		for i, err := range []error{
			ask("x", grants.Ask{Host: host, Need: 1}),
			ask("b", grants.Ask{Host: host, Need: channel.WholeCap + 1}),
			ask("b", grants.Ask{Host: host, Need: -1}),
			ask("b", grants.Ask{Host: host, Holds: channel.WholeCap + 1}),
			ask("b", grants.Ask{Host: host, Holds: -1}),
			ask("b", make([]grants.Ask, most+1)...),
		} {
			if err == nil {
				t.Errorf("question %d is answered", i)
			}
		}
		if err := ask("b", grants.Ask{Host: w.host(w.ranges[1], 1)}); !errors.Is(err, errOtherRange) {
			t.Errorf("a host of another range: %v", err)
		}
		if invalid := testutil.ToFloat64(a.metrics.invalid); invalid != 7 {
			t.Errorf("%v were counted as unsound, want 7", invalid)
		}
		if err := ask("b", grants.Ask{Host: host, Need: 1}); err != nil {
			t.Error(err)
		}
		if _, err := a.ServeShares(w.ranges[1], Question{Node: "b"}); err == nil {
			t.Error("answers for a range that it does not lead")
		}
		if _, err := a.ServeHeld(2); err == nil {
			t.Error("says what it holds of a range that there is not")
		}
	})
}

// TestUnsoundHeld: what no sound node says that it holds is refused.
func TestUnsoundHeld(t *testing.T) {
	w := newWorld(t, "a")
	a, r := w.nodes["a"], w.ranges[0]
	var says Held
	a.config.Held = func(context.Context, string, uint32) ([]byte, error) { return json.Marshal(says) }
	for _, test := range []struct {
		share grants.Share
		sound bool
	}{
		{grants.Share{Host: w.host(r, 1), Part: grants.Pool}, true},
		{grants.Share{Host: w.host(r, 1), Part: grants.Pool + 1}, false},
		{grants.Share{Host: w.host(r, 1)}, false},
		{grants.Share{Host: w.host(w.ranges[1], 1), Part: 1}, false},
	} {
		says = Held{Number: 1, Shares: []grants.Share{test.share}}
		if _, err := a.askHeld(t.Context(), "b", r); (err == nil) != test.sound {
			t.Errorf("%+v: %v", test.share, err)
		}
	}
	if invalid := testutil.ToFloat64(a.metrics.invalid); invalid != 3 {
		t.Errorf("%v were counted as unsound, want 3", invalid)
	}
}
