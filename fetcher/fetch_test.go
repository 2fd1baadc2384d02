package fetcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestBodies holds that every framing and content coding gives the same content.
func TestBodies(t *testing.T) {
	page := strings.Repeat("<item>something new</item>", 4000)
	with := func(fields, body string) string { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + body }
	fill := strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 30)
	tests := []struct {
		name, raw, want string
		kept            bool // the connection
	}{
		{"length", with(fmt.Sprintf("Content-Length: %d\r\n", len(page)), page), page, true},
		{"chunks", with("Transfer-Encoding: chunked\r\n", inChunks(page)+"\r\n"), page, true},
		{"chunks and trailers", with("Transfer-Encoding: chunked\r\n", inChunks(page)+"X-Checksum: 1\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\n\r\n"), page, true},
		{"chunks, the last line missing", with("Transfer-Encoding: chunked\r\n", inChunks(page)), page, false},
		{"until the end", with("", page), page, false},
		{"HTTP/1.0", strings.Replace(with("Content-Length: 4\r\n", "body"), "1.1", "1.0", 1), "body", false},
		{"closes", with("Connection: close\r\nContent-Length: 4\r\n", "body"), "body", false},
		{"empty", with("Content-Length: 0\r\n", ""), "", true},
		{"empty, coded", with("Content-Encoding: gzip\r\nContent-Length: 0\r\n", ""), "", true},
		{"head beyond the first buffer", with(fill+fmt.Sprintf("Content-Length: %d\r\n", len(page)), page), page, true},
		{"more than announced", with("Content-Length: 4\r\n", "body and more"), "body", false},
		{"gzip", coded("gzip", gzipped([]byte(page))), page, true},
		{"x-gzip", coded("X-GZIP", gzipped([]byte(page))), page, true},
		{"zlib", coded("deflate", zlibbed([]byte(page))), page, true},
		{"bare deflate", coded("deflate", deflated([]byte(page))), page, true},
		{"br", coded("br", brotlied([]byte(page))), page, true},
		{"zstd", coded("zstd", zstded([]byte(page))), page, true},
		{"gzip with something after it", coded("gzip", append(gzipped([]byte(page)), "<!-- cached -->"...)), page, true},
		{"gzip with zeros after it", coded("gzip", append(gzipped([]byte(page)), make([]byte, 512)...)), page, true},
		{"gzip in two streams", coded("gzip", append(gzipped([]byte(page[:5000])), gzipped([]byte(page[5000:]))...)), page, true},
		{"a charset for a coding", coded("utf-8", []byte(page)), page, true},
		{"a charset beside a coding", coded("UTF-8, gzip", gzipped([]byte(page))), page, true},
		{"lines end in LF", "HTTP/1.1 200 OK\nContent-Length: 4\n\nbody", "body", true},
		{"lines end in LF, chunks", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n" + inChunks(page) + "\r\n", page, true},
		{"some lines end in LF", "HTTP/1.1 200 OK\r\nX-One: 1\nContent-Length: 6\n\r\n\nbody\n", "\nbody\n", true},
		{"an empty line of LF, CRLF before", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\n\r\n\r\nbody", "\r\n\r\nbody", true},
		{"one length twice", with("Content-Length: 4\r\ncontent-length : 4\r\n", "body"), "body", true},
		{"one length in a list", with("Content-Length: 4, 4,4\r\n", "body"), "body", true},
		{"LF and one length twice", "HTTP/1.1 200 OK\nContent-Length: 4\nX-Other: x\nContent-Length: 4\n\nbody", "body", true},
		{"identity", coded("identity", []byte(page)), page, true},
		{"12 a 100 first", "HTTP/1.1 100 Continue\r\n\r\n" + with("Content-Length: 4\r\n", "body"), "body", true},
		{"12 a 103 first", "HTTP/1.1 103 Early Hints\r\nETag: no\r\nContent-Length: 9\r\n\r\n" + with("Content-Length: 4\r\n", "body"), "body", true},
		{"12 sixteen 103 first", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 16) + with("Content-Length: 4\r\n", "body"), "body", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handle := once(test.raw)
			if test.kept {
				handle = always(test.raw)
			}
			o := listen(t, handle)
			f := newTestFetcher(t, Config{AllowPrivate: true})
			for range 2 { // the second with buffers, and perhaps a connection, of the first
				resp := mustFetch(t, f, o.url)
				if resp.Status != 200 || string(resp.Body) != test.want || resp.ETag != "" || resp.Fresh != (Freshness{}) || resp.WireBytes != int64(len(test.raw)) {
					t.Errorf("status %d, %d bytes of body, ETag %q, %d bytes received", resp.Status, len(resp.Body), resp.ETag, resp.WireBytes)
				}
				if kept := f.pool.idle() == 1; kept != test.kept {
					t.Errorf("connection kept: %v; want %v", kept, test.kept)
				}
			}
		})
	}
}

