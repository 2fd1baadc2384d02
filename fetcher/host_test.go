package fetcher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns holds that one origin never has more than MaxConnsPerHost connections,
// that fetches beyond wait in order and leave other origins alone, and that whose
// time ends first is busy, which counts as no host's failure.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) {
			for s.request() != "" {
				<-time.After(time.Second)
				_, _ = s.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			}
		})
		_, other := memory(t, always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		n["other.example:80"] = other
		f := newTestFetcher(t, Config{Dial: n.dial, MaxConnsPerHost: 2})
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if resp, err := f.Fetch(t.Context(), Request{URL: o.url}); err != nil {
					t.Error(err)
				} else if want := time.Duration(1+i/2) * time.Second; resp.Finished.Sub(begun) != want {
					t.Errorf("fetch %d ended after %s; want %s", i, resp.Finished.Sub(begun), want)
				}
			})
			synctest.Wait()
		}
		mustFetch(t, f, "http://other.example/")
		if took := time.Since(begun); took != 0 {
			t.Errorf("another origin waited %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		_, err := f.Fetch(ctx, Request{URL: o.url})
		wantClass(t, err, Busy)
		all.Wait()
		if o.connections() != 2 || time.Since(begun) != 3*time.Second {
			t.Errorf("%d connections, %s", o.connections(), time.Since(begun))
		}
	})
}

// TestUnderLoad holds both caps with many fetches at once, some of which are
// cancelled at any instant, and that nothing is left of them: no turn, no slot.
func TestUnderLoad(t *testing.T) {
	const origins, perHost, budget = 12, 3, 10
	f := newTestFetcher(t, Config{AllowPrivate: true, MaxConns: budget, MaxConnsPerHost: perHost})
	var urls [origins]string
	for i := range urls {
		raw := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
		if i%3 == 0 {
			raw = closing
		}
		urls[i] = listen(t, always(raw)).url
	}
	var all sync.WaitGroup
	for range 48 {
		all.Go(func() {
			for range 40 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
				resp, err := f.Fetch(ctx, Request{URL: urls[rand.N(origins)]})
				if err == nil {
					resp.Release()
				} else if !isFetchError(err, Busy) && !isFetchError(err, Timeout) {
					t.Error(err)
				}
				cancel()
				if problem := beyond(f.pool); problem != "" {
					t.Error(problem)
				}
			}
		})
	}
	all.Wait()
	f.Close()
	if f.pool.open() != 0 || len(f.pool.mu.hosts) != 0 {
		t.Errorf("%d connections, %d hosts left", f.pool.open(), len(f.pool.mu.hosts))
	}
}

// beyond names a cap that does not hold.
func beyond(p *pool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open := p.open(); open > cap(p.slots) {
		return fmt.Sprintf("%d connections", open)
	}
	for _, h := range p.mu.hosts {
		if h.busy > p.perHost || len(h.idle) > p.perHost {
			return fmt.Sprintf("%s: %d busy, %d idle", h.origin, h.busy, len(h.idle))
		}
	}
	return ""
}
