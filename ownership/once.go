package ownership

import (
	"context"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// sameWithin is the limit of the search for subscriptions to be made once: the request
// that it is for has a limit of its own.
const sameWithin = 30 * time.Second

// sameHere searches a range that this node leads.
func (w *writes) sameHere(ctx context.Context, _ channel.Range, wishes []NewSubscription) ([]channel.Subscription, error) {
	found, err := w.state.Same(ctx, wishes)
	return found, w.late(err)
}

// compare answers the items to be made once whose channel has a subscription with
// the same sink, whichever request has made it. It reads the state before the log is
// asked for anything: what is made between the two by an item of the same kind is
// found by its key when it is applied.
func (b *subscribing) compare(ctx context.Context) {
	if !slices.ContainsFunc(b.wishes, func(wish NewSubscription) bool { return wish.Once }) {
		return
	}
	parts := b.split(func(item *state.Item) (channel.ID, bool) {
		id := item.Channel()
		return id, item.Once() && b.w.mayHold(id)
	})
	_ = inParallel(parts, func(r *route, items []int) error {
		wishes := make([]NewSubscription, len(items))
		for j, i := range items {
			wishes[j] = b.wishes[i]
		}
		found, err := b.w.same.at(ctx, r, wishes)
		for j, i := range items {
			switch {
			case err != nil:
				b.results[i] = SubscribeResult{Err: err}
			case found[j].ID != "":
				b.results[i] = SubscribeResult{Existing: true, Subscription: found[j]}
			}
		}
		return nil
	})
}

// mayHold says whether a channel may exist: for certain it does not if its range is
// served here and knows nothing of it.
func (w *writes) mayHold(id channel.ID) bool {
	r := w.of(id.Bucket())
	g := r.serving()
	return g == nil || g.state.MayHold(id)
}