// inChunks returns body in chunks of growing size, with the last one, without what
// follows it.
func inChunks(body string) string {
	var out strings.Builder
	for size := 1; body != ""; size *= 2 {
		n := min(size, len(body))
		fmt.Fprintf(&out, "%x;x=y\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return out.String() + "0\r\n"
}

func TestMaxBodyIsInclusive(t *testing.T) {
	o := listen(t, always("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"))
	f := newTestFetcher(t, Config{AllowPrivate: true, MaxBody: 10})
	if resp := mustFetch(t, f, o.url); string(resp.Body) != "0123456789" {
		t.Errorf("body %q", resp.Body)
	}
}

func TestRequestHead(t *testing.T) {
	heads := make(chan string, 1)
	o := listen(t, func(s *side) { heads <- s.answer("HTTP/1.1 304 Not Modified\r\n\r\n") })
	f := newTestFetcher(t, Config{AllowPrivate: true, Version: "1.2", Contact: "https://corona.example/bot"})
	url := strings.Replace(o.url, "/feed", "/a//b/?q=%C3%A4&x", 1)
	resp, err := f.Fetch(t.Context(), Request{URL: url, ETag: `W/"a, b"`, LastModified: "yesterday"})
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	host := strings.TrimSuffix(strings.TrimPrefix(o.url, "http://"), "/feed")
	want := "GET /a//b/?q=%C3%A4&x HTTP/1.1\r\nHost: " + host + "\r\n" +
		"User-Agent: Corona/1.2 (+https://corona.example/bot)\r\nAccept: " + accept + "\r\n" +
		"Accept-Encoding: gzip, br, zstd, deflate\r\n" +
		"If-None-Match: W/\"a, b\"\r\nIf-Modified-Since: yesterday\r\n"
	if head := <-heads; head != want {
		t.Errorf("sent\n%s\nwant\n%s", head, want)
	}
}

func waitOf(r RetryAfter) string {
	if !r.Given {
		return ""
	}
	return r.After.String()
}

func TestFields(t *testing.T) {
	long := strings.Repeat("x", maxValidator+1)
	none, some := validators{}, validators{`"1"`, "today"}
	tests := []struct {
		name, raw string
		asked     validators
		want      string // status, ETag, Last-Modified, Content-Type, Retry-After
	}{
		{"all", "200 OK\r\netag: \"1\"\r\nLAST-MODIFIED: today\r\nContent-Type: text/xml; charset=x\r\n", none, `200|"1"|today|text/xml; charset=x|`},
		{"none", "200 OK\r\n", some, "200||||"},
		{"first of two", "200 OK\r\nETag: \"1\"\r\nETag: \"2\"\r\n", none, `200|"1"|||`},
		{"too long", "200 OK\r\nETag: " + long + "\r\nContent-Type: " + long + "\r\n", none, "200||||"},
		{"Retry-After of a success", "200 OK\r\nRetry-After: 5\r\n", none, "200||||"},
		{"304 without", "304 Not Modified\r\n", some, `304|"1"|today||`},
		{"304 with the same", "304 Not Modified\r\nETag: \"1\"\r\n", some, `304|"1"|today||`},
		{"304 with a newer date", "304 Not Modified\r\nETag: \"1\"\r\nLast-Modified: now\r\n", some, `304|"1"|now||`},
		{"304 with another", "304 Not Modified\r\nETag: \"2\"\r\nContent-Type: text/xml\r\nLast-Modified: now\r\nRetry-After: 5\r\n", some, `304|"1"|today||`},
		{"429", "429 Too Many Requests\r\nRetry-After: -1\r\n", none, "429||||0s"},
		{"503", "503 Unavailable\r\nRetry-After: 1000000000000\r\n", none, "503||||596523h14m8s"},
		{"410", "410 Gone\r\nContent-Type: text/html\r\n", none, "410|||text/html|"},
		{"204", "204 No Content\r\n", none, "204||||"},
		{"300 is not followed", "300 Multiple Choices\r\nLocation: /x\r\n", none, "300||||"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := listen(t, once("HTTP/1.1 "+test.raw+"Connection: close\r\n\r\n"))
			f := newTestFetcher(t, Config{AllowPrivate: true})
			resp, err := f.Fetch(t.Context(), Request{URL: o.url, ETag: test.asked.etag, LastModified: test.asked.lastModified})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Release()
			got := fmt.Sprintf("%d|%s|%s|%s|%s", resp.Status, resp.ETag, resp.LastModified, resp.ContentType, waitOf(resp.RetryAfter))
			if got != test.want || len(resp.Body) != 0 {
				t.Errorf("got %s, body %q; want %s", got, resp.Body, test.want)
			}
		})
	}
}

// TestErrorBodies holds that the body of an error is skipped, whatever it claims,
// and that a short one does not cost the connection.
func TestErrorBodies(t *testing.T) {
	tests := []struct {
		name, raw string
		kept      bool
	}{
		{"short", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nsorry", true},
		{"chunked", "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsorry\r\n0\r\n\r\n", true},
		{"lying about its coding", "HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nsorry", true},
		{"huge", "HTTP/1.1 404 Not Found\r\nContent-Length: 9000000000000000000\r\n\r\nsorry", false},
		{"bad chunks", "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\nsorry\r\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := listen(t, always(test.raw))
			f := newTestFetcher(t, Config{AllowPrivate: true})
			resp := mustFetch(t, f, o.url)
			if resp.Status < 400 || resp.Body != nil {
				t.Errorf("status %d, body %q", resp.Status, resp.Body)
			}
			if kept := f.pool.idle() == 1; kept != test.kept {
				t.Errorf("connection kept: %v; want %v", kept, test.kept)
			}
		})
	}
}

// TestNotModifiedWithBody is row 19: a 304 that carries a body all the same. None
// of it may be read as the answer to the next request, however late it comes.
func TestNotModifiedWithBody(t *testing.T) {
	const (
		head     = "HTTP/1.1 304 Not Modified\r\nContent-Length: 60\r\n\r\n"
		poison   = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
		innocent = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ninnocent"
	)
	late := make(chan struct{})
	tests := []struct {
		name  string
		first func(*side)
	}{
		{"at once", func(s *side) { s.answer(head + poison) }},
		{"late", func(s *side) {
			s.answer(head)
			<-late
			_, _ = s.Write([]byte(poison))
			late <- struct{}{}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := listen(t, func(s *side) {
				if s.index == 0 {
					test.first(s)
					return
				}
				s.answer(innocent)
			})
			f := newTestFetcher(t, Config{AllowPrivate: true})
			resp, err := f.Fetch(t.Context(), Request{URL: o.url, ETag: `"1"`})
			if err != nil || resp.Status != 304 || resp.Body != nil {
				t.Fatal(resp, err)
			}
			resp.Release()
			if test.name == "late" {
				late <- struct{}{}
				<-late
			}
			if next := mustFetch(t, f, o.url); string(next.Body) != "innocent" {
				t.Errorf("the next response is %q", next.Body)
			}
			o.awaitClosed(0)
		})
	}
}

// TestDeadConnections holds that a connection which died while idle costs neither
// the poll nor a second one, and that nothing else is ever sent twice.
func TestDeadConnections(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
	closed := make(chan struct{}, 1)
	t.Run("closed while idle", func(t *testing.T) {
		o := listen(t, func(s *side) { once(answer)(s); closed <- struct{}{} })
		f := newTestFetcher(t, Config{AllowPrivate: true})
		for range 3 {
			mustFetch(t, f, o.url)
			<-closed
		}
		if o.connections() != 3 {
			t.Errorf("%d connections", o.connections())
		}
	})
	t.Run("closed when asked", func(t *testing.T) {
		o := listen(t, func(s *side) { s.answer(answer); s.request(); s.abort() })
		f := newTestFetcher(t, Config{AllowPrivate: true})
		mustFetch(t, f, o.url)
		mustFetch(t, f, o.url)
		if o.connections() != 2 || value(t, f.metrics.resent) != 1 {
			t.Errorf("%d connections, %v sent again", o.connections(), value(t, f.metrics.resent))
		}
	})
	t.Run("died in an answer", func(t *testing.T) {
		o := listen(t, func(s *side) { s.answer(answer); s.answer(answer[:20]); s.abort() })
		f := newTestFetcher(t, Config{AllowPrivate: true})
		mustFetch(t, f, o.url)
		_, err := f.Fetch(t.Context(), Request{URL: o.url})
		wantClass(t, err, Reset)
		if o.connections() != 1 {
			t.Errorf("%d connections", o.connections())
		}
	})
	t.Run("does not answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, o := memory(t, func(s *side) { s.answer(answer); s.request() })
			f := newTestFetcher(t, Config{Dial: n.dial, Timeout: time.Second})
			mustFetch(t, f, o.url)
			_, err := f.Fetch(t.Context(), Request{URL: o.url})
			wantClass(t, err, Timeout)
			if o.connections() != 1 {
				t.Errorf("%d connections", o.connections())
			}
		})
	})
}

