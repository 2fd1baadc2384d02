package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// A page that is another in each poll, and never becomes a version, leaves two
// contents in the cache; what becomes a version, one.
func TestCacheStaysSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer func() { w.close() }()
		const url = "http://a.example/a"
		id := channel.IDOf(url)
		w.serve(1, origin{status: 200, body: "first"}, url)
		w.pass(time.Second)
		show := func(step string, decline bool, polls, want int) {
			t.Helper()
			for i := range polls {
				w.mu.Lock()
				w.own(id).decline = decline
				w.origins[url].body = fmt.Sprintf("%s %d", step, i)
				w.mu.Unlock()
				w.pass(10 * time.Second)
			}
			if got := w.contents(id); got != want {
				t.Errorf("%s: %d contents, want %d", step, got, want)
			}
		}
		show("published", false, 3, 1)
		show("declined", true, 5, 2)
		show("published again", false, 1, 1)
		show("declined, then a restart", true, 1, 2)
		w.restart()
		w.engine.Order(w.orderOf(url))
		show("declined since", true, 3, 2)
		w.mu.Lock()
		w.own(id).version, w.own(id).core = 9, coreOf(t, "from another poller")
		w.mu.Unlock()
		show("another poller's, declined", true, 1, 2)
		w.engine.Order(w.orderOf(url))
		show("another poller's, published", false, 1, 1)
	})
}

func (w *world) contents(id channel.ID) (n int) {
	iter, err := w.engine.cache.DB().NewIter(&pebble.IterOptions{LowerBound: store.ContentKey(id, deltas.Hash{}), UpperBound: store.ContentKey(id, lastHash)})
	if err != nil {
		w.t.Fatal(err)
	}
	for valid := iter.First(); valid; valid = iter.Next() {
		n++
	}
	if err := iter.Close(); err != nil {
		w.t.Error(err)
	}
	return n
}

// row 59: a cache that went bad under a channel costs one poll and the next diff's base.
func TestCacheGoesBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		id := channel.IDOf(url)
		w.serve(1, origin{status: 200, body: "one"}, url)
		w.pass(5 * time.Second)
		for _, key := range [][]byte{store.RecordKey(id), store.ContentKey(id, coreOf(t, "one").Hash)} {
			if err := w.engine.cache.DB().Set(key, []byte("bad"), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		w.mu.Lock()
		w.origins[url].body = "two"
		w.mu.Unlock()
		w.drain()
		w.pass(10 * time.Second)
		stats, _ := w.engine.Stats(id)
		if !strings.Contains(stats.LastError, "content cache") || stats.Failures != 0 || len(w.drain()) != 1 {
			t.Errorf("first %+v", stats)
		}
		w.pass(10 * time.Second)
		if events := w.drain(); len(events) != 2 || events[1].text != "report base=1 shows two: version 2" {
			t.Errorf("then %+v", events)
		}
	})
}
