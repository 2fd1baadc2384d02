package ownership

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

func TestSubscribe(t *testing.T) {
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", webhook)
	one, two := subscribe(t, s, w), subscribe(t, s, w)
	if one.ID == two.ID || two.Seq != one.Seq+1 {
		t.Errorf("without a key: %+v and %+v", one, two)
	}
	if one.FromVersion != 2 {
		t.Errorf("from_version %d of a new channel, want 2: version 1 is not delivered", one.FromVersion)
	}
	for _, sub := range []channel.Subscription{one, two} {
		got, err := s.Subscription(sub.ID)
		if err != nil || got != sub {
			t.Errorf("Subscription(%s) = %+v, %v; want %+v", sub.ID, got, err, sub)
		}
	}
	c, err := s.Channel(w.Channel)
	if err != nil || c.Subscribers != 2 || c.Webhooks != 2 || c.URL != w.URL || c.Incarnation == 0 || c.Created != one.Created {
		t.Errorf("channel %+v, %v", c, err)
	}
}

// TestFromVersion: a subscription receives what is committed after it in the log.
func TestFromVersion(t *testing.T) {
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	for version, want := range []uint64{2, 2, 3, 4} {
		if version > 0 {
			grow(t, s, w.Channel, uint64(version))
		}
		if got := subscribe(t, s, w).FromVersion; got != want {
			t.Errorf("from_version %d at version %d, want %d", got, version, want)
		}
	}
}

