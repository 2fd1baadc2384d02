package fetcher

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cacheProxy is a private HTTP cache in front of a Fetcher, for tests: what it
// reuses, for how long, and what it asks again with, it takes from a Response's
// Fresh, ETag and LastModified alone. It keeps what is 2xx, and reads no field.
type cacheProxy struct {
	origin string // the Unix socket of the content server
	setup  *httputil.ReverseProxy

	mu     sync.Mutex
	stored map[string]stored // by path and query
}

// stored is a response that may be used again.
type stored struct {
	status             int
	header             http.Header
	body               []byte
	etag, lastModified string
	fresh              Freshness
	at                 time.Time // when it was received, or last validated
}

// newCacheProxy returns a cache of what the content server on a Unix socket has.
func newCacheProxy(t testing.TB, socket string) *cacheProxy {
	p := &cacheProxy{origin: socket, stored: make(map[string]stored)}
	p.setup = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "origin.example"})
	transport := &http.Transport{DialContext: p.dial}
	p.setup.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	return p
}

func (p *cacheProxy) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", p.origin)
}

// ServeHTTP answers a test's GET from the cache or through the fetcher; what sets
// tests up passes.
func (p *cacheProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/test/") {
		p.setup.ServeHTTP(w, r)
		return
	}
	key := r.URL.RequestURI()
	p.mu.Lock()
	kept := p.stored[key]
	p.mu.Unlock()
	if kept.fresh.Remaining > time.Since(kept.at) {
		kept.reuse(w)
		return
	}
	resp, err := p.fetch(r, kept)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Release()
	kept = kept.after(resp)
	if isSuccess(kept.status) {
		p.mu.Lock()
		p.stored[key] = kept
		p.mu.Unlock()
	}
	kept.write(w)
}

// fetch asks the origin, with the validators of what is kept and the fields that
// tell the suite's server which step of which test this is.
func (p *cacheProxy) fetch(r *http.Request, kept stored) (*Response, error) {
	var marks strings.Builder
	for _, name := range []string{"Test-Id", "Req-Num"} {
		marks.WriteString(name + ": " + r.Header.Get(name) + "\r\n")
	}
	f, err := New(Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := p.dial(ctx, network, address)
		return &markedConn{conn, marks.String()}, err
	}}, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Fetch(r.Context(), Request{
		URL: "http://origin.example" + r.URL.RequestURI(), ETag: kept.etag, LastModified: kept.lastModified,
	})
}

// markedConn adds lines to the head of the request that is written to it.
type markedConn struct {
	net.Conn
	lines string
}

func (c *markedConn) Write(head []byte) (int, error) {
	end := len(head) - len("\r\n")
	if _, err := c.Conn.Write(slices.Concat(head[:end], []byte(c.lines), head[end:])); err != nil {
		return 0, err
	}
	return len(head), nil
}

// after returns what is to be kept, and answered with, after a response.
func (s stored) after(resp *Response) stored {
	next := stored{
		status: resp.Status, header: fields(resp), body: slices.Clone(resp.Body),
		etag: resp.ETag, lastModified: resp.LastModified, fresh: resp.Fresh, at: resp.Finished,
	}
	if resp.Status == http.StatusNotModified {
		next.status, next.header, next.body = s.status, s.renewed(next.header), s.body
	}
	for name, validator := range map[string]string{"Etag": resp.ETag, "Last-Modified": resp.LastModified} {
		next.header.Del(name)
		if validator != "" {
			next.header.Set(name, validator)
		}
	}
	return next
}

// fields returns those of a response but for what belongs to its connection.
func fields(resp *Response) http.Header {
	header := make(http.Header)
	for name, value := range resp.header.All() {
		header.Add(string(name), string(value))
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length"} {
		header.Del(name)
	}
	return header
}

// renewed returns the stored fields with those of a 304 in their place, but for
// what describes the body (RFC 9111, section 3.2).
func (s stored) renewed(by http.Header) http.Header {
	header := maps.Clone(s.header)
	for name, values := range by {
		switch name {
		case "Content-Encoding", "Content-Md5", "Content-Range":
		default:
			header[name] = values
		}
	}
	return header
}

// reuse answers from the cache. The age is what the freshness tells of it.
func (s stored) reuse(w http.ResponseWriter) {
	age := s.fresh.Lifetime - s.fresh.Remaining + time.Since(s.at)
	s.header = maps.Clone(s.header)
	s.header.Set("Age", strconv.Itoa(int(age/time.Second)))
	s.write(w)
}

func (s stored) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), s.header)
	w.WriteHeader(s.status)
	_, _ = w.Write(s.body)
}
