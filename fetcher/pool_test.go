package fetcher

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestPool holds the pool against a model, through any order of calls.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 4
		p := newPool(most, time.Hour)
		defer p.close()
		var busy, idle []*conn // idle: oldest first
		origins := rapid.SampledFrom([]string{"http://a", "http://b", "http://c"})
		pick := func(t *rapid.T) *conn {
			i := rapid.IntRange(0, len(busy)-1).Draw(t, "busy")
			c := busy[i]
			busy = slices.Delete(busy, i, i+1)
			return c
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				origin := origins.Draw(t, "origin")
				want := -1
				for i, c := range idle {
					if c.host.origin == origin {
						want = i
					}
				}
				got := p.take(origin)
				if want < 0 {
					if got != nil {
						t.Fatalf("take(%s) = %v; none is idle", origin, got)
					}
					return
				}
				if got != idle[want] {
					t.Fatalf("take(%s): not the one that became idle last", origin)
				}
				idle = slices.Delete(idle, want, want+1)
				busy = append(busy, got)
			},
			"dial": func(t *rapid.T) {
				if len(busy) == most {
					t.Skip("it would wait")
				}
				if err := p.reserve(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				if len(busy)+len(idle) == most {
					if !isClosed(idle[0]) {
						t.Fatal("room was made, but not by the one that was idle longest")
					}
					idle = idle[1:]
				}
				if rapid.Bool().Draw(t, "fails") {
					p.unreserve()
					return
				}
				c := newFakeConn()
				p.add(origins.Draw(t, "origin"), c)
				busy = append(busy, c)
			},
			"put": func(t *rapid.T) {
				if len(busy) == 0 {
					t.Skip("none is busy")
				}
				c := pick(t)
				p.put(c)
				idle = append(idle, c)
			},
			"discard": func(t *rapid.T) {
				if len(busy) == 0 {
					t.Skip("none is busy")
				}
				c := pick(t)
				p.discard(c)
				if !isClosed(c) {
					t.Fatal("discarded, but not closed")
				}
			},
			"": func(t *rapid.T) {
				if p.open() != len(busy)+len(idle) || p.idle() != len(idle) {
					t.Fatalf("%d open, %d idle; want %d, %d", p.open(), p.idle(), len(busy)+len(idle), len(idle))
				}
				for _, c := range slices.Concat(busy, idle) {
					if isClosed(c) {
						t.Fatal("closed, but not by the pool's rules")
					}
					if p.mu.hosts[c.host.origin] != c.host {
						t.Fatal("its host is forgotten")
					}
				}
				open := 0
				for _, h := range p.mu.hosts {
					open += h.open
				}
				if open != len(busy)+len(idle) {
					t.Fatalf("hosts count %d open", open)
				}
			},
		})
	})
}

// fakeConn knows whether it was closed.
type fakeConn struct {
	net.Conn
	closed bool
}

func (c *fakeConn) Close() error { c.closed = true; return nil }

func newFakeConn() *conn { fake := &fakeConn{}; return newConn(fake, fake) }

func isClosed(c *conn) bool { return c.net.(*fakeConn).closed }

// TestIdleConnectionsExpire holds that an idle connection is closed after its
// time, each after its own.
func TestIdleConnectionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		n["other.example:80"] = o
		f := newTestFetcher(t, Config{Dial: n.dial, MaxIdleConnDuration: time.Minute})
		idleAfter := func(wait time.Duration, want int) {
			t.Helper()
			<-time.After(wait)
			synctest.Wait()
			if idle, open := f.pool.idle(), f.pool.open(); idle != want || open != want {
				t.Fatalf("%d idle, %d open; want %d", idle, open, want)
			}
		}
		mustFetch(t, f, o.url)
		idleAfter(40*time.Second, 1)
		mustFetch(t, f, "http://other.example/")
		idleAfter(19*time.Second, 2)
		idleAfter(time.Second, 1)
		idleAfter(39*time.Second, 1)
		idleAfter(time.Second, 0)
		o.awaitClosed(0)
		o.awaitClosed(1)
		mustFetch(t, f, o.url)
		idleAfter(59*time.Second, 1)
		mustFetch(t, f, o.url)
		idleAfter(59*time.Second, 1)
		idleAfter(time.Second, 0)
		if o.connections() != 3 {
			t.Errorf("%d connections", o.connections())
		}
	})
}

// TestBudget holds that never more than MaxConns connections are open, that idle
// ones make room, and that fetches beyond it wait their turn.
func TestBudget(t *testing.T) {
	const hosts, budget = 10, 3
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) {
			for s.request() != "" {
				<-time.After(time.Second)
				_, _ = s.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			}
		})
		f := newTestFetcher(t, Config{Dial: n.dial, MaxConns: budget})
		fetched := make(chan error)
		begun := time.Now()
		for i := range hosts {
			n[fmt.Sprintf("h%d.example:80", i)] = o
			go func() {
				resp, err := f.Fetch(t.Context(), Request{URL: fmt.Sprintf("http://h%d.example/", i)})
				if err == nil {
					resp.Release()
				}
				fetched <- err
			}()
		}
		for range hosts {
			if err := <-fetched; err != nil {
				t.Error(err)
			}
			if open := f.pool.open(); open > budget {
				t.Errorf("%d connections open", open)
			}
		}
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("took %s; 10 fetches of a second, 3 at a time, take 4 s", took)
		}
		// Those that are idle now make room, the longest idle first.
		for i := range budget {
			mustFetch(t, f, fmt.Sprintf("http://h%d.example/", i))
		}
		if open := f.pool.open(); open != budget {
			t.Errorf("%d connections open", open)
		}
	})
}

func TestBudgetExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) { s.request() })
		n["other.example:80"] = o
		f := newTestFetcher(t, Config{Dial: n.dial, MaxConns: 1, Timeout: 10 * time.Second})
		failed := make(chan error, 1)
		go func() {
			_, err := f.Fetch(t.Context(), Request{URL: o.url})
			failed <- err
		}()
		synctest.Wait()
		<-time.After(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := f.Fetch(ctx, Request{URL: "http://other.example/"})
		wantClass(t, err, Busy)
		wantClass(t, <-failed, Timeout)
		if f.pool.open() != 0 {
			t.Errorf("%d connections open", f.pool.open())
		}
	})
}
