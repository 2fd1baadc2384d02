package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// TestSilentReplica: a nonvoter that has taken nothing has not caught up, however short the
// log is: with a vote, it would count for a majority that it cannot be part of.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	w := newTown(t, 4, 31, nil)
	leader := w.leader(0)
	g := leader.store.of(0).local()
	empty, _ := w.addEmpty(leader)
	if last := g.raft.LastIndex(); last > nearlyCaught {
		t.Fatalf("the log has %d entries: it is not short", last)
	}
	for range 2 { // the first look begins to count
		view, err := leader.store.ranges.view(leader.store.of(0))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range view.Servers {
			if s.ID != string(empty.ID()) {
				continue
			}
			found = true
			if s.Voter || s.Caught > 0 {
				t.Errorf("a replica that has taken nothing has kept up for %s: %+v", s.Caught, s)
			}
		}
		if !found {
			t.Fatal("the replica is not in the configuration")
		}
	}
}

// addEmpty makes a nonvoter of range 0 of a replica that is not there, on a node that knows nothing
// of it, and returns the view before.
func (w *town) addEmpty(leader *townNode) (empty raftnet.Replica, before placement.View) {
	w.t.Helper()
	way := leader.store.of(0)
	empty = raftnet.Replica{Range: way.local().id, Number: 1 << 20}
	for _, n := range w.nodes {
		if n.store.of(0).local() == nil {
			empty.Node = n.store.net.self()
		}
	}
	before, err := leader.store.ranges.view(way)
	if err != nil {
		w.t.Fatal(err)
	}
	step := placement.Step{Kind: placement.AddNonvoter, Replica: placement.Replica{ID: string(empty.ID()), Node: empty.Node}, Index: before.Index}
	if err := leader.store.ranges.configure(context.Background(), way, step); err != nil {
		w.t.Fatal(err)
	}
	return empty, before
}

// TestConfigurationFence: a step is refused that was decided for another configuration than the
// present one, and no step is decided for one that is not committed.
func TestConfigurationFence(t *testing.T) {
	t.Parallel()
	w := newTown(t, 4, 33, nil)
	leader := w.leader(0)
	g, way := leader.store.of(0).local(), leader.store.of(0)
	empty, before := w.addEmpty(leader)
	after, err := leader.store.ranges.view(way)
	if err != nil || after.Index <= before.Index || len(after.Servers) != len(before.Servers)+1 {
		t.Fatalf("after a change of %+v: %+v, %v", before, after, err)
	}
	remove := placement.Step{Kind: placement.Remove, Replica: placement.Replica{ID: string(empty.ID()), Node: empty.Node}, Index: before.Index}
	if err := leader.store.ranges.configure(t.Context(), way, remove); err == nil {
		t.Error("a step that was decided for the configuration before is taken")
	}
	heal := leader.deafen()
	defer heal()
	_ = g.raft.RemoveServer(empty.ID(), after.Index, configureWithin) // its outcome is not waited for
	eventually(t, "the removal is in the log", func() error {
		if len(g.raft.GetConfiguration().Configuration().Servers) != len(before.Servers) {
			return errors.New("it is not")
		}
		return nil
	})
	if view, err := g.seat.view(g.raft, &g.fsm.configured, g.id, &g.filling); !errors.Is(err, errChanging) {
		t.Errorf("a configuration that is not committed: %+v, %v", view, err)
	}
}

// leader waits for the node that serves a range.
func (w *town) leader(group uint32) (leader *townNode) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("range %d is led", group), func() error {
		for _, n := range w.nodes {
			if s := n.live.Load(); s != nil && s.byID(group).serves() {
				leader = n
				return nil
			}
		}
		return fmt.Errorf("by none")
	})
	return leader
}

// driver waits for the node that leads the meta group.
func (w *town) driver() (driver *townNode) {
	w.t.Helper()
	eventually(w.t, "a driver", func() error {
		for _, n := range w.nodes {
			if s := n.live.Load(); s != nil && s.meta.raft().State() == raft.Leader && len(s.meta.fsm.meta().Cluster) > 0 {
				driver = n
				return nil
			}
		}
		return fmt.Errorf("none leads the meta group")
	})
	return driver
}

