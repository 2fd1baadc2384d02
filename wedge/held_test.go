package wedge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// newcomers is a cluster in which a node dies that polls channels of a width, whose first
// versions its pollers hold.
type newcomers struct {
	*world
	core   *deltas.Core
	shown  engine.Shown
	orders []engine.Order
}

func newNewcomers(t *testing.T, width int) *newcomers {
	n := &newcomers{world: newWorld(t, 4), core: page(t, 20), shown: engine.Shown{ETag: `"v"`, RawHash: 7}}
	for i := range 30 {
		order := n.order(n.ranges[0], i, width)
		order.Version, order.Hash = 1, n.core.Hash
		n.orders = append(n.orders, order)
	}
	return n
}

// hold has a node hold a channel's version.
func (n *newcomers) hold(node string, order engine.Order) {
	n.node(node).engine.hold(engine.News{Channel: order.Channel, Incarnation: 1, Version: 1, Hash: order.Hash, Shown: n.shown, Content: n.core})
}

func (w *world) node(name string) *node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == name })]
}

// kill ends a node, and returns when others have its channels.
func (w *world) kill(dead *node) {
	w.set(dead, false)
	dead.stop()
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

// wantHeld wants all pollers of the channels to hold their versions, with what the origin
// sent.
func (n *newcomers) wantHeld(dead *node) {
	n.Helper()
	for _, order := range n.orders {
		for _, name := range n.wedgeOf(order.Channel) {
			held, ok := n.node(name).engine.Held(order.Channel)
			if name == dead.name {
				n.Errorf("channel %s is polled by the node that is dead", order.Channel)
			}
			if !ok || held.Shown != n.shown || held.Content.Hash != n.core.Hash || held.Version != 1 || held.Incarnation != 1 {
				n.Errorf("%s polls channel %s and holds %+v", name, order.Channel, held)
			}
		}
	}
}

// A node that comes to poll a channel gets its content from one that goes on polling it;
// the nodes that go on ask for nothing.
func TestNewcomerIsGivenContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 2)
		n.nodes[0].lead(n.ranges[0], 1, n.orders...)
		synctest.Wait()
		dead := n.nodes[3]
		seated := 0
		for _, order := range n.orders {
			for _, name := range n.wantWidth(order.Channel, 2) {
				n.hold(name, order)
				if name == dead.name {
					seated++
				}
			}
		}
		n.kill(dead)
		n.wantHeld(dead)
		learned := 0
		for _, node := range n.nodes {
			learned += len(node.engine.learned())
		}
		if seated == 0 || learned != seated {
			t.Errorf("%d contents were given, for %d channels that the dead node polled", learned, seated)
		}
	})
}

// A node that joins gets the contents of the channels that it comes to poll from those that polled
// them alone before.
func TestJoinerIsGivenContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 1)
		joiner := n.nodes[3]
		n.set(joiner, false)
		n.nodes[0].lead(n.ranges[0], 1, n.orders...)
		synctest.Wait()
		for _, order := range n.orders {
			n.hold(n.wantWidth(order.Channel, 1)[0], order)
		}
		n.set(joiner, true)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		polled := 0
		for _, order := range n.orders {
			if n.wantWidth(order.Channel, 1)[0] != joiner.name {
				continue
			}
			polled++
			if _, ok := joiner.engine.Held(order.Channel); !ok {
				t.Errorf("it polls channel %s and does not hold it", order.Channel)
			}
		}
		if polled == 0 {
			t.Error("it polls nothing")
		}
	})
}

// The owner of a channel that nobody else polls is asked once.
func TestOwnerIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 1)
		owner := n.nodes[0]
		owner.lead(n.ranges[0], 1, n.orders...)
		time.Sleep(betweenTries / 2)
		by := make(map[channel.ID]string)
		for _, order := range n.orders {
			if name := n.wantWidth(order.Channel, 1)[0]; name != owner.name {
				by[order.Channel] = name
				owner.engine.hold(engine.News{Channel: order.Channel, Incarnation: 1, Version: 1, Hash: order.Hash, Shown: n.shown, Content: n.core})
			}
		}
		time.Sleep(time.Minute)
		for id, name := range by {
			if _, ok := n.node(name).engine.Held(id); ok {
				t.Errorf("%s has asked again for channel %s", name, id)
			}
		}
		if len(by) == 0 {
			t.Error("others poll nothing")
		}
	})
}

