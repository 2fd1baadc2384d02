package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

const million = 1_000_000

// fillMillion gives a schedule a million channels with content and validators, a tenth as
// many hosts, and returns the bytes that they take.
func fillMillion(b *testing.B) (s schedule, taken uint64) {
	b.Helper()
	before := heapBytes()
	s = newSchedule(Config{Interval: 30 * time.Minute, Floor: 5 * time.Minute}.withDefaults())
	for i := range million {
		url := fmt.Sprintf("https://host%d.example/some/path/feed%d.xml", i/10, i)
		s.order(&Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1}, 1e18)
	}
	i := 0
	for _, t := range s.targets {
		i++
		t.holding = holding{rawHash: 1, validators: newValidators(fmt.Sprintf(`"%032d"`, i), "Wed, 21 Oct 2015 07:28:00 GMT", ""), ok: true}
	}
	return s, heapBytes() - before
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSchedule asks what deciding costs for one poll among a million
// channels: due time to host queue to worker and back, without request and locks.
// ns/op and bytes/channel count; URLs of 45 bytes and validators of 63 are in it.
//
//	go test -bench '^BenchmarkSchedule$' -run '^$' ./engine
func BenchmarkSchedule(b *testing.B) {
	s, taken := fillMillion(b)
	r := result{outcome: notModified, status: 304, took: time.Millisecond, wire: 200}
	b.ReportAllocs()
	for b.Loop() {
		now := s.nextDue()
		s.promote(now)
		p, ok := s.begin(now)
		if !ok {
			b.Fatal("nothing to begin")
		}
		p.begun = time.Unix(0, now)
		s.release(&p, r.took, now)
		s.finish(&p, &r, now)
	}
	b.ReportMetric(float64(taken)/million, "bytes/channel")
}

// BenchmarkDueHeap asks what the due structure alone costs at a million channels:
// take the earliest, put it back an interval later.
//
//	go test -bench '^BenchmarkDueHeap$' -run '^$' ./engine
func BenchmarkDueHeap(b *testing.B) {
	s, _ := fillMillion(b)
	b.ReportAllocs()
	for b.Loop() {
		due, t, _ := s.due.min()
		s.due.remove(t)
		s.due.set(t, due+int64(30*time.Minute))
	}
}

// BenchmarkNotModified asks what the engine adds to a request that ends in a 304,
// locks and metrics included; ns/op counts.
//
//	go test -bench '^BenchmarkNotModified$' -run '^$' ./engine
func BenchmarkNotModified(b *testing.B) {
	e, target := newStatic(b)
	inbox := make(chan poll, 1)
	b.ReportAllocs()
	for b.Loop() {
		pollOnce(e, target, inbox)
	}
}

// countingFetcher answers 304 at once, and says when it has done so often enough.
type countingFetcher struct {
	staticFetcher
	left   atomic.Int64
	enough chan struct{}
}

func (f *countingFetcher) Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
	if f.left.Add(-1) == 0 {
		close(f.enough)
	}
	return f.staticFetcher.Fetch(ctx, req)
}

// BenchmarkEngine asks how many polls per second the engine's own work allows: all
// goroutines running, 100,000 channels on 1,000 hosts, requests that take no time,
// more due than can be done. polls/s counts.
//
//	go test -bench '^BenchmarkEngine$' -run '^$' -benchtime 3000000x ./engine
func BenchmarkEngine(b *testing.B) {
	f := &countingFetcher{enough: make(chan struct{})}
	f.resp.Status = 304
	f.left.Store(int64(b.N))
	e, err := Open(Config{
		Dir: "cache", fs: vfs.NewMem(), Interval: 100 * time.Millisecond, Floor: 100 * time.Millisecond, Workers: 64,
	}, f, nil, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for i := range 100_000 {
		url := fmt.Sprintf("http://host%d.example/%d", i/100, i)
		e.Order(Order{Channel: channel.IDOf(url), URL: url, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1})
	}
	for _, t := range e.mu.schedule.targets {
		t.loaded, t.holding = true, holding{validators: newValidators("etag", "", ""), ok: true}
	}
	ran := make(chan error, 1)
	b.ResetTimer()
	go func() { ran <- e.Run(b.Context()) }()
	<-f.enough
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "polls/s")
	e.Close()
	if err := <-ran; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOrder asks what ordering a channel costs, as at a start; ns/op counts.
//
//	go test -bench '^BenchmarkOrder$' -run '^$' ./engine
func BenchmarkOrder(b *testing.B) {
	s := newSchedule(Config{}.withDefaults())
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		s.order(testOrder(i, 1), 1e18)
		i++
	}
}

// BenchmarkFirstContent asks how fast first contents get into the cache, as when
// a list is imported: 5 KB each, staged with a sync and adopted by 256 workers on
// a real disk (that of TMPDIR). ns/op is the time per content.
//
//	TMPDIR=. go test -bench '^BenchmarkFirstContent$' -run '^$' -benchtime 50000x ./engine
func BenchmarkFirstContent(b *testing.B) {
	c, err := openCache(Config{Dir: b.TempDir()}.withDefaults())
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	core, err := deltas.Extract(deltas.Document{Body: bytes.Repeat([]byte("a line of some length\n"), 230), ContentType: "text/plain"})
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Uint64
	b.SetParallelism(128)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := channel.IDOf(fmt.Sprint(n.Add(1)))
			if err := errors.Join(c.stage(id, core), c.adopt(id, record{version: 1, hash: core.Hash})); err != nil {
				b.Error(err)
			}
		}
	})
}
