//go:build unix

package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/need"
	"github.com/seed-91e7e7c1/corona/server"
)

// slowClients opens connections that each send half a request and wait.
func slowClients(t testing.TB, address string, count int) []net.Conn {
	t.Helper()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(2*count+200) {
		need.Missing(t, "needs %d open files, has %d", 2*count+200, files.Cur)
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
	t.Cleanup(func() { closeAll(conns) })
	return conns
}

const slowCount = 5000

// Row 37: 5,000 slow connections take little memory, others are answered
// meanwhile, and the slow ones are cut off in time.
func TestRow37SlowConnections(t *testing.T) {
	s, registry := newServer(t, &fakeNode{}, server.Config{HeaderTimeout: time.Second})
	listener := listen(t)
	run(t, s, listener)
	before := memory()
	conns := slowClients(t, listener.Addr().String(), slowCount)
	timings(t, listener.Addr().String(), 100)
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

// Row 37: 5,000 slow connections, each sending a byte now and then, at most double
// the p99 of others. Without them and beside them is measured in turns, in short
// runs, on one server; of either the quietest run counts: what else the machine
// does can only make one worse.
func TestRow37SlowConnectionsDelayNobody(t *testing.T) {
	const turns = 12
	s, _ := newServer(t, &fakeNode{}, server.Config{HeaderTimeout: time.Hour})
	listener := listen(t)
	run(t, s, listener)
	address := listener.Addr().String()
	quietest := func() time.Duration {
		best := time.Hour
		for range 5 {
			best = min(best, percentile(timings(t, address, 500), 99))
		}
		return best
	}
	alone, beside := time.Hour, time.Hour
	for turn := range turns {
		alone = min(alone, quietest())
		conns := slowClients(t, address, slowCount)
		stop := drip(conns)
		beside = min(beside, quietest())
		stop()
		closeAll(conns)
		if turn > 0 && beside <= 2*alone {
			t.Logf("p99 %s beside %d slow connections, %s without", beside, slowCount, alone)
			return
		}
	}
	t.Errorf("p99 %s beside %d slow connections, %s without: want twice that at most", beside, slowCount, alone)
}

// drip sends a byte over each connection each 5 s until it is stopped. Those
// that were closed to make room are passed over.
func drip(conns []net.Conn) (stop func()) {
	const turns, turnTime = 250, 20 * time.Millisecond
	done := make(chan struct{})
	var dripping sync.WaitGroup
	dripping.Go(func() {
		ticker := time.NewTicker(turnTime)
		defer ticker.Stop()
		for turn := 0; ; turn++ {
			for i := turn % turns; i < len(conns); i += turns {
				_, _ = conns[i].Write([]byte("x"))
			}
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		dripping.Wait()
	}
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}

// timings returns how long requests took, one after the other, each tenth over a
// new connection.
func timings(t testing.TB, address string, count int) []time.Duration {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	took := make([]time.Duration, count)
	for i := range took {
		if i%10 == 0 {
			client.CloseIdleConnections()
		}
		begun := time.Now()
		response, err := client.Get("http://" + address + "/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		if drain(response.Body); response.StatusCode != http.StatusOK {
			t.Fatalf("status %d", response.StatusCode)
		}
		took[i] = time.Since(begun)
	}
	return took
}

func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[len(took)*p/100]
}

// memory is what the process holds, in bytes: heap and stacks of both sides.
func memory() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

// What do 5,000 slow connections cost everybody else? Compare p99-ms of the two,
// of which the test of row 37 says that it at most doubles:
//
//	go test -run xxx -bench Row37 -benchtime 20000x -count 6 ./server
func BenchmarkRow37(b *testing.B) {
	for _, slow := range []int{0, slowCount} {
		b.Run(fmt.Sprintf("slow=%d", slow), func(b *testing.B) {
			s, _ := newServer(b, &fakeNode{}, server.Config{HeaderTimeout: time.Hour})
			listener := listen(b)
			run(b, s, listener)
			defer drip(slowClients(b, listener.Addr().String(), slow))()
			b.ResetTimer()
			took := timings(b, listener.Addr().String(), b.N)
			b.ReportMetric(float64(percentile(took, 99).Microseconds())/1000, "p99-ms")
		})
	}
}
