package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// The number of ordered channels counts each once: those ordered again, dropped and
// ended by the owner's answer included.
func TestOrderedChannelsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second})
		defer w.close()
		urls := []string{"http://a.example/a", "http://b.example/b", "http://c.example/c"}
		for _, u := range urls {
			w.origins[u] = &origin{status: 200, body: u}
		}
		over := map[channel.ID]bool{} // guarded by w.mu
		w.owner = func(r Report) (Answer, error) {
			w.mu.Lock()
			ends := over[r.Channel]
			w.mu.Unlock()
			if ends {
				return Answer{Ended: true}, nil
			}
			return w.judge(r)
		}
		count := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := w.engine.Load().Channels; got != want {
				t.Errorf("%s: %d channels, want %d", when, got, want)
			}
		}
		count("before the first order", 0)
		for _, u := range urls {
			w.engine.Order(orderURL(u))
		}
		count("all ordered", 3)
		w.engine.Order(orderURL(urls[0]))
		count("one ordered again", 3)
		w.pass(2 * time.Minute)
		count("all polled", 3)
		w.mu.Lock()
		over[orderURL(urls[1]).Channel] = true
		w.origins[urls[1]].body = "other"
		w.mu.Unlock()
		w.pass(2 * time.Minute)
		if polls := len(w.timesOf(urls[1])); polls < 2 {
			t.Fatalf("the channel that ends was polled %d times", polls)
		}
		count("one ended by the owner's answer", 2)
		w.engine.Drop(orderURL(urls[1]).Channel)
		count("the ended one dropped too", 2)
		w.engine.Drop(orderURL(urls[2]).Channel)
		count("another dropped", 1)
		w.mu.Lock()
		clear(over)
		w.mu.Unlock()
		w.engine.Order(orderURL(urls[1]))
		count("the ended one ordered again", 2)
	})
}
