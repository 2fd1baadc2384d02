package ownership

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// conflictAtSnapshot: hashicorp/raft#697. A leader that was cut off has entries that no
// other node has, where the others have gone on, taken a snapshot, and truncated their
// logs. Once it is back it is sent the state, drops those entries, and follows.
func conflictAtSnapshot(t *testing.T) {
	w := newTown(t, 3, 12, nil)
	w.conflict(2) // it has more entries than the others
	w.conflict(1) // and as many
	w.agree()
}

// leastAlone is how many entries the one that is cut off has at least: the others leave a
// few when they truncate their logs.
const leastAlone = 3 * trailingLogs

func (w *town) conflict(times uint64) {
	x := wish("http://example.com/", "", stream)
	b := x.Channel.Bucket()
	cut, others := w.nodes[0], w.nodes[1:]
	w.lead(cut, b)
	w.level(b)
	log := cut.store.of[b].local.log
	common, _ := log.LastIndex()
	cut.each(w.net.Cut)
	entry := marshal(w.t, &wire.Entry{Commands: []*wire.Command{subscribeCommand(item(x.URL, stream))}})
	for range 200 {
		cut.store.of[b].local.raft.Apply(entry, time.Millisecond) // as long as it leads
	}
	eventually(w.t, "another leads", func() error {
		if n := w.leading(b); n == nil || n == cut {
			return errors.New("none")
		}
		return nil
	})
	last, _ := log.LastIndex()
	if last < common+leastAlone*times {
		w.t.Fatalf("%d entries alone", last-common)
	}
	next, end := w.leading(b), common+(last-common)/times
	for next.store.of[b].local.raft.LastIndex() < end {
		w.subscribe(next, x)
	}
	for _, n := range others {
		w.truncate(n, x, end, common)
	}
	cut.each(w.net.Heal)
	w.subscribe(next, x)
	var want, have raft.Log
	if err := next.store.of[b].local.log.GetLog(next.store.of[b].local.raft.LastIndex(), &want); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "the one that was cut off drops what it had alone, and follows", func() error {
		first, _ := log.FirstIndex()
		if err := log.GetLog(want.Index, &have); err != nil || have.Term != want.Term || first <= end {
			return fmt.Errorf("its log begins at %d, and at %d has one of term %d, %v, not %d; alone it had %d to %d",
				first, want.Index, have.Term, err, want.Term, common+1, last)
		}
		return nil
	})
}

// truncate has a node take a snapshot once it has applied an entry, and wants its log to
// begin behind another one.
func (w *town) truncate(n *townNode, x NewSubscription, at, behind uint64) {
	w.t.Helper()
	g := n.store.of[x.Channel.Bucket()].local
	eventually(w.t, "the others' entries at "+n.name, func() error {
		if have := g.fsm.hot.index.Load(); have < at {
			return fmt.Errorf("%d applied of %d", have, at)
		}
		return nil
	})
	g.snapshot()
	if first, _ := g.log.FirstIndex(); first <= behind+1 {
		w.t.Fatalf("the log of %s begins at entry %d, common are %d", n.name, first, behind)
	}
}
