package fetcher

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// BenchmarkNotModified answers: what part of a bare fasthttp client's rate is left
// when every safeguard of a fetch is on? Both ask the same origin, on loopback in
// this process, with If-None-Match over kept connections, one per worker, in turns
// of 500 requests, so that what disturbs one disturbs the other.
//
//	go test -run '^$' -bench NotModified -benchmem -count 6 ./fetcher
//
// The figure that counts is of-bare: the bare client's time divided by ours, the
// median over all turns. allocs/op is per pair of requests, one of each: 0 is the aim.
func BenchmarkNotModified(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { benchmarkNotModified(b, workers) })
	}
}

func benchmarkNotModified(b *testing.B, workers int) {
	const etag, turn = `"v1"`, 500
	url := serveNotModified(b, etag)
	bare, ours := bareClient(b, url, etag), fetches(b, url, etag)
	inTurn(workers, workers, bare)
	inTurn(workers, workers, ours)
	b.ReportAllocs()
	b.ResetTimer()
	var ratios, rates []float64
	for left := b.N; left > 0; left -= turn {
		times := min(left, turn)
		bareTime := inTurn(workers, times, bare)
		ourTime := inTurn(workers, times, ours)
		ratios = append(ratios, bareTime.Seconds()/ourTime.Seconds())
		rates = append(rates, float64(times)/ourTime.Seconds())
	}
	b.ReportMetric(median(ratios), "of-bare")
	b.ReportMetric(median(rates), "fetches/s")
}

// bareClient returns a function that does what a caller of fasthttp's client
// writes in three lines, a number of times.
func bareClient(b *testing.B, url, etag string) func(times int) {
	client := &fasthttp.Client{
		MaxResponseBodySize:       8 << 20,
		MaxIdemponentCallAttempts: 1,
		Dial:                      func(address string) (net.Conn, error) { return net.Dial("tcp", address) },
	}
	b.Cleanup(client.CloseIdleConnections)
	return func(times int) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(url)
		req.Header.Set(fasthttp.HeaderIfNoneMatch, etag)
		for range times {
			if err := client.DoTimeout(req, resp, 30*time.Second); err != nil || resp.StatusCode() != 304 {
				b.Error(resp.StatusCode(), err)
			}
		}
	}
}

func fetches(b *testing.B, url, etag string) func(times int) {
	f := newTestFetcher(b, Config{AllowPrivate: true})
	return func(times int) {
		for range times {
			resp, err := f.Fetch(b.Context(), Request{URL: url, ETag: etag})
			if err != nil || resp.Status != 304 {
				b.Error(err)
				return
			}
			resp.Release()
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// inTurn does something a number of times, shared among workers, and returns how
// long that took.
func inTurn(workers, times int, do func(times int)) time.Duration {
	begun := time.Now()
	var done sync.WaitGroup
	for worker := range workers {
		share := times / workers
		if worker < times%workers {
			share++
		}
		done.Go(func() { do(share) })
	}
	done.Wait()
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
