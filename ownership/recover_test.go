package ownership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// recovered recovers groups at a node.
func (n *townNode) recovered(groups ...uint32) {
	n.town.t.Helper()
	for _, group := range groups {
		what := fmt.Sprintf("recovery of range %d", int32(group))
		eventually(n.town.t, what, func() error {
			_, err := n.store.Recover(context.Background(), group)
			done := func(r Recovery) bool { return r.Range == group }
			if errors.Is(err, ErrRefused) && slices.ContainsFunc(n.store.Recoveries(), done) {
				if said := err.Error(); !strings.Contains(said, "was recovered at") && !strings.Contains(said, "a majority") {
					n.town.t.Errorf("%s, once more: %v", what, err)
				}
				return nil // by the call before, whose outcome was unknown
			}
			if errors.Is(err, ErrInvalid) {
				n.town.t.Errorf("%s: %v", what, err) // an operator would be told that it cannot be
			}
			return err
		})
	}
}

// ranges returns the IDs of all ranges.
func (n *townNode) ranges() (ids []uint32) {
	for _, r := range n.store.Table() {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestRecoverWithOneOfThree: two of three nodes are gone for good. The third one refuses to
// recover a range before the meta group, and recovers both then: what it had is there, it is
// written again, two fresh nodes get all of it, and every node knows for ever what was done.
// When the others come back with what they had, that is deleted, and nothing of it counts.
func TestRecoverWithOneOfThree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 41, nil)
	made := w.filled(20, "before")
	w.agree()
	left, gone := w.nodes[0], w.nodes[1:]
	for _, n := range gone {
		n.stop()
	}
	if _, err := left.store.Recover(ctx, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a range without the meta group: %v", err)
	}
	var plan Recovery
	eventually(t, "the others are silent", func() (err error) {
		plan, err = left.store.PlanRecovery(ctx, MetaGroup)
		return err
	})
	if len(plan.Survivors) != 1 || plan.Survivors[0].Node != left.name || !slices.Equal(plan.Lost, []string{"node-1", "node-2"}) || plan.Survivors[0].Index == 0 {
		t.Fatalf("plan %+v", plan)
	}
	if n := len(left.store.Recoveries()); n > 0 {
		t.Fatalf("a plan has done %d recoveries", n)
	}
	left.recovered(MetaGroup)
	left.recovered(left.ranges()...)
	w.nodes = []*townNode{left}
	for id, ch := range w.filled(20, "after") {
		made[id] = ch
	}
	left.shows(made)

	w.nodes = append(w.nodes, gone...)
	w.open(gone...) // both at once: they have a majority of what was
	for _, n := range gone {
		eventually(t, n.name+" has nothing", func() error {
			if have, led := len(n.store.groups()), n.store.serving(); have > 0 || led > 0 || n.store.Ready() == nil {
				return fmt.Errorf("it has %d replicas, leads %d, ready: %v", have, led, n.store.Ready())
			}
			return nil
		})
		if r := n.store.Subscribe(ctx, []NewSubscription{wish("http://example.com/gone", "", webhook)})[0]; r.Err == nil {
			t.Errorf("%s, which was given up, subscribes", n.name)
		}
		n.stop()
	}
	w.nodes = []*townNode{left}
	for _, name := range []string{"node-1", "node-4"} { // a wiped one, and a new one
		if err := w.add(name).open(0); err != nil {
			t.Fatal(err)
		}
	}
	w.settled(3, w.nodes...)
	w.agreeEach()
	left.stop() // it is needed no more than the others
	for id, ch := range w.filledAt(w.nodes[1:], 10, "without") {
		made[id] = ch
	}
	if err := left.open(0); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.nodes {
		n.shows(made)
		of := make(map[uint32]string)
		for _, r := range n.store.Recoveries() {
			of[r.Range] = r.Survivors[0].Node
		}
		if len(of) != 1+len(left.ranges()) || of[MetaGroup] != left.name || of[3] != left.name {
			t.Errorf("%s knows recoveries %+v", n.name, n.store.Recoveries())
		}
	}
}

