package ownership

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
)

// placeWithin is how long a few replicas may take to be made and moved.
const placeWithin = 2 * time.Minute

// filled makes some subscriptions, at all nodes in turn, and returns their channels by ID.
func (w *town) filled(n int, path string) map[string]channel.ID {
	w.t.Helper()
	return w.filledAt(w.nodes, n, path)
}

func (w *town) filledAt(nodes []*townNode, n int, path string) map[string]channel.ID {
	w.t.Helper()
	made := make(map[string]channel.ID)
	for i := range n {
		s := w.subscribe(nodes[i%len(nodes)], wish(fmt.Sprintf("http://example.com/%s/%d", path, i), "", webhook))
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
				counts[raftnet.NodeName(id)]++
			}
		}
		least, most, all := 1<<20, 0, 0
		for _, n := range nodes {
			have := counts[n.name]
			all += have
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
		if want := per * len(nodes[0].store.known.Load().Ranges); all != want {
			return fmt.Errorf("%d replicas are where they may be, want %d: %v", all, want, counts)
		}
		if most-least > 1 {
			return fmt.Errorf("replicas are not even: %v", counts)
		}
		for _, n := range w.nodes {
			if n.store == nil {
				continue
			}
			held, _, err := n.store.meta.store.held()
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

// TestGrowth: the directory of a node that was a cluster alone becomes the first of three
// nodes, with all that was acknowledged, and no node is needed more than the others then.
func TestGrowth(t *testing.T) {
	t.Parallel()
	w := newTown(t, 0, 26, nil)
	first := w.add("node-0")
	alone := open(t, Config{Dir: first.dir, Node: first.name, Ranges: 4, files: first.files()})
	made := make(map[string]channel.ID)
	for i := range 20 {
		s := subscribe(t, alone, wish(fmt.Sprintf("http://example.com/alone/%d", i), "", webhook))
		made[s.ID] = s.Channel
	}
	cluster := alone.Cluster()
	shut(t, alone)
	if err := first.open(3); err != nil { // with data it founds nothing
		t.Fatal(err)
	}
	if first.store.Cluster() != cluster {
		t.Errorf("it is of cluster %s now, not %s", first.store.Cluster(), cluster)
	}
	first.shows(made)
	for i := range 2 {
		if err := w.add(fmt.Sprint("node-", i+1)).open(0); err != nil {
			t.Fatal(err)
		}
	}
	w.settled(3, w.nodes...)
	first.stop()
	for id, ch := range w.filledAt(w.nodes[1:], 10, "without") {
		made[id] = ch
	}
	if err := first.open(0); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()
}

// TestDrain: a node is drained without any subscription being lost or refused, leads nothing
// then and can be removed; a drain that would leave a range with too few nodes is refused.
func TestDrain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 22, nil)
	made := w.filled(20, "before")
	drained := w.nodes[1]
	if err := w.nodes[0].store.Drain(ctx, "nobody"); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("drain of an unknown node: %v", err)
	}
	if err := w.nodes[0].store.Remove(ctx, drained.name); !errors.Is(err, ErrRefused) {
		t.Errorf("removal of a node that lives and has replicas: %v", err)
	}
	if err := w.nodes[0].store.Drain(ctx, drained.name); err != nil {
		t.Fatal(err)
	}
	if err := w.nodes[0].store.Drain(ctx, w.nodes[2].name); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "range ") {
		t.Errorf("a second drain: %v", err)
	}
	for id, ch := range w.filled(40, "meanwhile") {
		made[id] = ch
	}
	rest := []*townNode{w.nodes[0], w.nodes[2], w.nodes[3]}
	w.settled(3, rest...)
	for _, n := range w.nodes {
		n.shows(made)
	}
	if err := w.nodes[2].store.Undrain(ctx, drained.name); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes...) // it gets its part again
	if err := w.nodes[2].store.Drain(ctx, drained.name); err != nil {
		t.Fatal(err)
	}
	w.settled(3, rest...)
	if err := w.nodes[2].store.Remove(ctx, drained.name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the table has forgotten it", func() error {
		for _, n := range append(rest, drained) {
			if nodes := n.store.Nodes(); len(nodes) != 3 {
				return fmt.Errorf("%s knows %d nodes", n.name, len(nodes))
			}
		}
		return nil
	})
	if err := drained.store.Ready(); err == nil {
		t.Error("a node that was removed is ready")
	}
}

// TestRemoveLiving: a node that answers is not removed before it has been drained, also if it has
// no replica.
func TestRemoveLiving(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 28, func(c *Config) { c.Ranges = 1 })
	spare := w.nodes[3]
	if g := spare.store.of(0).local(); g != nil {
		t.Fatalf("%s has a replica", spare.name)
	}
	eventually(t, "it is refused", func() error {
		if err := w.nodes[0].store.Remove(ctx, spare.name); !errors.Is(err, ErrRefused) {
			return fmt.Errorf("removal of a node that lives: %w", err)
		}
		return nil
	})
	if err := w.nodes[0].store.Drain(ctx, spare.name); err != nil {
		t.Fatal(err)
	}
	if err := w.nodes[0].store.Remove(ctx, spare.name); err != nil {
		t.Fatal(err)
	}
}

