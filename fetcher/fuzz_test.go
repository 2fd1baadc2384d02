package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// FuzzResponse answers a conditional request with any bytes at all and holds that
// the fetch ends in a response within its limits or in an error of a class that
// such an origin can cause, that nothing is left open but a connection on which all
// was read, and that net/http sees the same response where it sees one.
func FuzzResponse(f *testing.F) {
	page := []byte("<item>something new</item>")
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"1\"\r\n\r\nbody",
		"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x\r\nbody\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: y\r\n Content-Length: 5\r\n\r\nbody",
		"HTTP/1.2 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"HTTP/1.1 226 IM Used\r\nIM: feed\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 429 Slow down\r\nRetry-After: 1e12\r\nConnection: close\r\n\r\n",
		coded("gzip", gzipped(page)), coded("deflate", zlibbed(page)), coded("br", brotlied(page)), coded("zstd", zstded(page)),
		coded("zstd", hugeWindow), coded("gzip", gzipped(gzipped(page))),
	} {
		f.Add([]byte(seed))
	}
	const limit = 4096
	var answer []byte
	fetcher := newTestFetcher(f, Config{MaxBody: limit, MaxHeader: limit, Dial: func(context.Context, string, string) (net.Conn, error) {
		return &canned{Reader: bytes.NewReader(answer)}, nil
	}})
	f.Fuzz(func(t *testing.T, input []byte) {
		answer = input
		defer fetcher.pool.drain(func(*conn) bool { return true })
		resp, err := fetcher.Fetch(t.Context(), Request{URL: "http://feeds.example/", ETag: `"1"`, Delta: true})
		if fetcher.pool.open() != fetcher.pool.idle() {
			t.Fatal("a connection is lost")
		}
		if err != nil {
			checkFailure(t, err)
			return
		}
		defer resp.Release()
		if len(resp.Body) > limit || resp.WireBytes > int64(len(answer)) || resp.Status < 200 || resp.Status > 599 {
			t.Fatalf("status %d, body of %d bytes, %d of %d bytes received", resp.Status, len(resp.Body), resp.WireBytes, len(answer))
		}
		if resp.Fresh.Remaining < 0 || resp.Fresh.Remaining > resp.Fresh.Lifetime || resp.RetryAfter.After < 0 {
			t.Fatalf("%+v, %+v", resp.Fresh, resp.RetryAfter)
		}
		if resp.Delta != (resp.Status == 226) {
			t.Fatalf("status %d, delta %v", resp.Status, resp.Delta)
		}
		if fetcher.pool.idle() == 1 && resp.WireBytes != int64(len(answer)) {
			t.Fatal("a connection with something left on it was kept")
		}
		checkAgainstStandard(t, answer, resp)
	})
}

func checkFailure(t *testing.T, err error) {
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("not typed: %v", err)
	}
	switch failed.Class {
	case Reset, TooLarge, Encoding, Protocol, Redirect, DNS, Forbidden:
	default:
		t.Fatalf("class %s: %v", failed.Class, err)
	}
}

// checkAgainstStandard compares with net/http's reading of the same bytes, where
// it does not refuse them, and where ours is that of the first head.
func checkAgainstStandard(t *testing.T, answer []byte, resp *Response) {
	standard, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil || standard.StatusCode < 200 {
		return
	}
	defer standard.Body.Close()
	if standard.StatusCode != resp.Status {
		t.Fatalf("status %d; net/http reads %d", resp.Status, standard.StatusCode)
	}
	body, err := io.ReadAll(standard.Body)
	coded := standard.Header.Get("Content-Encoding") != ""
	if err != nil || coded || !isSuccess(resp.Status) || resp.Status == http.StatusNoContent {
		return
	}
	if !bytes.Equal(body, resp.Body) {
		t.Fatalf("body %q; net/http reads %q", resp.Body, body)
	}
}

// canned is a connection that takes everything, gives what it was made with, and
// then ends.
type canned struct {
	*bytes.Reader
	net.Conn
}

func (c *canned) Read(p []byte) (int, error) { return c.Reader.Read(p) }
func (*canned) Write(p []byte) (int, error)  { return len(p), nil }
func (*canned) Close() error                 { return nil }
func (*canned) SetDeadline(time.Time) error  { return nil }
