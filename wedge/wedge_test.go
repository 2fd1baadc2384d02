package wedge

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Each channel is polled by as many nodes as it is wide, of different ranks, by orders of
// whichever node leads its range; a narrower pace drops the last ranks, a wider one asks
// for the whole order, and a channel that is dropped is polled by no node.
func TestOrdersReachTheWedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		leads := []*node{w.nodes[0], w.nodes[1]}
		var orders []engine.Order
		for i := range 40 {
			r := i % 2
			orders = append(orders, w.order(w.ranges[r], i, 1+i%4))
		}
		for r, n := range leads {
			var of []engine.Order
			for i := r; i < len(orders); i += 2 {
				of = append(of, orders[i])
			}
			n.lead(w.ranges[r], 1, of...)
		}
		synctest.Wait()
		for _, order := range orders {
			w.wantWidth(order.Channel, order.Width)
		}
		wide := orders[3]
		before := w.wantWidth(wide.Channel, 4)
		if whole := leads[1].owner.Repace(engine.Pace{Channel: wide.Channel, Incarnation: 1, Rate: overlay.Rate{Polls: 4, Intervals: 1}, Width: 2}); whole != nil {
			t.Errorf("a narrower pace wants whole orders of %v", whole)
		}
		synctest.Wait()
		if got := w.wantWidth(wide.Channel, 2); !slices.Equal(got, before[:2]) {
			t.Errorf("2 of %v are %v", before, got)
		}
		if whole := leads[1].owner.Repace(engine.Pace{Channel: wide.Channel, Incarnation: 1, Rate: wide.Rate, Width: 3}); len(whole) != 1 || whole[0] != wide.Channel {
			t.Errorf("a wider pace wants whole orders of %v", whole)
		}
		leads[1].owner.Order(wide)
		leads[1].owner.Drop(orders[1].Channel)
		synctest.Wait()
		w.wantWidth(wide.Channel, 4)
		w.wantWidth(orders[1].Channel, 0)
	})
}

// A wider pace leaves a channel's pollers as they are. The order that follows names the newcomers
// a node that holds the version, and until when another of their address may poll.
func TestNewcomersByAWiderPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		w.mu.Lock()
		w.nodes[1].egress, w.nodes[2].egress = "shared", "shared"
		w.mu.Unlock()
		owner := w.nodes[0]
		var orders []engine.Order
		for i := range 10 {
			orders = append(orders, w.order(w.ranges[0], i, 1))
		}
		owner.lead(w.ranges[0], 1, orders...)
		synctest.Wait()
		shared := 0
		for _, order := range orders {
			before := w.wantWidth(order.Channel, 1)
			pace := engine.Pace{Channel: order.Channel, Incarnation: 1, Rate: order.Rate, Width: 3}
			if whole := owner.owner.Repace(pace); len(whole) != 1 || whole[0] != order.Channel {
				t.Errorf("a wider pace wants whole orders of %v", whole)
			}
			synctest.Wait()
			if now := w.wantWidth(order.Channel, 1); !slices.Equal(now, before) {
				t.Errorf("a pace moves a channel from %v to %v", before, now)
			}
			order.Width = 3
			owner.owner.Order(order)
			synctest.Wait()
			for _, name := range w.wantWidth(order.Channel, 3) {
				got, _ := w.node(name).engine.order(order.Channel)
				comes, shares := name != before[0], name == "n1" || name == "n2"
				if comes && got.Holder != before[0] || !comes && got.Holder != "" || got.Others.IsZero() == (comes && shares) {
					t.Errorf("%s, beside %v, is ordered with holder %q and others until %v", name, before, got.Holder, got.Others)
				}
				if comes && shares {
					shared++
				}
			}
		}
		if shared == 0 {
			t.Error("no newcomer shares its address")
		}
	})
}

// Nodes behind one egress label count once.
func TestOneEgressCountsOnce(t *testing.T) {
	r := newRoster([]Member{{"a", "x"}, {"b", "y"}, {"c", "x"}, {"d", "y"}, {"a", "x"}})
	if len(r.labels) != 2 {
		t.Fatalf("%d labels, want 2", len(r.labels))
	}
	used := make(map[string]bool)
	for i := range 100 {
		id := channel.IDOf(string(rune('a' + i)))
		nodes := r.choose(id, 3)
		if len(nodes) != 2 || (nodes[0] == "a" || nodes[0] == "c") == (nodes[1] == "a" || nodes[1] == "c") {
			t.Fatalf("channel %d is polled by %v", i, nodes)
		}
		used[nodes[0]], used[nodes[1]] = true, true
	}
	if len(used) != 4 {
		t.Errorf("only %v poll", used)
	}
}

