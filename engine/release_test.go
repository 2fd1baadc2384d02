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

// The gap of a host that is asked for one channel at a time counts from when a request was sent:
// where connecting took long, the next request has a connection and would follow at once.
func TestGapFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second, HostParallel: 1})
		defer w.close()
		urls := []string{"http://h.example/a", "http://h.example/b", "http://h.example/c"}
		for _, u := range urls {
			w.origins[u] = &origin{status: 200, body: u}
		}
		var sent []time.Time // by one worker at a time
		w.engine.asker.fetcher = fetchFunc(func(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
			if len(sent) == 0 {
				time.Sleep(3 * time.Second)
			}
			at := time.Now()
			sent = append(sent, at)
			resp, err := w.Fetch(ctx, req)
			resp.Sent = at
			return resp, err
		})
		for _, u := range urls {
			w.engine.Order(orderURL(u))
		}
		w.pass(30 * time.Second)
		if len(sent) < len(urls) {
			t.Fatalf("%d requests", len(sent))
		}
		for i := range len(sent) - 1 {
			if apart := sent[i+1].Sub(sent[i]); apart < time.Second {
				t.Errorf("request %d is sent %v after the one before, gap 1s", i+1, apart)
			}
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

// A redirect's Retry-After is told to the channel's other pollers, and known after a kill.
func TestRetryAfterOfARedirectIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Spare
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second, Spared: func(s Spare) { told = append(told, s) }})
		defer w.close()
		url := "http://a.example/a"
		w.origins[url] = &origin{status: 200, to: "b", via: 302, retryAfter: "3600"}
		order := orderURL(url)
		order.Width = 2
		w.engine.Order(order)
		w.pass(2 * time.Minute)
		if n := len(w.timesOf(url)); n != 1 || len(told) != 1 {
			t.Fatalf("asked %d times, the others told %+v; want once, one", n, told)
		}
		asked := w.timesOf(url)[0]
		if want := asked.Add(time.Hour); told[0].Until.Sub(want).Abs() > time.Second {
			t.Errorf("told to wait until %v, want %v", told[0].Until, want)
		}
		w.kill()
		w.engine.Order(order)
		w.pass(50 * time.Minute)
		if n := len(w.timesOf(url)); n != 1 {
			t.Errorf("asked %d times within the hour, after a kill", n)
		}
		w.pass(20 * time.Minute)
		if n := len(w.timesOf(url)); n != 2 {
			t.Errorf("asked %d times, want again after an hour", n)
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
