package webhook

import (
	"slices"
	"testing"
	"time"
)

const sinkA, sinkB = "http://a.example/hook", "http://b.example/hook"

func TestDelivers(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/feed")
		early := n.store.Subscribe(id, sinkA, "")
		n.store.Commit(id)
		late := n.store.Subscribe(id, sinkB, "")
		n.store.Commit(id)
		n.store.Commit(id)
		elapse(time.Second)
		if got, want := n.sinks.versions(early), []uint64{2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("early subscription got %v, want %v", got, want)
		}
		if got, want := n.sinks.versions(late), []uint64{3, 4}; !slices.Equal(got, want) {
			t.Errorf("late subscription got %v, want %v", got, want)
		}
		progress, _ := n.store.Progress(id)
		if progress.Version != 4 || progress.Seq < late.Seq || len(progress.Stragglers) != 0 {
			t.Errorf("progress %+v", progress)
		}
		if left := len(n.deliverer.channels.byID); left != 0 {
			t.Errorf("%d channels left in memory", left)
		}
	})
}
