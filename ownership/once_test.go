package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

func onceWish(url string, sink channel.Sink) NewSubscription {
	w := wish(url, "", sink)
	w.Once = true
	return w
}

// TestOnce: a request to be made once finds what any request has made with the same
// sink, secret included, and makes it again after it was deleted, whatever the days
// of keys say.
func TestOnce(t *testing.T) {
	ctx := context.Background()
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	ask := func(when string, w NewSubscription, existing bool) channel.Subscription {
		t.Helper()
		r := s.Subscribe(ctx, []NewSubscription{w})[0]
		if r.Err != nil || r.Existing != existing || r.Deleted {
			t.Fatalf("%s: %+v, want existing %v", when, r, existing)
		}
		if got, err := s.Subscription(r.ID); err != nil || got != r.Subscription {
			t.Errorf("%s: answered %+v, is %+v, %v", when, r.Subscription, got, err)
		}
		return r.Subscription
	}
	w := onceWish("http://example.com/", webhook)
	byOther := subscribe(t, s, wish("http://example.com/", "key", webhook))
	if got := ask("made by another request", w, true); got != byOther {
		t.Errorf("found %+v, want %+v", got, byOther)
	}
	other := webhook
	other.Secret = "another"
	ask("another secret", onceWish("http://example.com/", other), false)
	ask("another sink", onceWish("http://example.com/", stream), false)
	ask("another channel", onceWish("http://example.com/2", webhook), false)
	for i := range 3 { // its own are made again as often as they are deleted
		found := ask("there", w, true)
		if err := s.Unsubscribe(ctx, found.ID); err != nil {
			t.Fatal(err)
		}
		if made := ask(fmt.Sprint("deleted ", i), w, false); made.Seq <= found.Seq {
			t.Errorf("%s came back as %s", found.ID, made.ID)
		}
	}
	clock.advance(100 * time.Hour) // no key holds so long
	ask("after days", w, true)
	shut(t, s)
	s = open(t, cfg)
	ask("after a restart", w, true)
	w.Key = "key"
	wantError(t, s.Subscribe(ctx, []NewSubscription{w})[0].Err, ErrInvalid)
}

// TestOnceInBatch: equal lines of a batch make one subscription, beside others of
// any kind; a bulk of what is there writes nothing.
func TestOnceInBatch(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	var wishes []NewSubscription
	for i := range 3000 {
		wishes = append(wishes, onceWish(fmt.Sprintf("http://example.com/%d", i%500), webhook))
	}
	wishes = append(wishes, wish("http://example.com/1", "key", webhook), wish("http://example.com/2", "", webhook))
	count := func(results []SubscribeResult) (made int) {
		t.Helper()
		for i, r := range results {
			if r.Err != nil || r.URL != wishes[i].URL {
				t.Fatalf("item %d: %+v", i, r)
			}
			if !r.Existing {
				made++
			}
		}
		return made
	}
	if made := count(s.Subscribe(ctx, wishes)); made != 502 {
		t.Errorf("made %d, want 502", made)
	}
	before := entries(s)
	if made := count(s.Subscribe(ctx, wishes[:3000])); made != 0 {
		t.Errorf("made %d again", made)
	}
	if after := entries(s); after != before {
		t.Errorf("%d log entries for what was there", after-before)
	}
	if channels, subscriptions := s.Counts(); channels != 500 || subscriptions != 502 {
		t.Errorf("counts %d, %d", channels, subscriptions)
	}
}

func entries(s *Store) (n uint64) {
	for _, g := range s.groups() {
		n += lastEntry(g)
	}
	return n
}

// TestOnceAtTheSameTime: of many that ask at the same time one makes it.
func TestOnceAtTheSameTime(t *testing.T) {
	s := open(t, testConfig(t))
	const askers, urls = 8, 20
	var asking sync.WaitGroup
	for range askers {
		asking.Go(func() {
			for i := range urls {
				w := onceWish(fmt.Sprintf("http://example.com/%d", i), stream)
				if r := s.Subscribe(context.Background(), []NewSubscription{w})[0]; r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
	asking.Wait()
	if _, n := s.Counts(); n != urls {
		t.Errorf("%d subscriptions, want %d", n, urls)
	}
}

// TestOnceManySubscriptions: a channel of many is read to the sink that is asked for,
// and no longer than the caller waits.
func TestOnceManySubscriptions(t *testing.T) {
	s := open(t, testConfig(t))
	hook := func(i int) channel.Sink {
		return channel.Sink{Type: channel.SinkWebhook, URL: fmt.Sprintf("https://hook.example/%d", i)}
	}
	var wishes []NewSubscription
	for i := range 2 * 1024 {
		wishes = append(wishes, wish("http://example.com/", "", hook(i)))
	}
	last := s.Subscribe(context.Background(), wishes)[len(wishes)-1]
	w := onceWish("http://example.com/", hook(len(wishes)-1))
	if r := s.Subscribe(context.Background(), []NewSubscription{w})[0]; r.Err != nil || !r.Existing || r.ID != last.ID {
		t.Errorf("%+v, want %s", r, last.ID)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if r := s.Subscribe(gone, []NewSubscription{w})[0]; !errors.Is(r.Err, context.Canceled) {
		t.Errorf("a caller that left: %+v", r)
	}
	if c, err := s.Channel(channel.IDOf("http://example.com/")); err != nil || c.Subscribers != uint64(len(wishes)) {
		t.Errorf("%d subscribers, %v", c.Subscribers, err)
	}
}
