package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

const million = 1_000_000

// fill gives a schedule a million channels with content and validators, a tenth as
// many hosts, and returns the bytes that they take.
func fillMillion(b *testing.B) (s schedule, bytes uint64) {
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
	s, bytes := fillMillion(b)
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
	b.ReportMetric(float64(bytes)/million, "bytes/channel")
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

// BenchmarkEngine asks how many polls per second the engine's own work allows, all
// goroutines running and nothing to wait for; polls/s counts.
//
//	go test -bench '^BenchmarkEngine$' -run '^$' -benchtime 5s ./engine
func BenchmarkEngine(b *testing.B) {
	fetcher := &staticFetcher{}
	fetcher.resp.Status = 304
	e, err := Open(Config{
		Dir: "cache", fs: vfs.NewMem(), Interval: 100 * time.Millisecond, Floor: 100 * time.Millisecond, Workers: 64,
	}, fetcher, nil, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100_000 {
		url := fmt.Sprintf("http://host%d.example/%d", i/100, i)
		e.Order(Order{Channel: channel.IDOf(url), URL: url, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1})
	}
	for _, t := range e.mu.schedule.targets {
		t.loaded, t.holding = true, holding{validators: newValidators("etag", "", ""), ok: true}
	}
	ctx, cancel := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	b.ResetTimer()
	for b.Loop() {
		time.Sleep(time.Millisecond) // an op is a millisecond of polling
	}
	b.StopTimer()
	load := e.Load()
	cancel()
	if err := <-ran; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(load.PollsPerSecond, "polls/s")
	b.ReportMetric(float64(load.LatenessP99.Milliseconds()), "p99-late-ms")
	e.Close()
}

// BenchmarkOrder asks what ordering a channel costs, as at a start; ns/op counts.
//
//	go test -bench '^BenchmarkOrder$' -run '^$' ./engine
func BenchmarkOrder(b *testing.B) {
	s := newSchedule(Config{Dir: strings.Repeat("d", 1)}.withDefaults())
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		s.order(testOrder(i, 1), 1e18)
		i++
	}
}
