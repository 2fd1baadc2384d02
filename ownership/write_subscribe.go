package ownership

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// maxItems is how many subscriptions one command carries, and maxItemBytes about how
// many bytes: other commands of the range wait for a whole command.
const (
	maxItems     = 1024
	maxItemBytes = 256 << 10
)

// fewItems is up to how many items are looked up in the state before they are claimed,
// so that a client that retries after a late answer does not wait for a claim again. In
// a bulk, whose keys are mostly new, that would cost more than it saves.
const fewItems = 64

// perItem is the time that a batch has beyond answerWithin for each item, so that
// a large one does not fail on a slow machine.
const perItem = 500 * time.Microsecond

// Subscribe makes subscriptions and returns their outcomes in the same order,
// each durable. A batch is not atomic: every item has its own error. Ranges work
// in parallel, one that is unavailable fails its own items.
//
// An item with a key is made by it one time: the same key with the same request
// returns the subscription of before, for at least 48 hours and even if it was
// deleted since, which Deleted says; with another request it is ErrKeyReused. An
// item to be made Once is made if its channel has no subscription with its sink;
// of several such items at the same time one makes it. While the disk is nearly full all
// is ErrNoSpace.
func (w *writes) Subscribe(ctx context.Context, wishes []NewSubscription) []SubscribeResult {
	limit := answerWithin + perItem*time.Duration(len(wishes))
	ctx, cancel := within(ctx, limit)
	defer cancel()
	b := &subscribing{w: w, wishes: wishes, results: make([]SubscribeResult, len(wishes))}
	b.prepare()
	b.repeat(ctx, func() { b.compare(ctx) })
	b.repeat(ctx, func() { b.claim(ctx, limit/2) }) // a range that does not answer leaves the others the rest
	b.repeat(ctx, func() { b.subscribe(ctx) })
	return b.results
}

// repeat takes a step again for items that were certainly left out, since their buckets are
// another range's: they go to that one, as soon as this node knows of it.
func (b *subscribing) repeat(ctx context.Context, step func()) {
	for {
		before := b.w.routes.Load()
		step()
		var moved []int
		for i := range b.results {
			if err := b.results[i].Err; errors.Is(err, state.ErrMoved) || errors.Is(err, errDivided) {
				moved = append(moved, i)
			}
		}
		if len(moved) == 0 {
			return
		}
		var late error
		if rest(ctx, lastRetry, func() bool { return b.w.routes.Load() != before }); ctx.Err() != nil {
			late = b.w.late(context.Cause(ctx))
		}
		for _, i := range moved {
			b.results[i].Err = late
		}
		if late != nil {
			return
		}
	}
}

// subscribing is a batch on its way. An item is done once its result has an error or a
// subscription.
type subscribing struct {
	w       *writes
	wishes  []NewSubscription
	items   []state.Item
	results []SubscribeResult
}

// prepare checks the wishes and makes items of them.
func (b *subscribing) prepare() {
	items, errs := state.NewItems(b.wishes)
	b.items = items
	for i, err := range errs {
		if err == nil {
			err = b.w.room(true)
		}
		b.results[i].Err = err
	}
}

// claim ties the keys to their requests, in the keys' ranges.
func (b *subscribing) claim(ctx context.Context, limit time.Duration) {
	parts := b.split(func(item *state.Item) (channel.ID, bool) {
		key, has := item.Key()
		if item.Once() || len(b.items) <= fewItems && has && b.w.claimed(key.Bucket(), item) {
			return key, false // no other request has its key, or it has its claim
		}
		return key, has
	})
	if len(parts) == 0 {
		return
	}
	ctx, cancel := within(ctx, limit)
	defer cancel()
	b.run(ctx, parts, func(part []int) []byte { return state.EncodeClaim(b.items, part) },
		func(part []int, r state.Result) {
			for j, i := range part {
				b.results[i].Err = r.Claims[j]
			}
		})
}

// claimed says whether an item's key certainly is claimed for its request, as far as this
// node leads the range of the key's bucket.
func (w *writes) claimed(key channel.Bucket, item *state.Item) bool {
	r := w.of(key)
	g := r.serving()
	return g != nil && g.state.Claimed(item, max(g.clock.newest(), g.clock.wall()))
}

