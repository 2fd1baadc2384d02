package ownership

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// anyTable is a damaged file of the state that a compaction has met, which may have records of
// all ranges.
func anyTable() disk.DamagedTable {
	return disk.DamagedTable{Path: "any", From: []byte{0}, To: []byte{0xFF, 0xFF, 0xFF, 0xFF}, Compaction: true}
}

// alone ends the node's loops, so that a test does by itself what placer.run would.
func (n *townNode) alone() {
	n.store.cancel()
	n.store.loops.Wait()
}

// flipped flips a bit in a block of the node's state that is on the disk alone.
func (n *townNode) flipped() {
	n.must(n.store.db.Flush())
	n.flipBlock()
}

// TestCutBehindTakingOut: a node loses power right after the damaged state of a replica was
// taken out of its files. The next start does not take that for a whole replica, without
// records.
func TestCutBehindTakingOut(t *testing.T) {
	t.Parallel()
	c := newRepairCase(t, 71)
	w := c.town
	made := w.filled(100, "before")
	w.agree()
	n := w.nodes[1]
	n.flipped()
	n.alone()
	if err := n.store.mend.findDamaged(anyTable()); err != nil {
		t.Fatal(err)
	}
	gone := make(map[string]bool)
	for _, g := range n.store.groups() {
		if g.fsm.spoiled.Load() {
			gone[string(g.seat.id)] = true
		}
	}
	if len(gone) == 0 {
		t.Fatal("nothing was taken out: the test shows nothing")
	}
	w.losePower(n)
	w.open(n)
	for _, g := range n.store.groups() {
		if _, subscriptions := g.state.Counts(); gone[string(g.seat.id)] {
			t.Errorf("range %d: replica %s, whose state was taken out, is opened with %d subscriptions", g.id, g.seat.id, subscriptions)
		}
	}
	c.repaired()
	w.agreeEach()
	n.shows(made)
}

// TestTakenOutServesNothing: a leader whose state was taken out, and which others still follow,
// answers no read, gives no backup, no stream and no state to others.
func TestTakenOutServesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 72, nil)
	n := w.nodes[0]
	wished := wish("http://example.com/here", "", webhook)
	w.lead(n, wished.Channel.Bucket())
	made := w.subscribe(n, wished)
	g := n.store.of(made.Channel.Bucket()).local()
	if got, err := n.store.Subscription(made.ID); err != nil || got != made {
		t.Fatalf("before: %+v, %v", got, err)
	}
	g.fsm.spoiled.Store(true)
	n.must(n.store.state.Excise(g.rng()))
	call, cancel := soon()
	defer cancel()
	for name, read := range map[string]func() error{
		"a read here":  func() error { _, err := n.store.View().Subscription(call, made.ID); return err },
		"a read there": func() error { _, err := w.nodes[1].store.View().Subscription(call, made.ID); return err },
		"a list": func() error {
			_, _, err := n.store.View().Subscriptions(call, SubscriptionQuery{Channel: &made.Channel, Limit: 10})
			return err
		},
		"a backup": func() error {
			stream, err := n.store.copyOf(ctx, n.store.of(g.all.From))
			if err == nil {
				_, err = io.Copy(io.Discard, stream)
				stream.Close()
			}
			return err
		},
		"a stream": func() error {
			_, _, _, err := n.store.Since(call, g.rng(), channel.Cursor{}, 10)
			return err
		},
		"a state for another replica": func() error {
			stream := &spooled{transfer: g.fsm.transfer}
			_, err := stream.spool()
			return errors.Join(err, stream.Close())
		},
	} {
		if err := read(); !errors.Is(err, ErrUnavailable) || errors.Is(err, channel.ErrNotFound) {
			t.Errorf("%s: %v, want %v", name, err, ErrUnavailable)
		}
	}
}

// TestTakenOutWhileApplied: what entries found in a state that was taken out meanwhile is no
// result, and is not written.
func TestTakenOutWhileApplied(t *testing.T) {
	m := newMachine(t)
	entry := encodeEntry([]*proposal{{command: marshal(t, subscribeCommand(item("http://example.com/", stream))), time: wire.Micros(day0)}})
	tx := m.begin()
	if got := m.applyEntry(tx, &raft.Log{Index: 1, Type: raft.LogCommand, Data: entry}); got.err != nil {
		t.Fatal(got.err)
	}
	m.spoiled.Store(true)
	m.write(tx)
	if _, subscriptions := m.state.Counts(); !errors.Is(m.failed, disk.ErrCorrupt) || subscriptions > 0 {
		t.Errorf("%d subscriptions, %v", subscriptions, m.failed)
	}
}

// TestDamagedSendsNoState: a leader that is found to be damaged while a state is about to be sent
// does not send it.
func TestDamagedSendsNoState(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 74, nil)
	n := w.nodes[0]
	made := w.subscribe(n, wish("http://example.com/here", "", webhook))
	way := n.store.of(made.Channel.Bucket())
	w.lead(n, way.From)
	g, to := way.local(), way.replicas()[slices.IndexFunc(way.replicas(), func(r raftnet.Replica) bool { return r.Node != n.store.net.self() })]
	send := func() error {
		stream := &spooled{transfer: g.fsm.transfer}
		_, done, err := n.store.turns.prepare(g)(context.Background(), to, stream)
		if err == nil {
			done()
		}
		return errors.Join(err, stream.Close())
	}
	eventually(t, "the state of a whole one is taken", send)
	g.barred.Store(true)
	for range 2 { // and no turn stays taken
		if err := send(); !errors.Is(err, errBarred) {
			t.Errorf("the state of a damaged one: %v", err)
		}
	}
	g.barred.Store(false)
	eventually(t, "the state of a whole one is taken", send)
}

// TestLastWholeStays: what a compaction cannot read is not taken out where no other whole
// replica has it: the process ends, as that of a node alone does.
func TestLastWholeStays(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 10)
	w := newTown(t, 2, 73, func(c *Config) {
		c.Replicas = 1
		c.Fatal = func(err error) { ended <- err }
	})
	made := w.filled(60, "before")
	n := w.nodes[0]
	n.flipped()
	n.alone()
	if err := n.store.mend.findDamaged(anyTable()); !errors.Is(err, errEnds) {
		t.Errorf("damage in a range of one replica: %v, want %v", err, errEnds)
	}
	select {
	case err := <-ended:
		wantError(t, err, ErrCorrupt)
	default:
		t.Error("the process goes on")
	}
	read := 0
	for id := range made {
		if _, err := n.store.Subscription(id); err == nil {
			read++
		}
	}
	if held, damaged, err := n.store.meta.store.held(); err != nil || len(damaged) > 0 || read == 0 {
		t.Errorf("%d subscriptions are read, of %v %v are noted as damaged, %v", read, held, damaged, err)
	}
}
