package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// A host that is released while the owner takes its time is asked again when its gap
// is over, not when the loop wakes by itself.
func TestReleasedHostWakesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second})
		defer w.close()
		w.owner = func(r Report) (Answer, error) { time.Sleep(4500 * time.Millisecond); return w.judge(r) }
		urls := []string{"http://h.example/a", "http://h.example/b"}
		for _, u := range urls {
			w.origins[u] = &origin{status: 200, body: u}
		}
		for _, u := range urls {
			w.engine.Order(orderURL(u))
		}
		w.pass(30 * time.Second)
		first, second := w.asked[urls[0]][0], w.asked[urls[1]][0]
		if d := second.Sub(first).Abs(); d > 1200*time.Millisecond {
			t.Errorf("second asked after %v, gap 1s; lateness p99 %v", d, w.engine.Load().LatenessP99)
		}
	})
}

func orderURL(u string) Order {
	o := *testOrder(0, 0)
	o.URL, o.Channel = u, channel.IDOf(u)
	return o
}

// A redirect's Retry-After is how long to wait before its target is asked (RFC 9110,
// section 10.2.3).
func TestRetryAfterOfARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second})
		defer w.close()
		a, b := "http://a.example/a", "http://b.example/b"
		w.origins[a] = &origin{status: 200, to: "b", via: 302, retryAfter: "120"}
		w.origins[b] = &origin{status: 200, body: "b"}
		w.engine.asker.fetcher = fetchFunc(func(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
			resp, err := w.Fetch(ctx, req)
			if err == nil && resp.Location != "" {
				resp.Location = b
			}
			return resp, err
		})
		w.engine.Order(orderURL(a))
		w.pass(10 * time.Second)
		if n := len(w.timesOf(a)); n != 1 {
			t.Fatalf("the channel's own URL was asked %d times within 10 s, want once", n)
		}
		redirected := w.timesOf(a)[0]
		w.mu.Lock()
		w.origins[a].retryAfter = "" // from the next poll on
		w.mu.Unlock()
		w.pass(100 * time.Second)
		if n := len(w.timesOf(b)); n != 0 {
			t.Errorf("target asked %d times within 110 s; asked to wait 120 s", n)
		}
		w.pass(130 * time.Second)
		if len(w.timesOf(b)) == 0 {
			t.Fatal("target not asked within 240 s; asked to wait 120 s")
		}
		if waited := w.timesOf(b)[0].Sub(redirected); waited < 120*time.Second {
			t.Errorf("target asked after %v; asked to wait 120 s", waited)
		}
	})
}

// timesOf returns when a URL was asked so far.
func (w *world) timesOf(url string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked[url])
}

type fetchFunc func(context.Context, fetcher.Request) (*fetcher.Response, error)

func (f fetchFunc) Reserve(context.Context, string, int64, bool) (fetcher.Room, error) {
	return fetcher.Room{}, nil
}

func (f fetchFunc) Fetch(ctx context.Context, r fetcher.Request) (*fetcher.Response, error) {
	return f(ctx, r)
}
