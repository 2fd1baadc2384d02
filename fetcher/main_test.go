package fetcher

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines left behind. Those that are ignored belong to
// fasthttp's compressor and client, which only tests and benchmarks use: the first
// never end, the others end seconds later, and nothing can wait for them.
func TestMain(m *testing.M) {
	if os.Getenv(originVariable) != "" {
		if err := serveTLSHosts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
	)
}

// origin is a content server that a test writes byte by byte.
type origin struct {
	url     string // with a path
	handler func(*side)

	wg sync.WaitGroup
	mu struct {
		sync.Mutex
		closed bool
		sides  []*side
	}
}

// side is the origin's end of one connection. Its goroutine ends with the test.
type side struct {
	net.Conn
	in    *bufio.Reader
	index int           // of the connection at its origin, from 0
	gone  chan struct{} // closed when the handler has returned and the other end has gone
}

// listen starts an origin on loopback, which runs handler for each connection.
func listen(t testing.TB, handler func(*side)) *origin {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{url: "http://" + listener.Addr().String() + "/feed", handler: handler}
	o.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			o.accept(conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		o.close()
	})
	return o
}

func (o *origin) accept(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &side{Conn: conn, in: bufio.NewReader(conn), index: len(o.mu.sides), gone: make(chan struct{})}
	if o.mu.closed {
		_ = conn.Close()
		return
	}
	o.mu.sides = append(o.mu.sides, s)
	o.wg.Go(func() {
		o.handler(s)
		s.awaitEnd()
		close(s.gone)
	})
}

func (o *origin) close() {
	o.mu.Lock()
	o.mu.closed = true
	for _, s := range o.mu.sides {
		_ = s.Close()
	}
	o.mu.Unlock()
	o.wg.Wait()
}

// connections returns how many have been made.
func (o *origin) connections() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.sides)
}

// awaitClosed returns when the fetcher has closed its end of connection i.
func (o *origin) awaitClosed(i int) {
	o.mu.Lock()
	s := o.mu.sides[i]
	o.mu.Unlock()
	<-s.gone
}

// request returns the next request's head, "" when there is none.
func (s *side) request() string {
	var head strings.Builder
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return ""
		}
		if line == "\r\n" {
			return head.String()
		}
		head.WriteString(line)
	}
}

// answer answers the next request with raw bytes and returns its head.
func (s *side) answer(raw string) string {
	head := s.request()
	_, _ = s.Write([]byte(raw))
	return head
}

// awaitEnd returns when the other end has closed the connection.
func (s *side) awaitEnd() {
	for {
		if _, err := s.in.ReadByte(); err != nil {
			return
		}
	}
}

// abort ends the connection with a reset.
func (s *side) abort() {
	_ = s.Conn.(*net.TCPConn).SetLinger(0)
	_ = s.Close()
}

// always answers each request of a connection with the same bytes.
func always(raw string) func(*side) {
	return func(s *side) {
		for s.answer(raw) != "" {
		}
	}
}

// once answers the first request and closes the connection.
func once(raw string) func(*side) {
	return func(s *side) {
		s.answer(raw)
		_ = s.Close()
	}
}

// newTestFetcher returns a fetcher that is closed with the test.
func newTestFetcher(t testing.TB, config Config) *Fetcher {
	t.Helper()
	f, err := New(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// mustFetch fetches url without validators and fails the test on an error.
func mustFetch(t testing.TB, f *Fetcher, url string) *Response {
	t.Helper()
	resp, err := f.Fetch(t.Context(), Request{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(resp.Release)
	return resp
}

// wantClass fails the test unless err is an *Error of a class.
func wantClass(t testing.TB, err error, want Class) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("error %v; want one of class %s", err, want)
	}
	if failed.Class != want {
		t.Fatalf("class %s: %v; want %s", failed.Class, err, want)
	}
}
