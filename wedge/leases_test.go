package wedge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// What was split off a range, and is ordered by an owner of its own, stays as that one has ordered
// it, whatever the parent's owner sent before, and when its lease is over.
func TestSplitOffOutlivesItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p, e := w.nodes[0].poller, w.nodes[0].engine
		parent, child := channel.Range{ID: 0, From: 0, To: 99}, channel.Range{ID: 1, From: 50, To: 99}
		lower := channel.Range{From: 0, To: 49}
		stays, unseen := w.order(lower, 1, 2), w.order(lower, 2, 2)
		first, second := w.order(child, 1, 2), w.order(child, 2, 2)
		stays.Rank, second.Rank = 1, 1
		obey := func(b batch) {
			t.Helper()
			if v := p.obey("owner", b); v != taken {
				t.Fatalf("a batch of %+v was not taken: %d", b.Session, v)
			}
		}
		wantOrders := func(when string, gone channel.ID) {
			t.Helper()
			for _, want := range []engine.Order{first, second} {
				if got, ordered := e.order(want.Channel); !ordered || got != want {
					t.Errorf("%s: a channel of what was split off is ordered: %v, as %+v, want %+v", when, ordered, got, want)
				}
			}
			if _, ordered := e.order(gone); ordered {
				t.Errorf("%s: a channel of the parent is polled still", when)
			}
		}
		dropped := w.order(lower, 3, 2)
		obey(batch{Session: Session{parent, 5, 1}, begin: true, complete: true, items: []any{stays, unseen, dropped, first, second}})
		obey(batch{Session: Session{child, 6, 1}, begin: true, complete: true, items: []any{first, second}})

		pace := engine.Pace{Channel: second.Channel, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 9}, Width: 9}
		obey(batch{Session: Session{parent, 5, 2}, items: []any{dropped.Channel, first.Channel, pace}})
		wantOrders("after a late batch of the parent", dropped.Channel)

		obey(batch{Session: Session{parent, 5, 3}, begin: true, complete: true, items: []any{stays}})
		wantOrders("after a late order of all of the parent", unseen.Channel)

		time.Sleep(lease / 2)
		if v := p.renew(Session{child, 6, 1}); v != taken {
			t.Fatalf("the lease of what was split off was not renewed: %d", v)
		}
		p.expire(time.Now().Add(lease/2 + time.Second))
		wantOrders("after the parent's lease", stays.Channel)
	})
}

// silentAsker's notes are never answered.
type silentAsker struct{ Asker }

func (silentAsker) Note(ctx context.Context, _ channel.Bucket, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// A poller goes by its leases also while notes wait for an owner that does not answer.
func TestLeaseEndsWhileNotesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldThat(t, 2, time.Hour, 0) // the node that is cut off stays in the wedge
		owner, cut := w.nodes[0], w.nodes[1]
		cut.poller.config.Ask = silentAsker{}
		var orders []engine.Order
		for i := range 20 {
			orders = append(orders, w.order(w.ranges[0], i, 2))
		}
		owner.lead(w.ranges[0], 1, orders...)
		synctest.Wait()
		w.cutBetween(owner, cut, true)
		cut.poller.Bound(orders[0].Channel, 1, time.Minute)
		time.Sleep(2 * lease)
		var ranks [2]int
		for _, order := range orders {
			first := owner.owner.seated(order.Channel)[0] == cut.name
			if _, polls := cut.engine.order(order.Channel); polls != first {
				t.Errorf("channel %s is polled after the lease: %v, with rank 0: %v", order.Channel, polls, first)
			}
			if first {
				ranks[0]++
			} else {
				ranks[1]++
			}
		}
		if ranks[0] == 0 || ranks[1] == 0 {
			t.Errorf("the node that is cut off has so many channels by rank: %v", ranks)
		}
	})
}

// A node that polls no more, and is alive, is told so.
func TestDismissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldThat(t, 2, 10*time.Second, 0)
		owner, drained := w.nodes[0], w.nodes[1]
		var orders []engine.Order
		for _, r := range w.ranges {
			for i := range 10 {
				orders = append(orders, w.order(r, i, 1))
			}
			owner.lead(r, 1, orders[len(orders)-10:]...)
		}
		synctest.Wait()
		if polled := len(drained.engine.Ordered(allBuckets)); polled < 5 {
			t.Fatalf("%d of %d channels are polled by the node that is to be drained", polled, len(orders))
		}
		w.drain(drained)
		time.Sleep(15 * time.Second)
		if polled := drained.engine.Ordered(allBuckets); len(polled) > 0 {
			t.Errorf("%d channels are polled by a drained node", len(polled))
		}
		for _, order := range orders {
			if _, polled := owner.engine.order(order.Channel); !polled {
				t.Errorf("no node polls channel %s", order.Channel)
			}
		}
	})
}

// An owner whose own poller has lapsed, since the process did not run for a lease, orders it once
// more.
func TestOwnPollerIsOrderedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.nodes[0]
		order, later := w.order(w.ranges[0], 1, 1), w.order(w.ranges[0], 2, 1)
		n.lead(w.ranges[0], 1, order)
		n.owner.renew()
		if times := n.judge.orderedAgain(); times != 0 {
			t.Errorf("all was ordered again %d times while the lease was kept", times)
		}
		n.poller.expire(time.Now().Add(lease + time.Second))
		if got, _ := n.engine.order(order.Channel); got.Rate == order.Rate {
			t.Fatalf("the poller has not lapsed: it polls at %v", got.Rate)
		}
		n.owner.renew()
		synctest.Wait()
		n.owner.Order(later)
		if times := n.judge.orderedAgain(); times != 1 {
			t.Errorf("all was ordered again %d times, want once", times)
		}
		for _, want := range []engine.Order{order, later} {
			if got, ordered := n.engine.order(want.Channel); !ordered || got.Rate != want.Rate {
				t.Errorf("channel %s is polled: %v, at %v, want %v", want.Channel, ordered, got.Rate, want.Rate)
			}
		}
	})
}
