package ownership

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// apartWish is a wish with a key of another range than its channel's, and the ranges.
func apartWish(t *testing.T, s *Store) (w NewSubscription, key, channel *group) {
	t.Helper()
	for i := range 100 {
		w = wish("http://example.com/", fmt.Sprint(i), webhook)
		b := preparedWish(s, w)
		id, has := b.items[0].Key()
		if !has {
			t.Fatal("no key")
		}
		if key, channel = s.of(id.Bucket()).local(), s.of(w.Channel.Bucket()).local(); key != channel {
			return w, key, channel
		}
	}
	t.Fatal("no key of another range")
	return w, nil, nil
}

func lastEntry(g *group) uint64 {
	last, _ := g.log.LastIndex()
	return last
}

func preparedWish(s *Store, w NewSubscription) *subscribing {
	b := &subscribing{w: s.writes, wishes: []NewSubscription{w}, results: make([]SubscribeResult, 1)}
	b.prepare()
	return b
}

// TestClaimed: a request whose key is claimed for it already takes one entry, in the
// channel's range: on a slow disk it has all of its time for that. A claim that will
// not hold for another day, and a foreign one, go through the log.
func TestClaimed(t *testing.T) {
	ctx := context.Background()
	clock := newFakeClock() // noon
	cfg := testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	w, key, channel := apartWish(t, s)
	subscribeAgain := func(when string, w NewSubscription, claims, subscribes uint64, want error) SubscribeResult {
		t.Helper()
		before, beforeChannel := lastEntry(key), lastEntry(channel)
		r := s.Subscribe(ctx, []NewSubscription{w})[0]
		wantError(t, r.Err, want)
		if n, m := lastEntry(key)-before, lastEntry(channel)-beforeChannel; n != claims || m != subscribes {
			t.Errorf("%s: %d entries in the key's range and %d in the channel's, want %d and %d", when, n, m, claims, subscribes)
		}
		return r
	}
	preparedWish(s, w).claim(ctx, answerWithin) // and then the answer was late
	first := subscribeAgain("claimed", w, 0, 1, nil)
	if first.Existing {
		t.Errorf("made before: %+v", first)
	}
	other := w
	other.Sink = stream
	subscribeAgain("another request", other, 1, 0, ErrKeyReused)
	for _, step := range []struct {
		pass     time.Duration
		claims   uint64
		existing bool
	}{
		{0, 0, true},
		{35*time.Hour + 59*time.Minute, 0, true}, // yesterday's, a minute before it is older
		{2 * time.Minute, 1, true},
		{23*time.Hour + 57*time.Minute, 1, true},
		{2 * time.Minute, 1, false}, // expired: claimed again
		{0, 0, true},
	} {
		clock.advance(step.pass)
		r := subscribeAgain(clock.now().Sub(day0).String(), w, step.claims, 1, nil)
		if r.Existing != step.existing {
			t.Errorf("%v later: existing %v", clock.now().Sub(day0), r.Existing)
		}
	}
	shut(t, s)
	s = open(t, cfg)
	_, key, channel = apartWish(t, s)
	subscribeAgain("after a start, when nothing is known of keys yet", w, 0, 1, nil)
}
