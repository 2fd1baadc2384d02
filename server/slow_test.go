package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/server"
)

// slowClients opens connections that each send half a request and wait.
func slowClients(t testing.TB, address string, count int) []net.Conn {
	t.Helper()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(2*count+200) {
		t.Skipf("needs %d open files, has %d", 2*count+200, files.Cur)
	}
	conns := make([]net.Conn, count)
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
		// It may have been closed already, to make room.
		_, _ = io.WriteString(conn, "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			conn.Close()
		}
	})
	return conns
}

// Row 37: 5,000 slow connections take little memory, others are answered
// meanwhile, and the slow ones are cut off in time. What it costs others is
// BenchmarkRow37.
func TestRow37SlowConnections(t *testing.T) {
	const slow = 5000
	s, registry := newServer(t, &fakeNode{}, server.Config{HeaderTimeout: time.Second})
	listener := listen(t)
	run(t, s, listener)
	before := memory()
	conns := slowClients(t, listener.Addr().String(), slow)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 100 {
		response, err := client.Get("http://" + listener.Addr().String() + "/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		if drain(response.Body); response.StatusCode != http.StatusOK {
			t.Fatalf("status %d", response.StatusCode)
		}
	}
	if grown := memory() - before; grown > 64<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	for _, conn := range conns {
		_, _ = io.Copy(io.Discard, conn) // to its end, whenever and however the server makes it
	}
	if got := counted(t, registry, "corona_http_requests_total", "none"); got != 0 {
		t.Errorf("%v half requests were answered", got)
	}
}

// memory is what the process holds, in bytes: heap and stacks of both sides.
func memory() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

// What do 5,000 slow connections cost everybody else (row 37: p99 at most
// doubles)? Compare p99-ms of the two:
//
//	go test -run xxx -bench Row37 -benchtime 20000x -count 6 ./server
func BenchmarkRow37(b *testing.B) {
	for _, slow := range []int{0, 5000} {
		b.Run(fmt.Sprintf("slow=%d", slow), func(b *testing.B) {
			s, _ := newServer(b, &fakeNode{}, server.Config{HeaderTimeout: time.Hour})
			listener := listen(b)
			run(b, s, listener)
			slowClients(b, listener.Addr().String(), slow)
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				begun := time.Now()
				response, err := client.Get("http://" + listener.Addr().String() + "/v1/status")
				if err != nil {
					b.Fatal(err)
				}
				drain(response.Body)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
