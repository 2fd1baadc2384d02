package ownership

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// conflictAtSnapshot: hashicorp/raft#697. A leader that was cut off has entries that no
// other node has, where the others have gone on, taken a snapshot, and truncated their
// logs. Once it is back it is sent the state, drops those entries, and follows.
func conflictAtSnapshot(t *testing.T) {
	w := newTown(t, 3, 12, nil)
	x := wish("http://example.com/", "", stream)
	b := x.Channel.Bucket()
	of := raftGroup{
		raft:     func(n *townNode) *raft.Raft { return n.store.of(b).local().raft },
		log:      func(n *townNode) raft.LogStore { return n.store.of(b).local().log },
		commit:   func(n *townNode) { w.subscribe(n, x) },
		snapshot: func(n *townNode) { n.store.of(b).local().snapshot() },
		entry:    marshal(t, &wire.Entry{Commands: []*wire.Command{subscribeCommand(item(x.URL, stream))}}),
	}
	w.conflict(of, 2) // it has more entries than the others
	w.conflict(of, 1) // and as many
	w.agree()
}

// conflictOfMeta is conflictAtSnapshot for the meta group.
func conflictOfMeta(t *testing.T) {
	w := newTown(t, 3, 13, nil)
	again, err := proto.Marshal(&wire.MetaCommand{Change: &wire.MetaCommand_Birth{Birth: &wire.Birth{}}}) // changes nothing
	if err != nil {
		t.Fatal(err)
	}
	of := raftGroup{
		raft:     func(n *townNode) *raft.Raft { return n.store.meta.raft() },
		log:      func(n *townNode) raft.LogStore { return n.store.meta.store },
		commit:   func(n *townNode) { _ = n.store.meta.raft().Apply(sealMeta(again), time.Second).Error() }, // called again
		snapshot: func(n *townNode) { _ = n.store.meta.raft().Snapshot().Error() },                          // the same
		entry:    sealMeta(again),
	}
	w.conflict(of, 2)
	w.conflict(of, 1)
	want := w.nodes[0].store.meta.fsm.meta()
	for _, n := range w.nodes {
		if have := n.store.meta.fsm.meta(); len(have.Nodes) != 3 || !proto.Equal(have, want) {
			t.Errorf("%s knows the cluster as %v, %s as %v", n.name, have, w.nodes[0].name, want)
		}
	}
}

// raftGroup is one of a town's Raft groups, each node has a replica of it.
type raftGroup struct {
	raft             func(*townNode) *raft.Raft
	log              func(*townNode) raft.LogStore
	commit, snapshot func(*townNode)
	entry            []byte // that is to be lost
}

// leader returns the node that leads the group as far as it knows, nil for none.
func (g raftGroup) leader(nodes []*townNode) *townNode {
	for _, n := range nodes {
		if g.raft(n).State() == raft.Leader {
			return n
		}
	}
	return nil
}

// leastAlone is how many entries the one that is cut off has at least: the others leave a
// few when they truncate their logs.
const leastAlone = 3 * trailingLogs

func (w *town) conflict(of raftGroup, times uint64) {
	cut, common := w.levelLeader(of)
	var others []*townNode
	for _, n := range w.nodes {
		if n != cut {
			others = append(others, n)
		}
	}
	cut.each(w.net.Cut)
	var proposing sync.WaitGroup
	for range 200 {
		proposing.Go(func() { of.raft(cut).Apply(of.entry, 500*time.Millisecond) }) // as long as it leads
	}
	proposing.Wait()
	var next *townNode
	eventually(w.t, "another leads", func() error {
		if next = of.leader(others); next == nil {
			return errors.New("none")
		}
		return nil
	})
	last, _ := of.log(cut).LastIndex()
	if last < common+leastAlone*times {
		w.t.Fatalf("%d entries alone", last-common)
	}
	end := common + (last-common)/times
	for of.raft(next).LastIndex() < end {
		of.commit(next)
	}
	for _, n := range others {
		w.truncate(of, n, end, common)
	}
	var alone, want, have raft.Log
	if err := of.log(cut).GetLog(last, &alone); err != nil {
		w.t.Fatal(err)
	}
	cut.each(w.net.Heal)
	of.commit(next)
	if err := of.log(next).GetLog(of.raft(next).LastIndex(), &want); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "the one that was cut off drops what it had alone, and follows", func() error {
		if err := of.log(cut).GetLog(want.Index, &have); err != nil || have.Term != want.Term {
			return fmt.Errorf("at %d its log has an entry of term %d, %v, not of %d", want.Index, have.Term, err, want.Term)
		}
		for index := common + 1; index <= last; index++ { // not where its log begins: an append from before the truncation may have reached it
			if of.log(cut).GetLog(index, &have) == nil && have.Term == alone.Term {
				return fmt.Errorf("its log still has entry %d of %d to %d, which it had alone", index, common+1, last)
			}
		}
		return nil
	})
}

// levelLeader waits until a node leads the group and all have the same log, and returns
// it and where the log ends.
func (w *town) levelLeader(of raftGroup) (leader *townNode, end uint64) {
	w.t.Helper()
	eventually(w.t, "a leader and equal logs", func() error {
		if leader = of.leader(w.nodes); leader == nil {
			return errors.New("none leads")
		}
		end = of.raft(leader).LastIndex()
		for _, n := range w.nodes {
			if applied := of.raft(n).AppliedIndex(); applied != end {
				return fmt.Errorf("%s has applied %d of %d", n.name, applied, end)
			}
		}
		return nil
	})
	return leader, end
}

// truncate has a node take a snapshot of an entry or a later one, and wants its log to
// begin behind another one.
func (w *town) truncate(of raftGroup, n *townNode, at, behind uint64) {
	w.t.Helper()
	eventually(w.t, "a snapshot at "+n.name, func() error {
		of.snapshot(n)
		have, err := strconv.ParseUint(of.raft(n).Stats()["last_snapshot_index"], 10, 64)
		if err == nil && have < at {
			err = fmt.Errorf("it is of entry %d, not %d", have, at)
		}
		return err
	})
	if first, _ := of.log(n).FirstIndex(); first <= behind+1 {
		w.t.Fatalf("the log of %s begins at entry %d, common are %d", n.name, first, behind)
	}
}