// TestRecoverRange: of five nodes two are gone, and with them the majority of some ranges, not
// of the meta group: those are recovered from what is left, the others refuse it.
func TestRecoverRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 5, 42, nil)
	made := w.filled(30, "before")
	eventually(t, "all have all", func() error { return w.sameEntries() })
	all := w.nodes
	left, gone := all[2:], all[:2]
	w.nodes = left
	for _, n := range gone {
		n.stop()
	}
	lost := 0
	for _, r := range left[0].store.known.Load().Ranges {
		on := 0
		for _, id := range r.Replicas {
			if slices.Contains([]string{"node-0", "node-1"}, raftnet.NodeName(id)) {
				on++
			}
		}
		if on < 2 {
			if _, err := left[0].store.Recover(ctx, r.Id); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "majority") {
				t.Errorf("recovery of range %d, which has lost %d of 3: %v", r.Id, on, err)
			}
			continue
		}
		lost++
		left[r.Id%3].recovered(r.Id)
	}
	if lost == 0 {
		t.Fatal("no range has lost its majority: the test shows nothing")
	}
	if _, err := left[0].store.Recover(ctx, MetaGroup); !errors.Is(err, ErrRefused) {
		t.Errorf("recovery of the meta group: %v", err)
	}
	for id, ch := range w.filled(20, "after") {
		made[id] = ch
	}
	for _, n := range left {
		n.shows(made)
	}
	w.nodes = all
	w.open(gone...)
	w.settled(3, w.nodes...)
	for _, n := range all {
		n.shows(made)
		if done := n.store.Recoveries(); len(done) != lost {
			t.Errorf("%s knows %d recoveries, want %d", n.name, len(done), lost)
		}
	}
	w.agreeEach()
}

// sameEntries wants all replicas of each range to have applied the same.
func (w *town) sameEntries() error {
	at := make(map[uint32]uint64)
	for _, n := range w.nodes {
		for _, g := range n.store.groups() {
			if have, known := at[g.id]; known && have != g.state.Index() {
				return fmt.Errorf("range %d is at %d and at %d", g.id, have, g.state.Index())
			}
			at[g.id] = g.state.Index()
		}
	}
	return nil
}

// TestRecoverRefused: nothing is recovered while a majority answers, at a node alone, or of a
// range that is none.
func TestRecoverRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 43, nil)
	made := w.filled(5, "before")
	w.nodes[2].stop()
	for _, group := range []uint32{0, MetaGroup} {
		if _, err := w.nodes[0].store.Recover(ctx, group); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "2 of 3 voters") {
			t.Errorf("range %d with two of three: %v", int32(group), err)
		}
	}
	if _, err := w.nodes[0].store.Recover(ctx, 99); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("no such range: %v", err)
	}
	alone := open(t, testConfig(t))
	if _, err := alone.Recover(ctx, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("at a node alone: %v", err)
	}
	w.nodes[1].shows(made)
	if n := len(w.nodes[0].store.Recoveries()); n > 0 {
		t.Errorf("%d recoveries", n)
	}
}

// TestRecoverCut: a recovery of the meta group that was cut after it was noted, or after the
// configuration was written as well, is finished by the next start; one of a range that was cut
// is, too.
func TestRecoverCut(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*townNode, *wire.RecoverMeta){
		"noted": func(*townNode, *wire.RecoverMeta) {},
		"written": func(n *townNode, c *wire.RecoverMeta) {
			m, err := openMeta(n.dir+"/meta", Config{Node: n.name, Cluster: &Cluster{}}, newTools(Config{Logger: slog.New(slog.DiscardHandler)}, nil))
			if err != nil {
				n.town.t.Fatal(err)
			}
			table, err := m.store.Table()
			if err == nil {
				_, err = m.goOnRecovering(table)
			}
			if err = errors.Join(err, m.close()); err != nil {
				n.town.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			w := newTown(t, 3, 44, nil)
			made := w.filled(10, "before")
			w.agree()
			left := w.nodes[0]
			w.nodes[1].stop()
			w.nodes[2].stop()
			w.nodes = w.nodes[:1]
			var plan recoveryPlan
			eventually(t, "the others are silent", func() (err error) {
				plan, err = left.store.planRecovery(ctx, metaRange)
				return err
			})
			c := left.store.metaRecovery(plan)
			if err := left.store.meta.store.setRecovery(c); err != nil {
				t.Fatal(err)
			}
			left.stop()
			cut(left, c)
			if err := left.open(0); err != nil {
				t.Fatal(err)
			}
			left.recovered(left.ranges()...)
			left.shows(made)
			w.filled(5, "after")
			eventually(t, "nothing is pending", func() error {
				if pending, err := left.store.meta.store.recovery(); err != nil || pending != nil {
					return fmt.Errorf("pending: %v, %w", pending, err)
				}
				return nil
			})
			w.losePower(left)
			w.open(left)
			left.shows(made)
			if done := left.store.Recoveries(); len(done) != 1+len(left.ranges()) {
				t.Errorf("recoveries %+v", done)
			}
		})
	}
}