// TestConcurrent has many fetches at a time, some cancelled, over few connections,
// from origins good and bad: each gets its own answer, and nothing is left open.
func TestConcurrent(t *testing.T) {
	echo := func(s *side) {
		for head := s.request(); head != ""; head = s.request() {
			path, _, _ := strings.Cut(strings.TrimPrefix(head, "GET "), " ")
			fmt.Fprintf(s, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
		}
	}
	good, fickle := listen(t, echo), listen(t, func(s *side) {
		if s.index%2 == 0 {
			s.abort()
			return
		}
		echo(s)
	})
	f := newTestFetcher(t, Config{AllowPrivate: true, MaxConns: 4})
	var workers sync.WaitGroup
	for worker := range 16 {
		workers.Go(func() {
			for i := range 25 {
				path := fmt.Sprintf("/%d/%d", worker, i)
				base := []string{good.url, fickle.url}[i%2]
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 {
					go cancel()
				}
				resp, err := f.Fetch(ctx, Request{URL: strings.Replace(base, "/feed", path, 1)})
				switch {
				case err == nil && string(resp.Body) != path:
					t.Errorf("asked for %s, got %q", path, resp.Body)
				case err != nil && i%2 == 0 && i%5 != 0:
					t.Error(err)
				}
				if err == nil {
					resp.Release()
				}
				cancel()
			}
		})
	}
	workers.Wait()
	if open, idle := f.pool.open(), f.pool.idle(); open != idle || open > 4 {
		t.Errorf("%d connections open, %d idle", open, idle)
	}
}

func TestRelease(t *testing.T) {
	o := listen(t, always("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 4\r\n\r\nbody"))
	f := newTestFetcher(t, Config{AllowPrivate: true})
	resp, err := f.Fetch(t.Context(), Request{URL: o.url})
	if err != nil {
		t.Fatal(err)
	}
	etag := resp.ETag
	resp.Release()
	first, second := mustFetch(t, f, o.url), mustFetch(t, f, o.url)
	if first == second {
		t.Error("one response was handed out twice")
	}
	if etag != `"1"` {
		t.Errorf("a string changed after Release: %q", etag)
	}
	made := Response{Status: 200, Body: []byte("body")}
	if made.Release(); made.Status != 200 || string(made.Body) != "body" {
		t.Errorf("a response that no fetch filled, after Release: status %d, body %q", made.Status, made.Body)
	}
}

// Nearly all polls end in a 304: what they take must not keep the buffers of a body.
func TestNotModifiedHoldsNoBuffers(t *testing.T) {
	page := strings.Repeat("some text ", 3000)
	raw := coded("gzip", gzipped([]byte(page)))
	o := listen(t, always(raw))
	f := newTestFetcher(t, Config{AllowPrivate: true})
	same := listen(t, always("HTTP/1.1 304 Not Modified\r\n\r\n"))
	for range 3 {
		resp, err := f.Fetch(t.Context(), Request{URL: o.url})
		if err != nil || resp.buffers == nil || string(resp.Body) != page {
			t.Fatalf("a body: %v", err)
		}
		resp.Release()
		resp, err = f.Fetch(t.Context(), Request{URL: same.url, ETag: `"1"`})
		if err != nil || resp.buffers != nil || cap(resp.request) > 4<<10 {
			t.Fatalf("a 304: %v; buffers %v, a request of %d bytes", err, resp.buffers, cap(resp.request))
		}
		resp.Release()
	}
}

// value returns what a counter or gauge stands at.
func value(t testing.TB, metric prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metric)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	only := families[0].GetMetric()[0]
	return only.GetCounter().GetValue() + only.GetGauge().GetValue()
}

