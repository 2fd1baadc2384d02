package ownership

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// placeWithin is how long a few replicas may take to be made and moved.
const placeWithin = 2 * time.Minute

// filled makes some subscriptions, at all nodes in turn, and returns their channels by ID.
func (w *town) filled(n int, path string) map[string]channel.ID {
	w.t.Helper()
	made := make(map[string]channel.ID)
	for i := range n {
		s := w.subscribe(w.nodes[i%len(w.nodes)], wish(fmt.Sprintf("http://example.com/%s/%d", path, i), "", webhook))
		made[s.ID] = s.Channel
	}
	return made
}

// shows wants a node to show subscriptions.
func (n *townNode) shows(made map[string]channel.ID) {
	n.town.t.Helper()
	for id, ch := range made {
		eventually(n.town.t, "subscription "+id+" at "+n.name, func() error {
			s, err := n.store.View().Subscription(context.Background(), id)
			if err == nil && s.Channel != ch {
				err = fmt.Errorf("it is of channel %s, not %s", s.Channel, ch)
			}
			return err
		})
	}
}

// settled waits until each range has its replicas on the nodes that may have them, as many
// as it should, all of them voters and none left over on a disk.
func (w *town) settled(per int, nodes ...*townNode) {
	w.t.Helper()
	defer w.expect(3*placeWithin, "replicas in their places")()
	eventuallyWithin(w.t, placeWithin, "replicas in their places", func() error {
		counts := make(map[string]int)
		for _, r := range nodes[0].store.known.Load().Ranges {
			if len(r.Replicas) != per || len(r.Joining) > 0 {
				return fmt.Errorf("range %d has replicas %v and %v, want %d", r.Id, r.Replicas, r.Joining, per)
			}
			for _, id := range r.Replicas {
				counts[nodeName(id)]++
			}
		}
		least, most := 1<<20, 0
		for _, n := range nodes {
			have := counts[n.name]
			least, most = min(least, have), max(most, have)
			if open := len(n.store.groups()); open != have {
				return fmt.Errorf("%s has %d replicas, the table %d", n.name, open, have)
			}
			for _, g := range n.store.groups() {
				if servers := g.raft.GetConfiguration().Configuration().Servers; len(servers) != per {
					return fmt.Errorf("range %d at %s: raft has %v", g.id, n.name, servers)
				}
			}
		}
		if most-least > 1 {
			return fmt.Errorf("replicas are not even: %v", counts)
		}
		for _, n := range w.nodes {
			if n.store == nil {
				continue
			}
			held, err := n.store.meta.store.held()
			if err != nil || len(held) != counts[n.name] {
				return fmt.Errorf("%s holds %v, %w", n.name, held, err)
			}
		}
		return nil
	})
}

// TestJoin: a fresh node that sees a cluster is taken in, answers every call, gets its part
// of the replicas and none that it must not have, and is of the cluster when it is back.
func TestJoin(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 21, nil)
	made := w.filled(20, "before")
	fourth := w.add("node-3")
	if err := fourth.open(0); err != nil {
		t.Fatal(err)
	}
	if fourth.store.Cluster() != w.nodes[0].store.Cluster() {
		t.Fatalf("it is of cluster %s, not %s", fourth.store.Cluster(), w.nodes[0].store.Cluster())
	}
	fourth.shows(made)
	w.settled(3, w.nodes...)
	for id, ch := range w.filled(20, "after") {
		made[id] = ch
	}
	fourth.stop()
	if err := fourth.open(0); err != nil {
		t.Fatal(err)
	}
	fourth.shows(made)
	eventually(t, "it is ready", fourth.store.Ready)
	if _, err := fourth.store.View().Channel(context.Background(), channel.IDOf("http://example.com/nothing")); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("a channel that does not exist: %v", err)
	}
}