// TestRemovedNodeVotes: a removed node that answers still counts for the majorities of its
// groups until those have others: removed too early, it costs no range its majority.
func TestRemovedNodeVotes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 5, 32, func(c *Config) { c.Ranges = 5 })
	made := w.filled(20, "before")
	stays, removed, dead := w.nodes[0], w.nodes[1], w.nodes[2] // range 0 is on these
	removed.stop()
	dead.stop()
	eventually(t, "it is removed", func() error { return stays.store.Remove(ctx, removed.name) })
	if err := removed.open(0); err != nil {
		t.Fatal(err)
	}
	for id, ch := range w.filledAt([]*townNode{stays, w.nodes[3], w.nodes[4]}, 40, "after") {
		made[id] = ch
	}
	eventually(t, "the other one is removed", func() error { return stays.store.Remove(ctx, dead.name) })
	rest := []*townNode{stays, w.nodes[3], w.nodes[4]}
	w.settled(3, rest...)
	for _, n := range rest {
		n.shows(made)
	}
	eventually(t, "it has deleted what it had", func() error {
		if n := len(removed.store.groups()); n > 0 {
			return fmt.Errorf("it has %d replicas", n)
		}
		return nil
	})
}

// TestOldTable: a driver whose table is not the newest, since it was suspended, takes no steps
// for it, though the views are of now.
func TestOldTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 33, nil)
	driver := w.driver().store
	old := driver.meta.fsm.meta()
	if err := driver.Drain(ctx, w.nodes[3].name); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes[:3]...)
	c := placement.Cluster{Replicas: 3, Grace: time.Hour, Moving: movingRanges}
	for _, n := range old.Nodes {
		c.Nodes = append(c.Nodes, placement.Node{ID: n.Id})
	}
	moved := 0
	for i, r := range old.Ranges {
		c.Ranges = append(c.Ranges, placement.Range{ID: r.Id, Replicas: replicasOf(r.Replicas)})
		if now := driver.known.Load().Ranges[i]; !slices.Equal(slices.Sorted(slices.Values(now.Replicas)), slices.Sorted(slices.Values(r.Replicas))) {
			moved++
		}
	}
	driver.driver.moveReplicas(ctx, 0, old.Revision, c)
	if steps := placement.Next(c); len(steps) < moved || moved == 0 {
		t.Fatalf("the old table would have steps %+v, with %d ranges moved", steps, moved)
	}
	for i := range old.Ranges {
		if servers := w.leader(uint32(i)).store.byID(uint32(i)).servers(); len(servers) != 3 {
			t.Errorf("range %d has %v", i, servers)
		}
	}
}

// TestUnknownChange: a meta command of a later version, forwarded to a leader that does not
// know it, is refused before it is in the log: no follower would take it, nor what comes after.
func TestUnknownChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 34, nil)
	ask := func(command []byte) (err error) {
		eventually(t, "a driver that answers", func() error {
			driver := w.driver()
			from := w.nodes[0]
			if from == driver {
				from = w.nodes[1]
			}
			_, err = from.store.askTable(ctx, driver.store.net.self(), callChange, command)
			if errors.Is(err, errElsewhere) { // it leads no longer, or does not know all yet
				return err
			}
			return nil
		})
		return err
	}
	known, err := proto.Marshal(&wire.MetaCommand{Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: w.nodes[0].store.net.self()}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, command := range map[string][]byte{
		"unknown command": {0xFA, 0x3F, 0}, // field 1023
		"unknown field":   append(bytes.Clone(known), 0xF8, 0x3F, 1),
		"no command":      nil,
	} {
		if err := ask(command); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := ask(known); err != nil {
		t.Errorf("a known one: %v", err)
	}
	if err := w.nodes[0].store.Drain(ctx, w.nodes[3].name); err != nil {
		t.Errorf("a drain after that: %v", err)
	}
}

// TestTwoDrains: of two drains at the same instant, one of which leaves too few nodes for the
// other, one is refused. The other may be asked for again, also when there are too few nodes
// meanwhile.
func TestTwoDrains(t *testing.T) {
	t.Parallel()
	w := newTown(t, 4, 35, nil)
	driver := w.driver().store
	var draining sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		draining.Go(func() { errs[i] = driver.Drain(context.Background(), w.nodes[i].name) })
	}
	draining.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), ErrRefused) {
		t.Fatalf("drains: %v and %v", errs[0], errs[1])
	}
	drained := w.nodes[0]
	if errs[0] != nil {
		drained = w.nodes[1]
	}
	gone := w.nodes[2]
	if gone.store == driver {
		gone = w.nodes[3]
	}
	id := string(gone.store.meta.raftID)
	gone.stop()
	eventually(t, "too few nodes answer", func() error {
		if answers, err := driver.net.answers(id); err != nil || answers {
			return fmt.Errorf("it answers: %v, %w", answers, err)
		}
		return nil
	})
	if err := driver.Drain(context.Background(), drained.name); err != nil {
		t.Errorf("the drain again: %v", err)
	}
}

