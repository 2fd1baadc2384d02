package webhook

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// A subscription that is one version ahead of the cursor, when the pass of that version
// finds that more is no longer kept, is told of the rest of the gap. It got there by the
// pass of the notice that the channel was gone: the channel was back when its turn came.
func TestOneAheadIsToldOfTheGap(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.stop()
		for range 6 {
			n.store.Commit(id)
		}
		err := n.store.Advance(context.Background(), []channel.Progress{{
			Channel: id, Incarnation: 1, Version: 3, Seq: sub.Seq | channel.Told,
			Stragglers: []channel.Straggler{{Seq: sub.Seq, Next: 5}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		n.store.Trim(id, 6)
		n.start()
		elapse(time.Second)
		var came []string
		for _, a := range n.sinks.arrivals(sub) {
			came = append(came, a.id)
		}
		if want := []string{sub.ID + "-gap-5-6", sub.ID + "-7"}; !slices.Equal(came, want) {
			t.Errorf("%v came, want %v", came, want)
		}
	})
}