// subscribe makes the subscriptions, in the channels' ranges.
func (b *subscribing) subscribe(ctx context.Context) {
	parts := b.split(func(item *state.Item) (channel.ID, bool) { return item.Channel(), true })
	b.run(ctx, parts, func(part []int) []byte { return state.EncodeSubscribe(b.pick(part)) },
		func(part []int, r state.Result) {
			for j, i := range part {
				b.results[i] = b.outcome(i, r.Subscribed[j])
			}
		})
}

// pick returns some of the items.
func (b *subscribing) pick(part []int) []state.Item {
	items := make([]state.Item, len(part))
	for j, i := range part {
		items[j] = b.items[i]
	}
	return items
}

func (b *subscribing) outcome(i int, made state.Subscribed) SubscribeResult {
	if made.Err != nil {
		return SubscribeResult{Err: made.Err}
	}
	return SubscribeResult{Existing: made.Existing, Deleted: made.Deleted, Subscription: made.Of(&b.wishes[i])}
}

// placed is an item and the first bytes of the ID that says where it belongs.
type placed struct {
	head uint64
	item int
}

// split groups the items that are still in by range: where returns the ID by
// which an item belongs to one, false if it does not. Items of a range come in
// the order of their IDs, and so of keys on disk: neighbours find warm memory.
func (b *subscribing) split(where func(*state.Item) (channel.ID, bool)) map[*route][]int {
	order := make([]placed, 0, len(b.items))
	for i := range b.items {
		if b.results[i].Err != nil || b.results[i].ID != "" {
			continue
		}
		if id, in := where(&b.items[i]); in {
			order = append(order, placed{binary.BigEndian.Uint64(id[:]), i})
		}
	}
	slices.SortFunc(order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.item, b.item))
	})
	items, parts := make([]int, len(order)), make(map[*route][]int)
	for from, i := 0, 0; i < len(order); i++ {
		items[i] = order[i].item
		r := b.w.of(order[i].bucket())
		if i+1 == len(order) || b.w.of(order[i+1].bucket()) != r {
			parts[r] = items[from : i+1]
			from = i + 1
		}
	}
	return parts
}

func (p placed) bucket() channel.Bucket {
	var id channel.ID
	binary.BigEndian.PutUint64(id[:], p.head)
	return id.Bucket()
}

// run sends each range its items, as commands of bounded size, and takes each
// command's result. What fails fails the command's items.
func (b *subscribing) run(ctx context.Context, parts map[*route][]int, command func(part []int) []byte, take func(part []int, r state.Result)) {
	_ = inParallel(parts, func(r *route, items []int) error {
		var sent []sentPart
		for len(items) > 0 {
			n := b.fit(items)
			sent = append(sent, sentPart{items[:n], b.w.submit(ctx, r.From, command(items[:n]))})
			items = items[n:]
		}
		for _, part := range sent {
			r, err := b.w.await(ctx, part.command)
			if err == nil {
				take(part.items, r)
				continue
			}
			for _, i := range part.items {
				b.results[i].Err = err
			}
		}
		return nil
	})
}

// sentPart is some items' command.
type sentPart struct {
	items   []int
	command *sent
}

// fit returns how many of the items go into one command, at least one.
func (b *subscribing) fit(items []int) int {
	size := 0
	for n, i := range items {
		size += b.items[i].Size()
		if n > 0 && (n == maxItems || size > maxItemBytes) {
			return n
		}
	}
	return len(items)
}

// inParallel runs the parts of different ranges at the same time.
func inParallel[P any](parts map[*route]P, run func(r *route, part P) error) error {
	if len(parts) == 1 {
		for r, part := range parts {
			return run(r, part)
		}
	}
	var running sync.WaitGroup
	errs := make(chan error, len(parts))
	for r, part := range parts {
		running.Go(func() { errs <- run(r, part) })
	}
	running.Wait()
	close(errs)
	var err error
	for each := range errs {
		err = errors.Join(err, each)
	}
	return err
}
