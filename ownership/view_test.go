package ownership

import (
	"context"
	"fmt"
	"testing"
)

// TestCountsWithoutLeader: a range without a leader and without a replica here is said not
// to be counted, and the others are.
func TestCountsWithoutLeader(t *testing.T) {
	t.Parallel()
	w := newTown(t, 5, 84, nil)
	made := w.filled(30, "counted")
	w.settled(3, w.nodes...)
	var asked *townNode
	var others []*townNode
	lost := w.nodes[0].store.inOrder()[0]
	for _, n := range w.nodes {
		if n.store.of(lost.From).local() == nil {
			asked = n
		} else {
			others = append(others, n)
		}
	}
	counts := func() (subscriptions uint64, unknown int) {
		_, subscriptions, unknown = asked.store.View().Counts(context.Background())
		return subscriptions, unknown
	}
	eventually(t, "all is counted", func() error {
		if subscriptions, unknown := counts(); unknown > 0 || int(subscriptions) != len(made) {
			return fmt.Errorf("%d subscriptions and %d ranges unknown, want %d and 0", subscriptions, unknown, len(made))
		}
		return nil
	})
	others[0].stop()
	others[1].stop()
	here := 0
	for _, ch := range made {
		if g := asked.store.of(ch.Bucket()).local(); g != nil {
			here++
		}
	}
	eventually(t, "what has no leader is not counted", func() error {
		if subscriptions, unknown := counts(); unknown == 0 || int(subscriptions) < here || int(subscriptions) > len(made) {
			return fmt.Errorf("%d subscriptions and %d ranges unknown, want %d to %d, and 1 at least", subscriptions, unknown, here, len(made))
		}
		return nil
	})
}