// A node that dies is replaced once it has been gone for long enough, and those that stay
// keep their ranks; when it is back it polls nothing without an order, and is given its
// channels again.
func TestDeathAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		var orders []engine.Order
		for i := range 30 {
			orders = append(orders, w.order(w.ranges[0], i, 2))
		}
		w.nodes[0].lead(w.ranges[0], 1, orders...)
		synctest.Wait()
		before := make(map[channel.ID][]string)
		for _, order := range orders {
			before[order.Channel] = w.wantWidth(order.Channel, 2)
		}
		dead := w.nodes[2]
		w.set(dead, false)
		dead.stop()
		time.Sleep(9 * time.Second)
		moved := 0
		for _, order := range orders {
			if slices.Contains(w.nodes[0].owner.seated(order.Channel), dead.name) {
				moved++
			}
		}
		if moved == 0 {
			t.Error("channels moved before the node was gone for long")
		}
		time.Sleep(5 * time.Second)
		for _, order := range orders {
			now := w.wantWidth(order.Channel, 2)
			for rank, node := range before[order.Channel] {
				if node != dead.name && now[rank] != node {
					t.Errorf("channel %s: %v became %v", order.Channel, before[order.Channel], now)
				}
			}
		}
		dead.start()
		w.set(dead, true)
		time.Sleep(5 * time.Second)
		if dead.engine.orderedSoFar() != 0 {
			t.Error("the node that is back polls without an order")
		}
		time.Sleep(15 * time.Second)
		again := 0
		for _, order := range orders {
			if slices.Contains(w.wantWidth(order.Channel, 2), dead.name) {
				again++
			}
		}
		if again == 0 {
			t.Error("the node that is back has no channels")
		}
	})
}

// A node that is gone gets no orders, nor one that is back and has no session yet, however
// long it takes until all is ordered again.
func TestGoneIsNotChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		owner, other := w.nodes[0], w.nodes[3]
		owner.judge.busy = true
		owner.lead(w.ranges[0], 1)
		order := func(from int) {
			t.Helper()
			for i := range 30 {
				order := w.order(w.ranges[0], from+i, 1)
				owner.owner.Order(order)
				synctest.Wait()
				w.wantWidth(order.Channel, 1)
			}
		}
		order(0)
		if other.engine.orderedSoFar() == 0 {
			t.Error("the node polls nothing before it goes")
		}
		w.set(other, false)
		other.stop()
		time.Sleep(20 * time.Second)
		order(100)
		other.start()
		w.set(other, true)
		time.Sleep(20 * time.Second)
		order(200)
		if owner.judge.orderedAgain() != 2 {
			t.Errorf("members were adopted %d times, want 2", owner.judge.orderedAgain())
		}
	})
}

// A poller that does not hear of its owner stops when the lease is over: rank 0 alone goes
// on, at most once an interval, and only for an interval. When the network is whole again
// all is ordered once more.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldThat(t, 3, time.Hour, 0) // nodes that are cut off stay in the wedge
		order := w.order(w.ranges[0], 1, 3)
		w.nodes[0].lead(w.ranges[0], 1, order)
		synctest.Wait()
		by := w.wantWidth(order.Channel, 3)
		time.Sleep(10 * lease)
		w.wantWidth(order.Channel, 3) // while it is renewed, it holds
		for _, n := range w.nodes[1:] {
			w.cutBetween(w.nodes[0], n, true)
		}
		time.Sleep(lease - lease/renewals - time.Second)
		w.wantWidth(order.Channel, 3)
		time.Sleep(lease)
		for _, n := range w.nodes[1:] {
			got, polls := n.engine.order(order.Channel)
			if first := by[0] == n.name; polls != first {
				t.Errorf("%s, rank %d, polls after its lease: %v", n.name, slices.Index(by, n.name), polls)
			} else if first && (got.Rate != overlay.Rate{Polls: 1, Intervals: 1} || got.Width != 1) {
				t.Errorf("rank 0 polls at %v, width %d", got.Rate, got.Width)
			}
		}
		time.Sleep(tau + 2*lease)
		for _, n := range w.nodes[1:] {
			if _, polls := n.engine.order(order.Channel); polls {
				t.Errorf("%s polls an interval after its lease", n.name)
			}
		}
		for _, n := range w.nodes[1:] {
			w.cutBetween(w.nodes[0], n, false)
		}
		time.Sleep(2 * lease)
		w.wantWidth(order.Channel, 3)
	})
}

// Of two that think they lead a range, pollers obey the one of the higher term.
func TestHigherTermIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		order, gone := w.order(w.ranges[0], 1, 3), w.order(w.ranges[0], 2, 2)
		w.nodes[0].lead(w.ranges[0], 4, order, gone)
		synctest.Wait()
		w.wantWidth(gone.Channel, 2)
		later := order
		later.Rate.Polls = 3
		w.nodes[1].lead(w.ranges[0], 5, later)
		synctest.Wait()
		w.wantWidth(gone.Channel, 0) // the new owner knows of no such channel
		order.Rate.Polls = 12
		w.nodes[0].owner.Order(order)
		for range 2 { // at once, and after leases of both
			synctest.Wait()
			w.wantWidth(order.Channel, 3)
			for _, n := range w.nodes {
				if got, _ := n.engine.order(order.Channel); got.Rate.Polls != 3 {
					t.Errorf("%s obeys an earlier term: it polls at %v", n.name, got.Rate)
				}
			}
			time.Sleep(time.Minute)
		}
	})
}

// A poller that has lost what it was ordered asks for all of it, once for each range.
func TestLostOrdersComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		order := w.order(w.ranges[0], 1, 2)
		w.nodes[0].lead(w.ranges[0], 1, order)
		synctest.Wait()
		w.wantWidth(order.Channel, 2)
		w.nodes[1].stop()
		w.nodes[1].start() // so fast that no node saw it gone
		if got := w.wedgeOf(order.Channel); slices.Contains(got, "n1") {
			t.Fatalf("a node that forgot polls: %v", got)
		}
		time.Sleep(lease)
		w.wantWidth(order.Channel, 2)
		if n := w.nodes[0].judge.orderedAgain(); n != 1 {
			t.Errorf("all was ordered again %d times, want once", n)
		}
	})
}
