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
		m := &poolModel{pool: newPool(4, 3, time.Hour)}
		defer m.pool.close()
		t.Repeat(rapid.StateMachineActions(m))
	})
}

// poolModel is what the pool should hold: turns without a connection yet,
// connections that are busy, and those that are idle, oldest first.
type poolModel struct {
	pool       *pool
	turns      []*host
	busy, idle []*conn
}

func (m *poolModel) Enter(t *rapid.T) {
	origin := drawOrigin(t)
	count := 0
	for _, h := range m.busyHosts() {
		if h.origin == origin {
			count++
		}
	}
	h, err := m.pool.enter(t.Context(), time.Now(), origin)
	if count == m.pool.perHost {
		if classify(t.Context(), err) != Busy {
			t.Fatalf("turn %d of %d: %v", count+1, m.pool.perHost, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.turns = append(m.turns, h)
}

func (m *poolModel) Leave(t *rapid.T) { m.pool.leave(pick(t, &m.turns)) }

func (m *poolModel) Take(t *rapid.T) {
	h := pick(t, &m.turns)
	want := -1
	for i, c := range m.idle {
		if c.host == h {
			want = i
		}
	}
	got := m.pool.take(h)
	if want < 0 {
		if got != nil {
			t.Fatalf("take(%s) = %v; none is idle", h.origin, got)
		}
		m.turns = append(m.turns, h)
		return
	}
	if got != m.idle[want] {
		t.Fatalf("take(%s): not the one that became idle last", h.origin)
	}
	m.idle = slices.Delete(m.idle, want, want+1)
	m.busy = append(m.busy, got)
}

func (m *poolModel) Dial(t *rapid.T) {
	if len(m.busy) == cap(m.pool.slots) {
		t.Skip("it would wait")
	}
	h := pick(t, &m.turns)
	full := len(m.busy)+len(m.idle) == cap(m.pool.slots)
	if err := m.pool.reserve(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if full {
		if !isClosed(m.idle[0]) {
			t.Fatal("room was made, but not by the one that was idle longest")
		}
		m.idle = m.idle[1:]
	}
	if rapid.Bool().Draw(t, "fails") {
		m.pool.unreserve()
		m.pool.leave(h)
		return
	}
	c := newFakeConn()
	c.host = h
	m.busy = append(m.busy, c)
}

func (m *poolModel) Put(t *rapid.T) {
	c := pick(t, &m.busy)
	m.pool.put(c)
	m.pool.leave(c.host)
	m.idle = append(m.idle, c)
}

func (m *poolModel) Discard(t *rapid.T) {
	c := pick(t, &m.busy)
	m.pool.discard(c)
	m.pool.leave(c.host)
	if !isClosed(c) {
		t.Fatal("discarded, but not closed")
	}
}

// Check runs after each of the others.
func (m *poolModel) Check(t *rapid.T) {
	all := slices.Concat(m.busy, m.idle)
	if m.pool.open() != len(all) || m.pool.idle() != len(m.idle) {
		t.Fatalf("%d open, %d idle; want %d, %d", m.pool.open(), m.pool.idle(), len(all), len(m.idle))
	}
	busy := m.busyHosts()
	counted := 0
	for _, h := range m.pool.mu.hosts {
		counted += h.busy
		if h.busy == 0 && len(h.idle) == 0 {
			t.Fatalf("%s is kept, with nothing going on", h.origin)
		}
	}
	if counted != len(busy) {
		t.Fatalf("hosts count %d turns; want %d", counted, len(busy))
	}
	for _, c := range all {
		if isClosed(c) || m.pool.mu.hosts[c.host.origin] != c.host {
			t.Fatal("a connection is closed, or its host forgotten, against the rules")
		}
	}
}

// busyHosts returns the host of every turn that is taken.
func (m *poolModel) busyHosts() []*host {
	hosts := slices.Clone(m.turns)
	for _, c := range m.busy {
		hosts = append(hosts, c.host)
	}
	return hosts
}

// pick removes any one of a list.
func pick[T any](t *rapid.T, from *[]T) T {
	if len(*from) == 0 {
		t.Skip("there is none")
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
	picked := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return picked
}

func drawOrigin(t *rapid.T) string {
	return rapid.SampledFrom([]string{"http://a", "http://b", "http://c"}).Draw(t, "origin")
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
		}
		for i := range hosts {
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