// TestClosedAfterMove: a node that gives its replica away still knows up to where the range is
// closed: a stream that begins there gets no updates of before.
func TestClosedAfterMove(t *testing.T) {
	t.Parallel()
	w := newTown(t, 4, 36, nil)
	w.filled(20, "before")
	drained := w.leader(0)
	g, before := drained.store.of(0).local(), drained.store.ClosedIn(drained.store.byID(0).Range)
	if page, err := drained.store.sinceHere(g, g.rng(), sinceQuery{Limit: 10}); err != nil || page.Closed < before {
		t.Errorf("its updates: closed up to %d, %v", page.Closed, err)
	}
	if err := drained.store.Drain(context.Background(), drained.name); err != nil {
		t.Fatal(err)
	}
	eventuallyWithin(t, placeWithin, "the replica leaves", func() error {
		closed := drained.store.ClosedIn(drained.store.byID(0).Range)
		if closed < before {
			t.Fatalf("closed up to %d, before %d", closed, before)
		}
		if drained.store.of(0).local() != nil {
			return errors.New("it is here")
		}
		return nil
	})
	if closed := drained.store.ClosedIn(drained.store.byID(0).Range); closed < before || before == 0 {
		t.Errorf("closed up to %d, before %d", closed, before)
	}
	if page, err := drained.store.sinceHere(g, g.rng(), sinceQuery{Limit: 10}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a stream that reads the replica which has left: closed up to %d, %v", page.Closed, err)
	}
}

// TestMovesUnderLoad: replicas leave a node and come back to it while others subscribe, commit
// and follow the updates, and the driver stops in the middle: nothing that was acknowledged is
// lost or read twice, and no replica is left over.
func TestMovesUnderLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const seed = 37
	random := rand.New(rand.NewPCG(seed, 1))
	w := newTown(t, 4, seed, nil)
	feeds := newFeedLoad(w)
	loading, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	feeds.start(loading, &running, seed)
	subscribed := make(map[string]channel.ID)
	running.Go(func() { w.keepSubscribing(loading, subscribed) })
	for round := range 2 {
		moved := w.nodes[(round+1)%4]
		eventually(t, "a drain", func() error { return w.nodes[round%4].store.Drain(ctx, moved.name) })
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond) // in any phase
		driver := w.driver()
		driver.stop()
		if err := driver.open(0); err != nil {
			t.Fatal(err)
		}
		w.settled(3, slices.DeleteFunc(slices.Clone(w.nodes), func(n *townNode) bool { return n == moved })...)
		back := &wire.MetaCommand{Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: moved.store.net.self()}}}
		eventually(t, "the end of a drain", func() error { _, err := moved.store.change(ctx, back); return err })
		w.settled(3, w.nodes...)
	}
	stop()
	running.Wait()
	feeds.settle()
	for _, n := range w.nodes {
		n.shows(subscribed)
	}
	if len(subscribed) < 20 {
		t.Errorf("%d subscriptions were made meanwhile", len(subscribed))
	}
	w.agreeEach()
}

// keepSubscribing subscribes at any node until ctx ends, and notes what was acknowledged.
func (w *town) keepSubscribing(ctx context.Context, subscribed map[string]channel.ID) {
	for i := 0; ctx.Err() == nil; i++ {
		pause(ctx, 20*time.Millisecond)
		s := w.nodes[i%len(w.nodes)].live.Load()
		if s == nil {
			continue
		}
		r := s.Subscribe(context.Background(), []NewSubscription{wish(fmt.Sprintf("http://example.com/load/%d", i), "", webhook)})[0]
		switch {
		case r.Err == nil:
			if _, twice := subscribed[r.ID]; twice {
				w.t.Errorf("ID %s was given twice", r.ID)
			}
			subscribed[r.ID] = r.Channel
		case !errors.Is(r.Err, ErrUnavailable) && !errors.Is(r.Err, ErrClosed):
			w.t.Errorf("subscribe: %v", r.Err)
		}
	}
}

