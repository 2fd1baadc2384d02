package ownership

import (
	"cmp"
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
func (s *Store) Subscribe(ctx context.Context, wishes []NewSubscription) []SubscribeResult {
	limit := answerWithin + perItem*time.Duration(len(wishes))
	ctx, cancel := within(ctx, limit)
	defer cancel()
	b := &subscribing{s: s, wishes: wishes, results: make([]SubscribeResult, len(wishes)), items: make([]subscribeItem, len(wishes))}
	b.prepare()
	b.compare(ctx)
	b.claim(ctx, limit/2) // a range that does not answer leaves the others the rest
	b.subscribe(ctx)
	return b.results
}

// subscribing is a batch on its way. An item is done once its result has an error or a
// subscription.
type subscribing struct {
	s       *Store
	wishes  []NewSubscription
	items   []subscribeItem
	results []SubscribeResult
}

// prepare checks the wishes and makes items of them.
func (b *subscribing) prepare() {
	var text []byte
	for i := range b.wishes {
		wish, item := &b.wishes[i], &b.items[i]
		*item = subscribeItem{
			channel: string(wish.Channel[:]), url: wish.URL,
			sinkType: wish.Sink.Type, sinkURL: wish.Sink.URL, sinkSecret: wish.Sink.Secret,
		}
		switch {
		case wish.Once:
			text = appendRequest(append(text[:0], onceMark), wish)
			key := sha1.Sum(text)
			item.key = string(key[:])
		case wish.Key != "":
			text = append(text[:0], wish.Key...)
			key := sha1.Sum(text)
			text = appendRequest(text[:0], wish)
			digest := sha256.Sum256(text)
			item.key, item.digest = string(key[:]), string(digest[:digestLen])
		}
		err := item.check()
		if err == nil && wish.Once && wish.Key != "" {
			err = fmt.Errorf("%w: a key, and to be made once", ErrInvalid)
		}
		if err == nil && channel.IDOf(wish.URL) != wish.Channel {
			err = fmt.Errorf("%w: %s is not the channel of its URL", ErrInvalid, wish.Channel)
		}
		if err == nil {
			err = b.s.room(true)
		}
		b.results[i].Err = err
	}
}

// onceMark begins what is hashed to the key of an item to be made once. No key that a
// client gives begins with it.
const onceMark = 0

// appendRequest appends what distinguishes requests with the same key.
func appendRequest(text []byte, wish *NewSubscription) []byte {
	for _, part := range []string{wish.URL, wish.Sink.Type, wish.Sink.URL, wish.Sink.Secret} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	return text
}

// claim ties the keys to their requests, in the keys' ranges.
func (b *subscribing) claim(ctx context.Context, limit time.Duration) {
	parts := b.split(func(item *subscribeItem) string {
		if item.once() {
			return "" // no other request has its key
		}
		if len(b.items) <= fewItems && item.key != "" && b.s.claimed(item) {
			return ""
		}
		return item.key
	})
	if len(parts) == 0 {
		return
	}
	ctx, cancel := within(ctx, limit)
	defer cancel()
	b.run(ctx, parts, func(part []int) []byte {
		items := make([]claimItem, len(part))
		for j, i := range part {
			items[j] = claimItem{b.items[i].key, b.items[i].digest}
		}
		return encodeClaim(items)
	}, func(part []int, r result) {
		for j, i := range part {
			b.results[i].Err = r.claims[j]
		}
	})
}

// claimed says whether the state has a claim of the item's key for this request, of
// today or yesterday by the range's clock. Such a claim is valid for another day at
// least, so it does not expire while this request is under way, whatever another
// leader's clock says. Other claims, and those that cannot be read, are left to the
// log.
func (s *Store) claimed(item *subscribeItem) bool {
	key, err := textID(item.key)
	if err != nil {
		return false
	}
	done, err := s.reading()
	if err != nil {
		return false
	}
	defer done()
	r := s.of[key.Bucket()]
	if !r.serves() || !r.local.fsm.mayHold(kindClaim, key) {
		return false
	}
	now := max(r.local.clock.newest(), r.local.clock.wall())
	for day := dayOf(now); day > firstKeyDay(now); day-- {
		record := &wire.Claimed{}
		if err := getProto(s.state, dayKey(key.Bucket(), kindClaim, day, key[:]), record); !isMissing(err) {
			return err == nil && string(record.Digest) == item.digest
		}
	}
	return false
}

// subscribe makes the subscriptions, in the channels' ranges.
func (b *subscribing) subscribe(ctx context.Context) {
	parts := b.split(func(item *subscribeItem) string { return item.channel })
	b.run(ctx, parts, func(part []int) []byte {
		items := make([]subscribeItem, len(part))
		for j, i := range part {
			items[j] = b.items[i]
		}
		return encodeSubscribe(items)
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
	return SubscribeResult{Existing: made.existing, Deleted: made.deleted, Subscription: newSubscription(wish.Channel, wish.URL, wish.Sink, made)}
}

// placed is an item and the first bytes of the ID that says where it belongs.
type placed struct {
	head uint64
	item int
}

// split groups the items that are still in by range: where returns the ID by
// which an item belongs to one, nothing if it does not. Items of a range come in
// the order of their IDs, and so of keys on disk: neighbours find warm memory.
func (b *subscribing) split(where func(*subscribeItem) string) map[*route][]int {
	order := make([]placed, 0, len(b.items))
	for i := range b.items {
		if b.results[i].Err != nil || b.results[i].Existing {
			continue
		}
		if id, err := textID(where(&b.items[i])); err == nil {
			order = append(order, placed{binary.BigEndian.Uint64(id[:]), i})
		}
	}
	slices.SortFunc(order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.item, b.item))
	})
	items, parts := make([]int, len(order)), make(map[*route][]int)
	for from, i := 0, 0; i < len(order); i++ {
		items[i] = order[i].item
		r := b.s.of[order[i].bucket()]
		if i+1 == len(order) || b.s.of[order[i+1].bucket()] != r {
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
func (b *subscribing) run(ctx context.Context, parts map[*route][]int, command func(part []int) []byte, take func(part []int, r result)) {
	_ = inParallel(parts, func(r *route, items []int) error {
		var sent []sentPart
		for len(items) > 0 {
			n := b.fit(items)
			sent = append(sent, sentPart{items[:n], b.s.submit(ctx, r, command(items[:n]))})
			items = items[n:]
		}
		for _, part := range sent {
			r, err := b.s.await(ctx, part.command)
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
		item := &b.items[i]
		size += len(item.url) + len(item.sinkURL) + len(item.sinkSecret) + 128
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