// TestBeginnings: a stream begins where single calls, which are asked of nodes of before, say that
// its subscriptions do.
func TestBeginnings(t *testing.T) {
	ctx := context.Background()
	clock, cfg := newFakeClock(), testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	var ids []string
	for i, version := range []uint64{0, 1, 2, state.KeepVersions + 9} {
		for _, gone := range []bool{false, true} {
			w := wish(fmt.Sprintf("http://example.com/%d%t", i, gone), "", stream)
			ids = append(ids, subscribe(t, s, w).ID)
			grow(t, s, w.Channel, version)
			ids = append(ids, subscribe(t, s, w).ID)
			if gone {
				if err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: version, Version: version, Gone: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ended := subscribe(t, s, wish("http://example.com/ended", "", stream)).ID
	if err := s.Unsubscribe(ctx, ended); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, ended)
	clock.advance(1000 * time.Hour)
	pass(newSweeper(s))
	got, err := s.Beginnings(ctx, ids, false)
	if err != nil {
		t.Fatal(err)
	}
	news, gaps := 0, 0
	for i, id := range ids {
		want, err := s.View().beginning(ctx, id)
		if err != nil || !reflect.DeepEqual(got[i], want) {
			t.Errorf("subscription %s: %+v, want %+v, %v", id, got[i], want, err)
		}
		if got[i].News != (channel.Cursor{}) {
			news++
		}
		if got[i].Gap != nil {
			gaps++
		}
	}
	if news < 6 || gaps == 0 || !got[len(ids)-1].Missing {
		t.Errorf("%d with news, %d with gaps: %+v", news, gaps, got)
	}
	if _, err := s.Beginnings(ctx, []string{"sub_x"}, true); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("of no subscription's ID: %v", err)
	}
}

func TestUnsubscribe(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	sub := subscribe(t, s, w)
	for i := range 2 {
		if err := s.Unsubscribe(ctx, sub.ID); err != nil {
			t.Errorf("time %d: %v", i+1, err)
		}
	}
	_, err := s.Subscription(sub.ID)
	wantError(t, err, channel.ErrNotFound)
	next := state.SubscriptionID(w.Channel.Bucket(), sub.Seq+1)
	for _, never := range []string{next, "sub_0000000000002", "", "sub_", "x", strings.ToUpper(sub.ID)} {
		wantError(t, s.Unsubscribe(ctx, never), channel.ErrNotFound)
	}
	c, err := s.Channel(w.Channel)
	if err != nil || c.Subscribers != 0 || c.EmptiedAt.IsZero() {
		t.Errorf("channel without subscribers: %+v, %v", c, err)
	}
	if again := subscribe(t, s, w); again.ID != next {
		t.Errorf("next subscription %s, want %s: no ID is used twice", again.ID, next)
	}
	if c, err = s.Channel(w.Channel); err != nil || !c.EmptiedAt.IsZero() {
		t.Errorf("channel with a subscriber again: %+v, %v", c, err)
	}
}

func TestIdempotency(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	s := open(t, cfg)
	w := wish("http://example.com/", "key", webhook)
	first := subscribe(t, s, w)
	check := func(t *testing.T, s *Store, deleted bool) {
		t.Helper()
		r := s.Subscribe(ctx, []NewSubscription{w})[0]
		if r.Err != nil || !r.Existing || r.Deleted != deleted || r.Subscription != first {
			t.Errorf("same key and request: %+v, want %+v", r, first)
		}
		for _, other := range []NewSubscription{
			wish("http://example.com/other", "key", webhook),
			wish("http://example.com/", "key", stream),
			wish("http://example.com/", "key", channel.Sink{Type: webhook.Type, URL: webhook.URL, Secret: "other"}),
		} {
			wantError(t, s.Subscribe(ctx, []NewSubscription{other})[0].Err, ErrKeyReused)
		}
	}
	check(t, s, false)
	if err := s.Unsubscribe(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	check(t, s, true) // the answer is the same, the subscription stays deleted
	_, err := s.Subscription(first.ID)
	wantError(t, err, channel.ErrNotFound)
	shut(t, s)
	s = open(t, cfg)
	check(t, s, true)
	if _, n := s.Counts(); n != 0 {
		t.Errorf("%d subscriptions, want none", n)
	}
}

// TestIdempotencyBetweenSteps: a crash after the claim leaves a key that works
// for the same request and no other.
func TestIdempotencyBetweenSteps(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	s := open(t, cfg)
	w := wish("http://example.com/", "key", webhook)
	b := &subscribing{w: s.writes, wishes: []NewSubscription{w}, results: make([]SubscribeResult, 1)}
	b.prepare()
	b.claim(ctx, answerWithin)
	if err := b.results[0].Err; err != nil {
		t.Fatal(err)
	}
	cfg.Dir = copyDir(t, cfg.Dir)
	s = open(t, cfg)
	wantError(t, s.Subscribe(ctx, []NewSubscription{wish("http://example.com/other", "key", webhook)})[0].Err, ErrKeyReused)
	r := s.Subscribe(ctx, []NewSubscription{w})[0]
	if r.Err != nil || r.Existing {
		t.Errorf("the request again: %+v, want a new subscription", r)
	}
	if again := s.Subscribe(ctx, []NewSubscription{w})[0]; !again.Existing || again.ID != r.ID {
		t.Errorf("and again: %+v, want %s", again, r.ID)
	}
}

// TestBatch: results come in the order of the wishes, bad ones fail alone, equal
// keys within a batch make one subscription.
func TestBatch(t *testing.T) {
	s := open(t, testConfig(t))
	var wishes []NewSubscription
	for i := range 3000 {
		wishes = append(wishes, wish(fmt.Sprintf("http://example.com/%d", i%500), fmt.Sprintf("key %d", i), webhook))
	}
	bad := map[int]error{}
	spoil := func(i int, change func(w *NewSubscription), err error) {
		change(&wishes[i])
		bad[i] = err
	}
	spoil(0, func(w *NewSubscription) { w.URL = "" }, ErrInvalid)
	spoil(100, func(w *NewSubscription) { w.Channel = channel.ID{} }, ErrInvalid)
	spoil(200, func(w *NewSubscription) { w.Sink.Type = "" }, ErrInvalid)
	spoil(300, func(w *NewSubscription) { w.Key = "key 299" }, ErrKeyReused)
	wishes[2999] = wishes[1]
	results := s.Subscribe(context.Background(), wishes)
	ids := map[string]bool{}
	for i, r := range results {
		if want := bad[i]; want != nil {
			wantError(t, r.Err, want)
			continue
		}
		if r.Err != nil || r.URL != wishes[i].URL {
			t.Fatalf("item %d: %+v", i, r)
		}
		if r.Existing != (i == 2999) || i == 2999 && r.ID != results[1].ID {
			t.Errorf("item %d: existing %v, %s", i, r.Existing, r.ID)
		}
		ids[r.ID] = true
	}
	if len(ids) != 2995 {
		t.Errorf("%d subscriptions, want 2995", len(ids))
	}
	if channels, subscriptions := s.Counts(); channels != 500 || subscriptions != 2995 {
		t.Errorf("counts %d, %d", channels, subscriptions)
	}
	if got := s.Subscribe(context.Background(), nil); len(got) != 0 {
		t.Errorf("empty batch: %v", got)
	}
}

// TestPaging: every page size shows every subscription once, in one order, all
// together and per channel.
func TestPaging(t *testing.T) {
	s := open(t, testConfig(t))
	perChannel := map[channel.ID][]string{}
	for i := range 60 {
		w := wish(fmt.Sprintf("http://example.com/%d", i%9), "", stream)
		perChannel[w.Channel] = append(perChannel[w.Channel], subscribe(t, s, w).ID)
	}
	pages := func(limit int, id *channel.ID) (all []string) {
		for after, next := "", "more"; next != ""; after = next {
			page, n, err := s.Subscriptions(SubscriptionQuery{After: after, Channel: id, Limit: limit})
			if err != nil || len(page) > limit || n != "" && len(page) < limit {
				t.Fatalf("page of %d after %q: next %q, %v", len(page), after, n, err)
			}
			for _, sub := range page {
				all = append(all, sub.ID)
			}
			next = n
		}
		return all
	}
	for _, limit := range []int{1, 7, 59, 60, 61} {
		all := pages(limit, nil)
		if len(all) != 60 || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 60 {
			t.Errorf("pages of %d: %d subscriptions, sorted %v", limit, len(all), slices.IsSorted(all))
		}
		for id, want := range perChannel {
			if got := pages(limit, &id); !slices.Equal(got, want) {
				t.Errorf("pages of %d of %s: %v, want %v", limit, id, got, want)
			}
		}
	}
	_, _, err := s.Subscriptions(SubscriptionQuery{After: "junk", Limit: 1})
	wantError(t, err, channel.ErrNotFound)
	var ids []channel.ID
	var after *channel.ID
	for {
		page, err := s.Channels(after, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			ids = append(ids, c.ID)
			after = &c.ID
		}
		if len(page) < 4 {
			break
		}
	}
	if len(ids) != 9 || !slices.IsSortedFunc(ids, channel.ID.Compare) {
		t.Errorf("channels %v", ids)
	}
}

// TestIncarnations: a channel ends only without subscribers, takes everything
// with it, and comes back as another one.
func TestIncarnations(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", webhook)
	sub := subscribe(t, s, w)
	grow(t, s, w.Channel, 5)
	c, err := s.Channel(w.Channel)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, s.EndChannel(ctx, w.Channel, c.Incarnation), ErrStale)
	if err := s.Advance(ctx, []channel.Progress{{Channel: w.Channel, Incarnation: c.Incarnation, Version: 4, Seq: 1, Stragglers: []channel.Straggler{{Seq: sub.Seq, Next: 2}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Unsubscribe(ctx, sub.ID); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.EndChannel(ctx, w.Channel, c.Incarnation+1), ErrStale)
	if err := s.EndChannel(ctx, w.Channel, c.Incarnation); err != nil {
		t.Fatal(err)
	}
	_, err = s.Channel(w.Channel)
	wantError(t, err, channel.ErrNotFound)
	_, _, err = s.Updates(w.Channel, 0, 10)
	wantError(t, err, channel.ErrNotFound)
	wantError(t, s.EndChannel(ctx, w.Channel, c.Incarnation), ErrStale)
	for key := range dump(t, s.db) {
		if !strings.ContainsRune("bao", rune(key[2])) { // a bucket's record, how far a range is, whose it is
			t.Errorf("left behind: key %x", key)
		}
	}
	if channels, _ := s.Counts(); channels != 0 || s.UpdateBytes() != 0 {
		t.Errorf("%d channels, %d bytes of updates left", channels, s.UpdateBytes())
	}
	subscribe(t, s, w)
	next, err := s.Channel(w.Channel)
	if err != nil || next.Incarnation <= c.Incarnation || next.Version != 0 || next.Judge != nil {
		t.Errorf("next incarnation %+v, %v; the first was %d", next, err, c.Incarnation)
	}
	wantError(t, s.Commit(ctx, nextCommit(c)), ErrStale)
}

// TestClosed: a closed store answers ErrClosed, and closing again is nothing.
func TestClosed(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "key", stream)
	sub := subscribe(t, s, w)
	shut(t, s)
	shut(t, s)
	_, err1 := s.Channel(w.Channel)
	_, err2 := s.Subscription(sub.ID)
	_, _, err3 := s.Subscriptions(SubscriptionQuery{})
	_, _, err4 := s.Updates(w.Channel, 0, 1)
	_, err5 := s.UpdatesSince(channel.Cursor{}, 1)
	_, err6 := s.Seen(w.Channel)
	_, err7 := s.Endpoints()
	_, err8 := s.Endpoint("x")
	_, err9 := s.Progress(w.Channel)
	_, err10 := s.Channels(nil, 1)
	for i, err := range []error{
		err1, err2, err3, err4, err5, err6, err7, err8, err9, err10,
		s.Unsubscribe(ctx, sub.ID), s.Commit(ctx, Commit{Channel: w.Channel}), s.EndChannel(ctx, w.Channel, 1),
		s.Subscribe(ctx, []NewSubscription{w})[0].Err, s.SetEndpoint(ctx, channel.Endpoint{URL: "x"}, channel.Endpoint{URL: "x"}),
		s.Advance(ctx, []channel.Progress{{Channel: w.Channel, Version: 1}}),
	} {
		if err == nil {
			t.Errorf("call %d succeeded", i)
			continue
		}
		wantError(t, err, ErrClosed)
	}
	if s.Ready() == nil {
		t.Error("ready")
	}
}

// TestWebhooks: a page of webhooks is filled past the subscriptions with other sinks.
func TestWebhooks(t *testing.T) {
	s := open(t, testConfig(t))
	var webhooks []uint64
	var id channel.ID
	for i := range 12 {
		sink := stream
		if i%4 == 3 {
			sink = webhook
		}
		w := wish("http://example.com/", "", sink)
		id = w.Channel
		if sub := subscribe(t, s, w); sink == webhook {
			webhooks = append(webhooks, sub.Seq)
		}
	}
	var read []uint64
	for after := uint64(0); ; {
		page, err := s.Webhooks(id, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, sub := range page {
			after = sub.Seq
			read = append(read, sub.Seq)
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(read, webhooks) || len(read) != 3 {
		t.Errorf("webhooks %v, want %v", read, webhooks)
	}
}
