package fetcher

import (
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// notModified is what a poll that finds nothing new is answered with, with every
// word on caching that we read.
const notModified = "HTTP/1.1 304 Not Modified\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\nServer: bench\r\nETag: \"v1\"\r\n" +
	"Last-Modified: " + yesterday + "\r\nCache-Control: public, max-age=1800\r\n" +
	"Expires: Fri, 20 Nov 2026 10:30:00 GMT\r\nAge: 5\r\nVary: Accept-Encoding\r\n\r\n"

// yesterday is the date of what is asked for in all benchmarks, beside the ETag "v1".
const yesterday = "Thu, 19 Nov 2026 10:00:00 GMT"

// BenchmarkNotModified answers: what part of a bare fasthttp client's rate is left
// when every safeguard of a fetch is on? Both ask the same origin, on loopback in
// this process, with If-None-Match over kept connections, one per worker, in turns
// of 500 requests, so that what disturbs one disturbs the other.
//
//	go test -run '^$' -bench 'NotModified$' -benchmem -count 6 ./fetcher
//
// The figure that counts is of-bare: the bare client's time divided by ours, the
// median over all turns. allocs/op is per pair of requests, one of each: 0 is the aim.
func BenchmarkNotModified(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { benchmarkNotModified(b, workers) })
	}
}

func benchmarkNotModified(b *testing.B, workers int) {
	const turn = 500
	url := serveNotModified(b)
	bare, ours := bareClient(b, url), fetches(b, url)
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

// BenchmarkNotModifiedBesideWrk answers: how far is a fetch from a client in C that
// reads next to nothing? wrk and the fetcher ask the same origin for the same path,
// each over 64 connections, in turns of a second. The origin, in this process,
// takes its share of the processors from both.
//
//	go test -run '^$' -bench BesideWrk -benchtime 5x ./fetcher
//
// The figure that counts is of-wrk: our rate divided by wrk's, the median over all
// turns. Without wrk (Debian: wrk) it is skipped.
func BenchmarkNotModifiedBesideWrk(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		b.Skip(err)
	}
	const workers = 64
	url := serveNotModified(b)
	ours := fetches(b, url)
	inTurn(workers, workers, ours)
	var ratios, rates []float64
	for b.Loop() {
		theirs := wrkRate(b, wrk, url, workers)
		times := int(theirs)
		rate := float64(times) / inTurn(workers, times, ours).Seconds()
		ratios, rates = append(ratios, rate/theirs), append(rates, rate)
	}
	b.ReportMetric(median(ratios), "of-wrk")
	b.ReportMetric(median(rates), "fetches/s")
}

// wrkRate has wrk ask for a second and returns its requests per second.
func wrkRate(b *testing.B, wrk, url string, connections int) float64 {
	b.Helper()
	out, err := exec.Command(wrk, "-t", "1", "-c", strconv.Itoa(connections), "-d", "1s",
		"-H", `If-None-Match: "v1"`, "-H", "If-Modified-Since: "+yesterday, url).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	_, figure, _ := strings.Cut(string(out), "Requests/sec:")
	var rate float64
	if _, err := fmt.Sscan(figure, &rate); err != nil || rate < 1 {
		b.Fatalf("%v: %s", err, out)
	}
	return rate
}

// bareClient returns a function that does what a caller of fasthttp's client
// writes in three lines, a number of times.
func bareClient(b *testing.B, url string) func(times int) {
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
		req.Header.Set(fasthttp.HeaderIfNoneMatch, `"v1"`)
		req.Header.Set(fasthttp.HeaderIfModifiedSince, yesterday)
		for range times {
			if err := client.DoTimeout(req, resp, 30*time.Second); err != nil || resp.StatusCode() != 304 {
				b.Error(resp.StatusCode(), err)
			}
		}
	}
}

func fetches(b *testing.B, url string) func(times int) {
	f := newTestFetcher(b, Config{AllowPrivate: true, Version: "1.0", Contact: "https://corona.example/bot"})
	req := Request{URL: url, ETag: `"v1"`, LastModified: yesterday, Subscribers: 42, Delta: true}
	return func(times int) {
		for range times {
			resp, err := f.Fetch(b.Context(), req)
			if err != nil || resp.Status != 304 || resp.Fresh.Source != SourceMaxAge {
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
func serveNotModified(b *testing.B) (url string) {
	answer := []byte(notModified)
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
