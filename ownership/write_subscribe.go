package ownership

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxItems is how many subscriptions one command carries, and maxItemBytes about
// how many bytes: a command is the unit that waits, and that other commands of
// the range wait for.
const (
	maxItems     = 1024
	maxItemBytes = 256 << 10
)

// perItem is the time that a batch has beyond answerWithin for each item, so that
// a large one does not fail on a slow machine.
const perItem = 500 * time.Microsecond

// Subscribe makes subscriptions and returns their outcomes in the same order,
// each durable. A batch is not atomic: every item has its own error. Ranges work
// in parallel, one that is unavailable fails its own items.
//
// An item with a key is made once: the same key with the same request returns
// the subscription of before, for at least 48 hours and even if it was deleted
// since; with another request it is ErrKeyReused.
func (s *Store) Subscribe(ctx context.Context, wishes []NewSubscription) []SubscribeResult {
	limit := answerWithin + perItem*time.Duration(len(wishes))
	ctx, cancel := within(ctx, limit)
	defer cancel()
	b := &subscribing{s: s, wishes: wishes, results: make([]SubscribeResult, len(wishes)), items: make([]*wire.Subscribe_Item, len(wishes))}
	b.prepare()
	b.claim(ctx, limit/2) // a range that does not answer leaves the others the rest
	b.subscribe(ctx)
	return b.results
}

// subscribing is a batch on its way. An item is out once its result has an error.
type subscribing struct {
	s       *Store
	wishes  []NewSubscription
	items   []*wire.Subscribe_Item
	results []SubscribeResult
}

// prepare checks the wishes and makes items of them.
func (b *subscribing) prepare() {
	for i := range b.wishes {
		wish := &b.wishes[i]
		item := &wire.Subscribe_Item{
			Channel: wish.Channel[:], Url: wish.URL,
			SinkType: wish.Sink.Type, SinkUrl: wish.Sink.URL, SinkSecret: wish.Sink.Secret,
		}
		if wish.Key != "" {
			key := sha1.Sum([]byte(wish.Key))
			item.Key, item.Digest = key[:], requestDigest(wish)
		}
		err := checkSubscribe(item)
		if err == nil && channel.IDOf(wish.URL) != wish.Channel {
			err = fmt.Errorf("%w: %s is not the channel of its URL", ErrInvalid, wish.Channel)
		}
		b.items[i], b.results[i].Err = item, err
	}
}

// requestDigest tells requests apart that carry the same key.
func requestDigest(wish *NewSubscription) []byte {
	hash := sha256.New()
	for _, part := range []string{wish.URL, wish.Sink.Type, wish.Sink.URL, wish.Sink.Secret} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	return hash.Sum(nil)[:digestLen]
}

// claim ties the keys to their requests, in the keys' ranges.
func (b *subscribing) claim(ctx context.Context, limit time.Duration) {
	ctx, cancel := within(ctx, limit)
	defer cancel()
	parts := b.split(func(i int) []byte { return b.items[i].Key })
	b.run(ctx, parts, func(part []int) *wire.Command {
		claim := &wire.Claim{Items: make([]*wire.Claim_Item, len(part))}
		for j, i := range part {
			claim.Items[j] = &wire.Claim_Item{Key: b.items[i].Key, Digest: b.items[i].Digest}
		}
		return &wire.Command{Change: &wire.Command_Claim{Claim: claim}}
	}, func(part []int, r result) {
		for j, i := range part {
			b.results[i].Err = r.claims[j]
		}
	})
}

// subscribe makes the subscriptions, in the channels' ranges.
func (b *subscribing) subscribe(ctx context.Context) {
	parts := b.split(func(i int) []byte { return b.items[i].Channel })
	b.run(ctx, parts, func(part []int) *wire.Command {
		subscribe := &wire.Subscribe{Items: make([]*wire.Subscribe_Item, len(part))}
		for j, i := range part {
			subscribe.Items[j] = b.items[i]
		}
		return &wire.Command{Change: &wire.Command_Subscribe{Subscribe: subscribe}}
	}, func(part []int, r result) {
		for j, i := range part {
			b.results[i] = b.outcome(i, r.subscribed[j])
		}
	})
}

func (b *subscribing) outcome(i int, made subscribed) SubscribeResult {
	if made.err != nil {
		return SubscribeResult{Err: made.err}
	}
	wish := &b.wishes[i]
	return SubscribeResult{
		Existing: made.existing,
		Subscription: Subscription{
			ID: subscriptionID(wish.Channel.Bucket(), made.seq), Seq: made.seq,
			Channel: wish.Channel, URL: wish.URL, Sink: wish.Sink,
			Created: fromMicros(made.createdUS), FromVersion: made.fromVersion,
		},
	}
}

// split groups the items that are still in by range: where returns the ID by
// which an item belongs to one, nil if it does not. Items of a range come in the
// order of their IDs, and so of keys on disk: neighbours find warm memory.
func (b *subscribing) split(where func(i int) []byte) map[*group][]int {
	parts := make(map[*group][]int)
	for i := range b.items {
		if b.results[i].Err != nil {
			continue
		}
		if id := where(i); len(id) > 0 {
			g := b.s.of[channel.ID(id).Bucket()]
			parts[g] = append(parts[g], i)
		}
	}
	for _, part := range parts {
		slices.SortStableFunc(part, func(i, j int) int { return bytes.Compare(where(i), where(j)) })
	}
	return parts
}

// run sends each range its items, as commands of bounded size, and takes each
// command's result. What fails fails the command's items.
func (b *subscribing) run(ctx context.Context, parts map[*group][]int, command func(part []int) *wire.Command, take func(part []int, r result)) {
	_ = inParallel(parts, func(g *group, items []int) error {
		var sent []sentPart
		for len(items) > 0 {
			n := b.fit(items)
			p, err := b.s.submit(ctx, g, command(items[:n]))
			sent = append(sent, sentPart{items[:n], p, err})
			items = items[n:]
		}
		for _, part := range sent {
			r, err := part.wait(ctx, b.s)
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
	items []int
	p     *proposal
	err   error // of sending it
}

func (part sentPart) wait(ctx context.Context, s *Store) (result, error) {
	if part.err != nil {
		return result{}, part.err
	}
	return s.await(ctx, part.p)
}

// fit returns how many of the items go into one command, at least one.
func (b *subscribing) fit(items []int) int {
	size := 0
	for n, i := range items {
		item := b.items[i]
		size += len(item.Url) + len(item.SinkUrl) + len(item.SinkSecret) + 128
		if n > 0 && (n == maxItems || size > maxItemBytes) {
			return n
		}
	}
	return len(items)
}

// inParallel runs the parts of different ranges at the same time.
func inParallel[P any](parts map[*group]P, run func(g *group, part P) error) error {
	if len(parts) == 1 {
		for g, part := range parts {
			return run(g, part)
		}
	}
	var running sync.WaitGroup
	errs := make(chan error, len(parts))
	for g, part := range parts {
		running.Go(func() { errs <- run(g, part) })
	}
	running.Wait()
	close(errs)
	var err error
	for each := range errs {
		err = errors.Join(err, each)
	}
	return err
}