// An owner that does not answer is asked again.
func TestOwnerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 1)
		owner, newcomer, order := n.nodes[0], n.nodes[1], n.orders[0]
		newcomer.engine.Order(order)
		order.Holder = owner.name
		left := []want{newWant(&order, owner.name)}
		for _, cut := range []bool{true, true, false} {
			if len(left) != 1 {
				t.Fatalf("%v is left before an answer", left)
			}
			n.cutBetween(owner, newcomer, cut)
			left = newcomer.poller.holdings.fetchFrom(t.Context(), owner.name, left)
		}
		if len(left) != 0 {
			t.Errorf("%v is left behind an answer", left)
		}
	})
}

// A channel that the dead node alone has polled: its owner gives what was reported to it.
func TestOwnerGivesContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 1)
		owner, dead := n.nodes[0], n.nodes[3]
		for i := range n.orders {
			n.orders[i].Version, n.orders[i].Hash = 0, deltas.Hash{}
		}
		owner.lead(n.ranges[0], 1, n.orders...)
		synctest.Wait()
		var theirs []engine.Order
		for _, order := range n.orders {
			if n.wantWidth(order.Channel, 1)[0] != dead.name {
				continue
			}
			report := engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), Core: n.core, Shown: n.shown}
			if answer, err := dead.poller.Report(t.Context(), report); err != nil || answer.Version != 1 {
				t.Fatalf("%+v, %v", answer, err)
			}
			order.Version, order.Hash = 1, n.core.Hash
			owner.judge.reorder(order)
			theirs = append(theirs, order)
		}
		n.orders = theirs
		n.kill(dead)
		if len(theirs) == 0 {
			t.Fatal("the dead node has polled nothing")
		}
		n.wantHeld(dead)
	})
}

// Who is named and does not hold the version yet is asked again a little later, and not
// for ever.
func TestHolderIsAskedAgain(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		want  bool
	}{
		{"soon", betweenTries / 2, true},
		{"too late", time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNewcomers(t, 2)
				order := n.orders[0]
				n.nodes[0].lead(n.ranges[0], 1, order)
				time.Sleep(test.after)
				by := n.wantWidth(order.Channel, 2)
				n.hold(by[0], order)
				time.Sleep(time.Minute)
				if got := len(n.node(by[1]).engine.learned()) == 1; got != test.want {
					t.Errorf("given content: %v, want %v", got, test.want)
				}
			})
		})
	}
}

// What is handed over is cut where it becomes large, and asked for in parts.
func TestManyContentsAreGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 2)
		n.core = noise(t, 100<<10)
		for i := range n.orders {
			n.orders[i].Hash = n.core.Hash
		}
		holder, newcomer := n.nodes[0], n.nodes[1]
		var wanted []want
		for _, order := range n.orders {
			n.hold(holder.name, order)
			newcomer.engine.Order(order)
			wanted = append(wanted, want{id: order.Channel, holder: holder.name})
		}
		looked, err := newcomer.poller.holdings.fetchOnce(t.Context(), holder.name, wanted)
		if err != nil || looked < 1 || looked >= len(wanted) {
			t.Errorf("one answer is of %d channels of %d, %v", looked, len(wanted), err)
		}
		if left := newcomer.poller.holdings.fetchFrom(t.Context(), holder.name, wanted); len(left) != 0 {
			t.Errorf("%d channels are left", len(left))
		}
		for _, order := range n.orders {
			if newcomer.engine.Lacks(order.Channel) {
				t.Errorf("channel %s is lacking", order.Channel)
			}
		}
	})
}

// noise is a content that no packing makes much smaller.
func noise(t *testing.T, size int) *deltas.Core {
	t.Helper()
	random, body := rand.New(rand.NewPCG(1, 1)), make([]byte, 0, size)
	for len(body) < size {
		body = fmt.Appendf(body, "%x\n", random.Uint64())
	}
	core, err := deltas.Extract(deltas.Document{Body: body, ContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// Contents that are not what they are said to be are not taken.
func TestBadContentIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNewcomers(t, 2)
		order := n.orders[0]
		n.node("n0").engine.hold(engine.News{Channel: order.Channel, Incarnation: 1, Version: 1, Hash: order.Hash, Content: page(t, 21)})
		n.node("n1").engine.Order(order)
		_, err := n.node("n1").poller.holdings.fetchOnce(t.Context(), "n0", []want{{id: order.Channel, holder: "n0"}})
		if err == nil || len(n.node("n1").engine.learned()) != 0 {
			t.Errorf("taken, with error %v", err)
		}
		if _, err := n.node("n0").poller.holdings.held([]byte("short")); err == nil {
			t.Error("an ID of five bytes is answered")
		}
		if m, err := n.node("n0").poller.holdings.held(make([]byte, channel.IDLen)); m != nil || err != nil {
			t.Errorf("of an unknown channel %v, %v", m, err)
		}
	})
}
