//go:build unix

package server_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/server"
)

// How much of the processor does the server itself take for a line of a batch,
// with a node that does nothing? cpu-ns/line counts, without a connection: body
// and answer are in memory. Over a connection its copies, and the client that
// reads the answers without decoding them, are in it.
//
//	go test -run xxx -bench BatchLines -benchtime 500000x -count 6 ./server
func BenchmarkBatchLines(b *testing.B) {
	s, _ := newServer(b, &fakeNode{subscribeHook: echo}, server.Config{})
	b.Run("memory", func(b *testing.B) {
		defer reportCPU(b)()
		lines := &lineCounter{header: http.Header{}}
		s.ServeHTTP(lines, httptest.NewRequest("POST", "http://localhost/v1/subscriptions:batch", &numbered{count: b.N}))
		if lines.count != b.N {
			b.Fatalf("%d answers to %d lines", lines.count, b.N)
		}
	})
	b.Run("connection", func(b *testing.B) {
		s, _ := newServer(b, &fakeNode{subscribeHook: echo}, server.Config{})
		listener := listen(b)
		run(b, s, listener)
		defer reportCPU(b)()
		response, err := http.Post("http://"+listener.Addr().String()+"/v1/subscriptions:batch", "application/x-ndjson", &numbered{count: b.N})
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		lines := &lineCounter{}
		if _, err := io.Copy(lines, response.Body); err != nil || lines.count != b.N {
			b.Fatalf("%d answers to %d lines, %v", lines.count, b.N, err)
		}
	})
}

// lineCounter counts the lines of an answer.
type lineCounter struct {
	header http.Header
	count  int
}

func (c *lineCounter) Header() http.Header { return c.header }
func (c *lineCounter) WriteHeader(int)     {}
func (c *lineCounter) Flush()              {}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.count += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

// reportCPU begins to count the time that the process spends on processors, and
// returns what reports it, for each line: on a busy machine it says more than how
// long the lines took.
func reportCPU(b *testing.B) (report func()) {
	b.ReportAllocs()
	b.ResetTimer()
	begin := cpuTime(b)
	return func() { b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(b.N), "cpu-ns/line") }
}

func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// What does one call cost without its connection?
//
//	go test -run xxx -bench Call -count 6 ./server
func BenchmarkCall(b *testing.B) {
	node := nodeWithChannels(1000)
	s, _ := newServer(b, node, server.Config{})
	for name, target := range map[string]string{"channel": "/v1/channels/" + node.channels[0].ID.String(), "list100": "/v1/channels", "status": "/v1/status"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := serve(s, request("GET", target, "")); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
