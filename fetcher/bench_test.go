package fetcher

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// BenchmarkNotModified answers: what part of a bare fasthttp client's rate is left
// when every safeguard of a fetch is on? Both ask the same origin, on loopback in
// this process, with If-None-Match over one kept connection, in turns of 500
// requests, so that what disturbs one disturbs the other.
//
//	go test -run '^$' -bench NotModified -benchmem -count 6 ./fetcher
//
// The figure that counts is of-bare: the bare client's time per request divided by
// ours. allocs/op is per pair of requests, one of each: 0 is the aim.
func BenchmarkNotModified(b *testing.B) {
	const etag = `"v1"`
	url := serveNotModified(b, etag)
	f := newTestFetcher(b, Config{AllowPrivate: true})
	client := &fasthttp.Client{
		MaxResponseBodySize:       8 << 20,
		MaxIdemponentCallAttempts: 1,
		Dial:                      func(address string) (net.Conn, error) { return net.Dial("tcp", address) },
	}
	defer client.CloseIdleConnections()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.SetRequestURI(url)
	req.Header.Set(fasthttp.HeaderIfNoneMatch, etag)

	bare := func() {
		if err := client.DoTimeout(req, resp, 30*time.Second); err != nil || resp.StatusCode() != 304 {
			b.Fatal(resp.StatusCode(), err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ours := func() {
		resp, err := f.Fetch(ctx, Request{URL: url, ETag: etag})
		if err != nil || resp.Status != 304 {
			b.Fatal(err)
		}
		resp.Release()
	}
	bare()
	ours()
	b.ReportAllocs()
	b.ResetTimer()
	var bareTime, ourTime time.Duration
	for left := b.N; left > 0; left -= 500 {
		bareTime += timed(min(left, 500), bare)
		ourTime += timed(min(left, 500), ours)
	}
	b.ReportMetric(bareTime.Seconds()/ourTime.Seconds(), "of-bare")
	b.ReportMetric(float64(b.N)/ourTime.Seconds(), "fetches/s")
}

func timed(times int, do func()) time.Duration {
	begun := time.Now()
	for range times {
		do()
	}
	return time.Since(begun)
}

// serveNotModified starts an origin that answers 304 to whatever it is asked, at
// the least cost, and returns a URL of it.
func serveNotModified(b *testing.B, etag string) (url string) {
	answer := []byte("HTTP/1.1 304 Not Modified\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\nETag: " + etag + "\r\n\r\n")
	return listen(b, func(s *side) {
		for {
			line, err := s.in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) > 2 {
				continue
			}
			if _, err := s.Write(answer); err != nil {
				return
			}
		}
	}).url
}
