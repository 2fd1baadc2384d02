package wedge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// What a poller has seen that lacks the current content is judged as a change of it, if the owner
// has it, and the others are told a patch.
func TestReportWithoutBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		order := w.order(w.ranges[0], 1, 3)
		owner, first, second := w.nodes[0], w.nodes[1], w.nodes[2]
		owner.lead(w.ranges[0], 1, order)
		synctest.Wait()
		report := func(n *node, version uint64, base, core *deltas.Core) *deltas.Core {
			t.Helper()
			_, err := n.poller.Report(t.Context(), engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), BaseVersion: version, Base: base, Core: core})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			judged := owner.judge.reported()
			return judged[len(judged)-1].Base
		}
		one, two, three := page(t, 20), page(t, 21), page(t, 22)
		report(first, 0, nil, one)
		if base := report(second, 1, nil, two); base == nil || base.Hash != one.Hash {
			t.Errorf("judged with %v, want the content of version 1", base)
		}
		if news := first.engine.learned(); len(news) == 0 || news[len(news)-1].Version != 2 || news[len(news)-1].Patch == nil {
			t.Errorf("the other poller is told %+v, want a patch to version 2", news)
		}
		owner.owner.Drop(order.Channel)
		if base := report(first, 2, nil, three); base != nil {
			t.Errorf("judged with %v, which nobody has", base)
		}
	})
}