// TestRecoverWaitsForSlow: a node that was heard a moment ago and does not answer in time is not
// given up for that.
func TestRecoverWaitsForSlow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 47, nil)
	left, slow := w.nodes[0], w.nodes[1]
	w.nodes[2].stop()
	missed := func(i int) int {
		health, _ := left.store.net.peers.Health(left.store.known.Load().Nodes[i].Id)
		return health.Missed
	}
	eventually(t, "a node is silent", func() error {
		if n := missed(2); n < silentAfter {
			return fmt.Errorf("%d pings missed", n)
		}
		return nil
	})
	for _, group := range []uint32{0, MetaGroup} {
		eventually(t, "a majority answers", func() error {
			if _, err := left.store.PlanRecovery(ctx, group); !errors.Is(err, ErrRefused) {
				return fmt.Errorf("range %d: %w", int32(group), err)
			}
			return nil
		})
		slow.each(w.net.Cut)
		plan, err := left.store.PlanRecovery(ctx, group)
		if late := missed(1) < silentAfter; late && (!errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), slow.name)) {
			t.Errorf("range %d, at once: %+v, %v", int32(group), plan, err)
		}
		eventually(t, "it is silent", func() error { _, err := left.store.PlanRecovery(ctx, group); return err })
		slow.each(w.net.Heal)
	}
}

// TestRecoverDamaged: a range of which the only replica left is damaged is not recovered from
// it: it would go on, under its new number, as if it were whole.
func TestRecoverDamaged(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 45, nil)
	made := w.filled(20, "before")
	w.agree()
	left, damaged := w.nodes[0], w.nodes[0].store.of(0).local()
	for _, n := range w.nodes[1:] {
		n.stop()
	}
	left.store.repairs.note(damaged.id, string(damaged.seat.id), disk.Corrupt("a test says so"))
	left.recovered(MetaGroup)
	for _, group := range left.ranges() {
		if group != damaged.id {
			left.recovered(group)
		}
	}
	eventually(t, "the table has it", func() error {
		if r := left.store.meta.fsm.meta().Ranges[damaged.id]; len(r.Damaged) == 0 {
			return fmt.Errorf("range %v", r)
		}
		return nil
	})
	for range 2 {
		_, err := left.store.Recover(context.Background(), damaged.id)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no whole replica") {
			t.Errorf("recovery from a damaged replica: %v", err)
		}
		left.stop() // the next start knows it too
		if err := left.open(0); err != nil {
			t.Fatal(err)
		}
	}
	here, elsewhere := 0, 0
	for id, ch := range made {
		if r := left.store.of(ch.Bucket()); r.ID != damaged.id {
			left.shows(map[string]channel.ID{id: ch})
			elsewhere++
			continue
		}
		here++
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if _, err := left.store.View().Subscription(ctx, id); err == nil || errors.Is(err, channel.ErrNotFound) {
			t.Errorf("subscription %s: %v", id, err)
		}
		cancel()
	}
	if here == 0 || elsewhere == 0 {
		t.Errorf("%d subscriptions in the range, %d in others: the test shows nothing", here, elsewhere)
	}
}

// TestRecoverFromKnown: the node that recovers the meta group has been told of a table that its
// log does not lead to: the others committed that, and are gone. The group goes on from it, else
// replicas that moved since would be deleted where they are.
func TestRecoverFromKnown(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 46, nil)
	made := w.filled(10, "before")
	w.agree()
	left := w.nodes[0]
	for _, n := range w.nodes[1:] {
		n.stop()
	}
	told := proto.CloneOf(left.store.known.Load())
	told.Revision += 50
	replicas := told.Ranges[0].Replicas
	replicas[0], replicas[2] = replicas[2], replicas[0]
	left.store.learn(told)
	left.recovered(MetaGroup)
	eventually(t, "the group has what this node knows", func() error {
		have, known := left.store.meta.fsm.meta(), left.store.known.Load()
		if tables.Epoch(have) != 1 || tables.Newer(known, have) || tables.Newer(have, known) {
			return fmt.Errorf("the group is at recovery %d, revision %d, the node at %d, %d", tables.Epoch(have), have.Revision, tables.Epoch(known), known.Revision)
		}
		return nil
	})
	if have := left.store.meta.fsm.meta().Ranges[0].Replicas; !slices.Equal(have, replicas) {
		t.Errorf("replicas of the first range are %v, want %v", have, replicas)
	}
	left.recovered(left.ranges()...)
	left.shows(made)
}

