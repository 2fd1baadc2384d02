package fetcher

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// network is connections in memory, by the address that is dialled, so that time
// can be virtual.
type network map[string]*origin

// memory returns a network with one origin at feeds.example:80.
func memory(t testing.TB, handler func(*side)) (network, *origin) {
	o := &origin{url: "http://feeds.example/feed", handler: handler}
	t.Cleanup(o.close)
	return network{"feeds.example:80": o}, o
}

func (n network) dial(_ context.Context, _, address string) (net.Conn, error) {
	o, ok := n[address]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	ours, theirs := net.Pipe()
	o.accept(theirs)
	return ours, nil
}

// trickle writes raw at a byte per second.
func trickle(s *side, raw string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range len(raw) {
		<-tick.C
		if _, err := s.Write([]byte{raw[i]}); err != nil {
			return
		}
	}
}

// TestDeadline holds that a fetch ends when its time is over, to the instant,
// whatever it is waiting for.
func TestDeadline(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
	tests := []struct {
		row    string
		handle func(*side)
	}{
		{"5 headers at 1 byte/s", func(s *side) { s.request(); trickle(s, head) }},
		{"5 interim headers at 1 byte/s", func(s *side) { s.answer("HTTP/1.1 103 Early Hints\r\n\r\n"); trickle(s, head) }},
		{"6 body at 1 byte/s", func(s *side) { s.answer(head); trickle(s, strings.Repeat("x", 100)) }},
		{"6 chunks at 1 byte/s", func(s *side) {
			s.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			trickle(s, strings.Repeat("1\r\nx\r\n", 100))
		}},
		{"6 trailers at 1 byte/s", func(s *side) {
			s.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
			trickle(s, "X-Checksum: "+strings.Repeat("0", 100))
		}},
		{"7 accepts, never answers", func(s *side) { s.request() }},
		{"7 accepts, never reads", func(*side) {}},
	}
	for _, test := range tests {
		t.Run(test.row, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, o := memory(t, test.handle)
				f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 30 * time.Second})
				begun := time.Now()
				_, err := f.Fetch(t.Context(), Request{URL: o.url})
				wantClass(t, err, Timeout)
				if took := time.Since(begun); took != 30*time.Second {
					t.Errorf("took %s", took)
				}
				o.awaitClosed(0)
				if f.pool.open() != 0 || o.connections() != 1 {
					t.Errorf("%d connections made, %d left open", o.connections(), f.pool.open())
				}
			})
		})
	}
}

func TestDeadlineOfDialling(t *testing.T) {
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	synctest.Test(t, func(t *testing.T) {
		f := newTestFetcher(t, Config{Dial: hang, Timeout: 7 * time.Second})
		begun := time.Now()
		_, err := f.Fetch(t.Context(), Request{URL: "http://feeds.example/"})
		wantClass(t, err, Timeout)
		if took := time.Since(begun); took != 7*time.Second || f.pool.open() != 0 {
			t.Errorf("took %s, %d connections open", took, f.pool.open())
		}
	})
}

func TestDeadlineOfHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(*side) {})
		n["feeds.example:443"] = o
		f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 7 * time.Second})
		begun := time.Now()
		_, err := f.Fetch(t.Context(), Request{URL: "https://feeds.example/"})
		wantClass(t, err, Timeout)
		if took := time.Since(begun); took != 7*time.Second || f.pool.open() != 0 {
			t.Errorf("took %s, %d connections open", took, f.pool.open())
		}
	})
}

func TestSlowButInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) {
			s.answer("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
			trickle(s, strings.Repeat("x", 20))
		})
		f := newTestFetcher(t, Config{Dial: n.dial})
		resp := mustFetch(t, f, o.url)
		if took := resp.Finished.Sub(resp.Started); took != 20*time.Second || len(resp.Body) != 20 {
			t.Errorf("took %s, body %q", took, resp.Body)
		}
	})
}

func TestContextDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) { s.request() })
		f := newTestFetcher(t, Config{Dial: n.dial})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := f.Fetch(ctx, Request{URL: o.url})
		wantClass(t, err, Timeout)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestCancel cancels a context while its second exchange on a connection waits.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) {
			s.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			s.request()
		})
		f := newTestFetcher(t, Config{Dial: n.dial})
		ctx, cancel := context.WithCancel(t.Context())
		first, err := f.Fetch(ctx, Request{URL: o.url})
		if err != nil {
			t.Fatal(err)
		}
		first.Release()
		failed := make(chan error, 1)
		go func() {
			_, err := f.Fetch(ctx, Request{URL: o.url})
			failed <- err
		}()
		synctest.Wait()
		begun := time.Now()
		cancel()
		err = <-failed
		wantClass(t, err, Canceled)
		if !errors.Is(err, context.Canceled) || time.Since(begun) != 0 {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		o.awaitClosed(0)
		if o.connections() != 1 {
			t.Errorf("%d connections", o.connections())
		}
		_, err = f.Fetch(ctx, Request{URL: o.url})
		wantClass(t, err, Canceled)
	})
}

// TestCancelledLater holds that a context which is cancelled after its fetch, as
// deferred cancels are, leaves later fetches alone.
func TestCancelledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"))
		f := newTestFetcher(t, Config{Dial: n.dial})
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := f.Fetch(ctx, Request{URL: o.url})
			cancel()
			synctest.Wait()
			if err != nil || string(resp.Body) != "body" {
				t.Fatal(err)
			}
			resp.Release()
		}
		if o.connections() != 1 {
			t.Errorf("%d connections", o.connections())
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, o := memory(t, func(s *side) {
			s.request()
			<-time.After(time.Second)
			_, _ = s.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"))
		})
		f := newTestFetcher(t, Config{Dial: n.dial})
		fetched := make(chan error, 1)
		go func() {
			resp, err := f.Fetch(t.Context(), Request{URL: o.url})
			if err == nil {
				resp.Release()
			}
			fetched <- err
		}()
		synctest.Wait()
		f.Close()
		f.Close()
		if err := <-fetched; err != nil {
			t.Errorf("the fetch under way: %v", err)
		}
		o.awaitClosed(0)
		_, err := f.Fetch(t.Context(), Request{URL: o.url})
		wantClass(t, err, Canceled)
		if !errors.Is(err, ErrClosed) || f.pool.open() != 0 {
			t.Errorf("%v; %d connections open", err, f.pool.open())
		}
	})
}
