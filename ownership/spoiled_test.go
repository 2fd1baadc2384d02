package ownership

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

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
	g := n.store.of[made.Channel.Bucket()].local()
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
			stream, err := n.store.copyOf(ctx, n.store.of[g.from])
			if err == nil {
				_, err = io.Copy(io.Discard, stream)
				stream.Close()
			}
			return err
		},
		"a stream": func() error {
			_, _, _, err := n.store.Since(call, g.id, channel.Cursor{}, 10)
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