// TestJoinsAndDies: a node joins and dies, ten times, each time with a new disk under the same
// name: nothing is left of the nodes that it was.
func TestJoinsAndDies(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(38, 1))
	w := newTown(t, 3, 38, nil)
	founders := slices.Clone(w.nodes)
	made := w.filled(20, "before")
	for life := range 10 {
		w.nodes = founders
		n := w.add("node-3")
		if err := n.open(0); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		for id, ch := range w.filledAt(founders, 3, fmt.Sprint("life/", life)) {
			made[id] = ch
		}
		if life < 9 {
			time.Sleep(time.Duration(random.IntN(6000)) * time.Millisecond) // in any phase
			n.stop()
		}
	}
	w.settled(3, w.nodes...)
	eventually(t, "the nodes that it was are forgotten", func() error {
		table := w.driver().store.meta.fsm.meta()
		servers := w.driver().store.meta.raft().GetConfiguration().Configuration().Servers
		if len(table.Nodes) != 4 || len(table.MetaReplicas) != 4 || len(servers) != 4 {
			return fmt.Errorf("%d nodes, %d replicas of the meta group, raft has %v", len(table.Nodes), len(table.MetaReplicas), servers)
		}
		return nil
	})
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()
}

// TestLeaderDies: the leader of a range that moves loses its power in each phase of the move: the
// move goes on, and no replica is left over.
func TestLeaderDies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 4, 40, nil)
	made := w.filled(20, "before")
	moved, others := w.nodes[3], w.nodes[:3]
	drained := false
	for i, wanted := range []movePhase{planned, nonvoter, oneMore, removed} {
		met := false
		for try := 0; !met; try++ { // a phase may be over before it is noticed
			if try == 5 {
				t.Fatalf("no range was seen %s", wanted)
			}
			change, nodes := (*Store).Drain, others
			if drained {
				change, nodes = (*Store).Undrain, w.nodes
			}
			eventually(t, "a drain, or its end", func() error { return change(w.nodes[try%3].store, ctx, moved.name) })
			drained = !drained
			for begun := time.Now(); !met && time.Since(begun) < 10*time.Second; pause(ctx, time.Millisecond) {
				if leader := w.moving(wanted); leader != nil {
					met = true
					w.losePower(leader)
					rest := slices.DeleteFunc(slices.Clone(w.nodes), func(n *townNode) bool { return n == leader })
					maps.Copy(made, w.filledAt(rest, 5, fmt.Sprint("phase/", i)))
					w.open(leader)
				}
			}
			w.settled(3, nodes...)
		}
	}
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()
}

// movePhase is how far the move of a range is.
type movePhase string

const (
	planned  movePhase = "with a replica that is planned, and not in its configuration"
	nonvoter movePhase = "with a nonvoter"
	oneMore  movePhase = "with a voter more than it should have"
	removed  movePhase = "with a replica in the table that its configuration has no longer"
)

// moving returns the leader of a range that is in a phase of its move, nil if there is none.
func (w *town) moving(wanted movePhase) *townNode {
	for _, n := range w.nodes {
		for _, g := range n.store.groups() {
			if !g.serving.Load() {
				continue
			}
			r := n.store.known.Load().Ranges[g.id]
			servers := g.raft.GetConfiguration().Configuration().Servers
			in := func(id string) bool {
				return slices.ContainsFunc(servers, func(s raft.Server) bool { return string(s.ID) == id })
			}
			phase := movePhase("")
			switch {
			case slices.ContainsFunc(servers, func(s raft.Server) bool { return s.Suffrage != raft.Voter }):
				phase = nonvoter
			case len(servers) > 3:
				phase = oneMore
			case slices.ContainsFunc(r.Joining, func(id string) bool { return !in(id) }):
				phase = planned
			case slices.ContainsFunc(r.Replicas, func(id string) bool { return !in(id) }):
				phase = removed
			}
			if phase == wanted {
				return n
			}
		}
	}
	return nil
}
