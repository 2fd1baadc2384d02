package ownership

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// TestUpdatesBeyondAMessage: a node that does not lead a channel's range returns as many of its
// updates as the leader does, also where they are more than a message between nodes takes.
func TestUpdatesBeyondAMessage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 85, nil)
	n := w.nodes[0]
	made := w.subscribe(n, wish("http://example.com/here", "", webhook))
	w.lead(n, made.Channel.Bucket())
	data := make([]byte, 900<<10)
	_, _ = rand.NewChaCha8([32]byte{85}).Read(data) // it cannot fail
	for range 17 {
		c, err := n.store.Channel(made.Channel)
		n.must(err)
		next := nextCommit(c)
		if c.Version > 0 {
			next.Update, next.Patch = data, data[:512<<10]
		}
		n.must(n.store.Commit(ctx, next))
	}
	for _, asked := range w.nodes {
		for _, limit := range []int{0, 1, 3, 16, 100} {
			updates, gap, err := asked.store.View().Updates(ctx, made.Channel, 1, limit)
			if err != nil || gap != nil || len(updates) != min(limit, 16) {
				t.Fatalf("%s, at most %d: %d updates, gap %v, %v", asked.name, limit, len(updates), gap, err)
			}
			for i, update := range updates {
				if update.Version != uint64(2+i) || len(update.Data) != len(data) {
					t.Errorf("%s: update %d is version %d of %d bytes", asked.name, i, update.Version, len(update.Data))
				}
			}
		}
	}
}
