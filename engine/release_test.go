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

// A host that is ready when its last exchange turns out slow gets no second request.
func TestReadyHostThatGetsFewer(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second, HostParallel: 3}.withDefaults())
	now := int64(1e18)
	for i := range 6 {
		s.order(testOrder(10*i, 1), now)
	}
	h := s.hostOf(testURL(0))
	h.manner = steady
	now += int64(2 * time.Minute)
	s.promote(now)
	a, _ := s.begin(now)
	if _, ok := s.begin(now); !ok {
		t.Fatal("not two at a time")
	}
	a.begun = time.Unix(0, now)
	s.release(&a, &result{took: time.Minute, status: 200}, now)
	if _, ok := s.begin(now); ok && h.busy > 1 {
		t.Errorf("slow host has %d requests, may have %d", h.busy, s.parallel(h))
	}
}

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
		w.engine.fetcher = fetchFunc(func(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
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

// What an origin asked for binds the next incarnation of its channel too.
func TestRetryAfterOutlivesIncarnation(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second}.withDefaults())
	now := int64(1e18)
	s.order(testOrder(0, 0), now)
	s.promote(now)
	p, _ := s.begin(now)
	p.begun = time.Unix(0, now)
	r := result{outcome: statusError, status: 404, took: time.Second, retryAfter: fetcher.RetryAfter{After: 20 * time.Hour, Given: true}}
	s.conclude(&p, &r, now)
	s.finish(&p, &r, now)
	o := testOrder(0, 0)
	o.Incarnation++
	now += 5e9
	s.order(o, now)
	for target := range s.targets.all() {
		if target.due < now+int64(19*time.Hour) {
			t.Errorf("asked again in %v, Retry-After was 20 h", time.Duration(target.due-now))
		}
	}
}
