package loadgen

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/goleak"
)

// serve runs an origin until the returned function is called, which waits.
func serve(t *testing.T, o *Origin, listeners ...net.Listener) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Serve(ctx, listeners...) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

func TestServeManyHosts(t *testing.T) {
	// fasthttp's worker pool looks only every ten seconds whether it has ended, and
	// its clock for the Date header runs for as long as the process.
	defer goleak.VerifyNone(t,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
	o, err := NewOrigin(Config{Listen: "127.20.0.1:0", Channels: 40, Hosts: 20, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := o.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, listener := range listeners {
		if host, _, _ := net.SplitHostPort(listener.Addr().String()); !strings.HasPrefix(host, "127.20.0.") {
			t.Errorf("listens on %s", host)
		}
	}
	stop := serve(t, o, listeners...)
	client := &http.Client{Transport: new(http.Transport), Timeout: 10 * time.Second}
	for n := range o.Channels() {
		resp, err := client.Get(o.URL(n))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || len(body) == 0 || resp.Header.Get("Date") == "" {
			t.Errorf("%s: %d, %d bytes, %v, headers %v", o.URL(n), resp.StatusCode, len(body), err, resp.Header)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	stop() // with the client's connections still idle
	client.CloseIdleConnections()
	if resp, err := client.Get(o.URL(0)); err == nil {
		t.Errorf("after the end: %s", resp.Status)
	}
}

// In-memory listeners serve tests without the network.
func TestServeInMemory(t *testing.T) {
	o, _ := newTestOrigin(t, Config{Channels: 3})
	listener := fasthttputil.NewInmemoryListener()
	stop := serve(t, o, listener)
	defer stop()
	dial := func(context.Context, string, string) (net.Conn, error) { return listener.Dial() }
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(o.URL(0), "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 400 || resp.StatusCode > 499 {
		t.Errorf("POST: %s, want it refused", resp.Status)
	}
}

// A crowded server closes connections after their answers, so that idle ones
// never keep new ones out.
func TestCrowdedServerClosesConnections(t *testing.T) {
	o, _ := newTestOrigin(t, Config{Channels: 3})
	server := o.newServer(4)
	listener := fasthttputil.NewInmemoryListener()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var conns []net.Conn
	closed := 0
	for range 4 {
		conn, err := listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, "GET /0.rss HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 4096)
		n, err := conn.Read(head)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(head[:n]), "Connection: close") {
			closed++
		}
	}
	if closed == 0 || closed == 4 {
		t.Errorf("%d of 4 connections are closed after the answer, want the last ones", closed)
	}
	for _, conn := range conns {
		_ = conn.Close() // the server may have closed it first
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTooManyHostsForDescriptors(t *testing.T) {
	if _, err := connectionBudget(1 << 20); err == nil || !strings.Contains(err.Error(), "ulimit") {
		t.Errorf("a million listeners: %v, want an error that names the limit", err)
	}
}
