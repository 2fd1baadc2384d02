package ownership

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// conflictAtSnapshot: hashicorp/raft#697. A leader that was cut off has entries that
// no other node has, where the others have gone on, taken a snapshot, and truncated their
// logs. Once it is back it is sent the state, drops those entries, and follows.
func conflictAtSnapshot(t *testing.T) {
	w := newTown(t, 3, 12, nil)
	for _, alone := range []int{200, 40} { // entries: more than the others', and as many
		t.Run(fmt.Sprint(alone), func(t *testing.T) { w.conflict(t, alone) })
	}
	w.agree()
}

func (w *town) conflict(t *testing.T, alone int) {
	x := wish("http://example.com/", "", stream)
	b := x.Channel.Bucket()
	cut, others := w.nodes[0], w.nodes[1:]
	w.lead(cut, b)
	w.level(b)
	log := cut.store.of[b].local.log
	common, _ := log.LastIndex()
	cut.each(w.net.Cut)
	entry := marshal(t, &wire.Entry{Commands: []*wire.Command{subscribeCommand(item(x.URL, stream))}})
	for range alone {
		cut.store.of[b].local.raft.Apply(entry, time.Second) // before it steps down
	}
	eventually(t, "entries of the one that is cut off", func() error {
		if last, _ := log.LastIndex(); last != common+uint64(alone) {
			return fmt.Errorf("%d of %d", last-common, alone)
		}
		return nil
	})
	eventually(t, "another leads", func() error {
		if n := w.leading(b); n == nil || n == cut {
			return errors.New("none")
		}
		return nil
	})
	next := w.leading(b)
	for next.store.of[b].local.raft.LastIndex() < common+40 {
		subscribe(t, next.store, x)
	}
	for _, n := range others {
		eventually(t, "a log as long as the leader's", func() error {
			if have := n.store.of[b].local.fsm.hot.index.Load(); have < common+40 {
				return fmt.Errorf("%s has applied %d of %d entries", n.name, have, common+40)
			}
			return nil
		})
		n.store.of[b].local.snapshot()
		if first, _ := n.store.of[b].local.log.FirstIndex(); first <= common+1 {
			t.Fatalf("the log of %s begins at entry %d, common are %d", n.name, first, common)
		}
	}
	cut.each(w.net.Heal)
	subscribe(t, next.store, x)
	want := next.store.of[b].local.raft.LastIndex()
	eventually(t, "the one that was cut off drops what it had alone, and follows", func() error {
		first, _ := log.FirstIndex()
		if last, _ := log.LastIndex(); last < want || first <= common+40 {
			return fmt.Errorf("its log has entries %d to %d, alone it had %d to %d; %s is at %d", first, last, common+1, common+uint64(alone), next.name, want)
		}
		return nil
	})
}