// TestMajorityAnswers: a damaged replica gives its vote, but not to a log that is older than its
// own, and is not what others follow.
func TestMajorityAnswers(t *testing.T) {
	log := func(replica string, index uint64, damaged bool) *wire.ReplicaLog {
		return &wire.ReplicaLog{Replica: replica, Index: index, Term: 2, Voters: []string{"a.1/1", "b.1/2", "c.1/3"}, Damaged: damaged}
	}
	for name, test := range map[string]struct {
		logs    []*wire.ReplicaLog
		refused bool
	}{
		"two whole ones":                {[]*wire.ReplicaLog{log("a.1/1", 7, false), log("b.1/2", 5, false)}, true},
		"one":                           {[]*wire.ReplicaLog{log("a.1/1", 7, false)}, false},
		"one, and a damaged older one":  {[]*wire.ReplicaLog{log("a.1/1", 5, true), log("b.1/2", 7, false)}, true},
		"one, and a damaged equal one":  {[]*wire.ReplicaLog{log("a.1/1", 7, true), log("b.1/2", 7, false)}, true},
		"one, and a damaged newer one":  {[]*wire.ReplicaLog{log("a.1/1", 7, true), log("b.1/2", 5, false)}, false},
		"one, and one that has no vote": {[]*wire.ReplicaLog{log("a.1/1", 7, false), log("d.1/4", 7, false)}, false},
	} {
		slices.SortStableFunc(test.logs, newestFirst)
		if err := majorityAnswers("range 0", test.logs); errors.Is(err, ErrRefused) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAheadFirst: a replica that was sent a state is as new as that, though its log, by which
// leaders are elected, ends at the snapshot of an earlier term.
func TestAheadFirst(t *testing.T) {
	log := &wire.ReplicaLog{Replica: "a.1/1", Term: 7, Index: 1200, Applied: 1190}
	for _, test := range []struct {
		applied uint64
		first   string
	}{{1500, "b.1/2"}, {1200, log.Replica}, {0, log.Replica}} {
		sent := &wire.ReplicaLog{Replica: "b.1/2", Term: 5, Index: 900, Applied: test.applied}
		logs := []*wire.ReplicaLog{sent, log}
		slices.SortStableFunc(logs, newestFirst)
		if got := aheadFirst(logs); got[0].Replica != test.first || len(got) != 2 || got[0] == got[1] {
			t.Errorf("a state that ends at %d: %v, want %s first", test.applied, got, test.first)
		}
	}
}

// TestOnlyCopy: a node that has been told that its replica is the only one of a range, and has not
// given it its new number yet, has the only copy, which it must not set aside.
func TestOnlyCopy(t *testing.T) {
	table := &wire.Meta{
		LastReplica: 6, Nodes: []*wire.Node{{Id: "a.1"}, {Id: "b.1"}, {Id: "c.1"}},
		Ranges: []*wire.Range{{To: channel.Buckets - 1, Replicas: []string{"a.1/4", "b.1/5", "c.1/6"}}},
	}
	h := &held{replicas: map[uint32]string{0: "b.1/5"}}
	if h.onlyCopy(table) {
		t.Error("one of three is the only one")
	}
	command := &wire.RecoverRange{Recovery: &wire.Recovery{Survivor: "b.1/5"}}
	if err := tables.Change(table, &wire.MetaCommand{Change: &wire.MetaCommand_RecoverRange{RecoverRange: command}}); err != nil {
		t.Fatal(err)
	}
	for _, replica := range []string{"b.1/5", table.Ranges[0].Replicas[0]} {
		if h.replicas[0] = replica; !h.onlyCopy(table) {
			t.Errorf("%s is one of several", replica)
		}
	}
	if h.replicas = nil; h.onlyCopy(table) {
		t.Error("a node without a replica has the only one")
	}
}