// TestPermit: a permit that ends while the connection is made keeps the request from being
// sent, and so does one that ends before it is sent once more; what was sent has a time.
func TestPermit(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
	id := channel.IDOf("http://example.com/")
	var requests atomic.Int32
	o := listen(t, func(s *side) {
		if head := s.request(); head == "" {
			return
		}
		requests.Add(1)
		_, _ = s.Write([]byte(answer))
		s.request() // the next one on this connection gets no answer
		s.abort()
	})
	f := newTestFetcher(t, Config{AllowPrivate: true})
	permits := 0
	fetch := func(stands func() bool) (*Response, error) {
		return f.Fetch(t.Context(), Request{URL: o.url, Permit: Permit{Channel: id, Stands: func(of channel.ID) bool {
			if of != id {
				t.Errorf("asked about %s", of)
			}
			permits++
			return stands()
		}}})
	}
	refused := func(err error) {
		t.Helper()
		wantClass(t, err, Canceled)
		if failed := new(Error); !errors.As(err, &failed) || !failed.Sent.IsZero() && permits == 1 {
			t.Errorf("sent at %v", failed.Sent)
		}
	}
	_, err := fetch(func() bool { return false })
	refused(err)
	if permits != 1 || requests.Load() != 0 {
		t.Errorf("without a permit: asked %d times, %d requests", permits, requests.Load())
	}
	resp, err := fetch(func() bool { return true })
	if err != nil || resp.Sent.Before(resp.Started) || resp.Sent.After(resp.Finished) || requests.Load() != 1 {
		t.Fatalf("with a permit: %v, sent at %v, %d requests", err, resp.Sent, requests.Load())
	}
	permits = 0
	_, err = fetch(func() bool { return permits == 1 })
	refused(err)
	if permits != 2 || requests.Load() != 1 {
		t.Errorf("over a connection that was cut: asked %d times, %d more requests", permits, requests.Load()-1)
	}
}