// TestDeadNode: the replicas of a node that is dead for longer than the grace are made on
// others; when it comes back it deletes its own, and gets its part of what there is.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	w := newTown(t, 4, 23, func(c *Config) { c.Cluster.Grace = 5 * time.Second })
	made := w.filled(20, "before")
	dead := w.nodes[3]
	before := w.nodes[0].store.known.Load().LastReplica
	dead.stop()
	w.settled(3, w.nodes[:3]...)
	if after := w.nodes[0].store.known.Load().LastReplica; after <= before {
		t.Errorf("the last replica has number %d, as before", after)
	}
	if err := dead.open(0); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes...)
	dead.shows(made)
	w.agreeEach()
}

// TestRemovedComesBack: what a removed node has is of no effect when it comes back, and is
// deleted there; a wiped directory under the same name is another node.
func TestRemovedComesBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 24, nil)
	made := w.filled(20, "before")
	gone := w.nodes[2]
	gone.stop()
	eventually(t, "it is removed", func() error { return w.nodes[0].store.Remove(ctx, gone.name) })
	rest := []*townNode{w.nodes[0], w.nodes[1], w.nodes[3]}
	w.settled(3, rest...)
	if err := gone.open(0); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has deleted its replicas", func() error {
		if n := len(gone.store.groups()); n > 0 {
			return fmt.Errorf("it has %d", n)
		}
		if err := gone.store.Ready(); err == nil {
			return errors.New("it is ready")
		}
		return nil
	})
	eventually(t, "it has deleted their records", func() error {
		for key := range dump(t, gone.store.db) {
			if b := binary.BigEndian.Uint16([]byte(key)); b < channel.Buckets {
				return fmt.Errorf("there are some of bucket %d", b)
			}
		}
		return nil
	})
	eventually(t, "it knows that it is forgotten", func() error {
		table, err := gone.store.meta.store.Table()
		if err == nil && tables.Node(table, string(gone.store.meta.raftID)) != nil {
			err = fmt.Errorf("it is in its table of revision %d", table.Revision)
		}
		return err
	})
	gone.stop()
	if err := gone.open(0); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "removed") || strings.Contains(err.Error(), "%!") {
		t.Errorf("a start of a node that the cluster has forgotten: %v", err)
	}
	w.nodes = rest
	wiped := w.add(gone.name)
	if err := wiped.open(0); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes...)
	wiped.shows(made)
}

// TestRollingRestart: nodes that are restarted, one after the other, keep their replicas: none is
// made, and none is filled.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 39, nil)
	made := w.filled(20, "before")
	before := w.driver().store.meta.fsm.meta()
	for i, n := range w.nodes {
		n.stop()
		others := slices.DeleteFunc(slices.Clone(w.nodes), func(o *townNode) bool { return o == n })
		maps.Copy(made, w.filledAt(others, 10, fmt.Sprint("without/", i)))
		if err := n.open(0); err != nil {
			t.Fatal(err)
		}
		eventually(t, n.name+" is ready", n.store.Ready)
		if filled := n.received(); filled > 0 {
			t.Errorf("%s has received %d states", n.name, filled)
		}
	}
	w.settled(3, w.nodes...)
	after := w.driver().store.meta.fsm.meta()
	if after.LastReplica != before.LastReplica {
		t.Errorf("replicas were made: the last one has number %d, %d before", after.LastReplica, before.LastReplica)
	}
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()
}

// TestDriverStops: whenever the node stops that drives replicas to a new one, another goes on.
func TestDriverStops(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 25, nil)
	made := w.filled(10, "before")
	if err := w.add("node-3").open(0); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		var driver *townNode
		eventually(t, "a driver", func() error {
			for _, n := range w.nodes[:3] {
				if n.store.meta.raft().State() == raft.Leader {
					driver = n
					return nil
				}
			}
			return errors.New("none of the founders leads the meta group")
		})
		time.Sleep(time.Duration(round*700) * time.Millisecond) // in another phase each time
		driver.stop()
		if err := driver.open(0); err != nil {
			t.Fatal(err)
		}
	}
	w.settled(3, w.nodes...)
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()
}

// agreeEach waits until the replicas of each range are at the same entry, and wants them to
// have the same state.
func (w *town) agreeEach() {
	w.t.Helper()
	eventually(w.t, "replicas at the same entry", func() error {
		type seen struct {
			sum   [32]byte
			index uint64
			node  string
		}
		first := make(map[uint32]seen)
		for _, n := range w.nodes {
			for _, g := range n.store.groups() {
				sum, index, err := g.digest()
				if err != nil {
					return err
				}
				have, known := first[g.id]
				switch {
				case !known:
					first[g.id] = seen{sum, index, n.name}
				case have.index != index:
					return fmt.Errorf("range %d: %s at entry %d, %s at %d", g.id, have.node, have.index, n.name, index)
				case have.sum != sum:
					w.t.Fatalf("range %d at entry %d: %s and %s differ", g.id, index, have.node, n.name)
				}
			}
		}
		return nil
	})
}
