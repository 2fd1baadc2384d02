package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

const million = 1_000_000

// fillMillion gives a schedule a million channels with content and validators, a tenth as
// many hosts, and returns the bytes that they take.
func fillMillion(b *testing.B) (s *channels, taken uint64) {
	b.Helper()
	before := heapBytes()
	s = newChannels(Config{Interval: 30 * time.Minute, Floor: 5 * time.Minute}.withDefaults())
	for i := range million {
		url := fmt.Sprintf("https://host%d.example/some/path/feed%d.xml", i/10, i)
		s.order(&Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1}, 1e18)
	}
	i := 0
	for t := range s.index.all() {
		i++
		t.Channel.holding = store.Holding{RawHash: 1, Texts: store.NewTexts(fmt.Sprintf(`"%032d"`, i), "Wed, 21 Oct 2015 07:28:00 GMT", "", ""), OK: true}
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
// gc-cpu-ms is the processor time of one collection with all of them.
//
//	go test -bench '^BenchmarkSchedule$' -run '^$' ./engine
func BenchmarkSchedule(b *testing.B) {
	s, taken := fillMillion(b)
	used := processTime()
	runtime.GC()
	collected := processTime() - used
	r := result{outcome: notModified, status: 304, took: time.Millisecond, wire: 200}
	b.ReportAllocs()
	for b.Loop() {
		now := s.schedule.NextDue()
		s.schedule.Promote(true, now)
		p, ok := s.begin(now)
		if !ok {
			b.Fatal("nothing to begin")
		}
		p.Begun = time.Unix(0, now)
		s.conclude(&p, &r, now)
		s.finish(&p, &r, now)
	}
	b.ReportMetric(float64(taken)/million, "bytes/channel")
	b.ReportMetric(float64(collected.Milliseconds()), "gc-cpu-ms")
}

// BenchmarkNotModified asks what the engine adds to a request that ends in a 304,
// locks and metrics included; ns/op counts.
//
//	go test -bench '^BenchmarkNotModified$' -run '^$' ./engine
func BenchmarkNotModified(b *testing.B) {
	e, target := newStatic(b, notModifiedAnswer())
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

func newCountingFetcher(enough int) *countingFetcher {
	f := &countingFetcher{staticFetcher: staticFetcher{notModifiedAnswer()}, enough: make(chan struct{})}
	f.left.Store(int64(enough))
	return f
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
	f := newCountingFetcher(b.N)
	runBench(b, f, f.enough, 100*time.Millisecond, func() {})
}

// runBench runs an engine with 100,000 channels on 1,000 hosts, each due once in an
// interval, until the fetcher has had enough.
func runBench(b *testing.B, f Fetcher, enough <-chan struct{}, interval time.Duration, begin func()) {
	e, err := Open(Config{
		Dir: "cache", fs: vfs.NewMem(), Interval: interval, Floor: interval, Workers: 64,
	}, f, deafOwner{}, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for i := range 100_000 {
		url := fmt.Sprintf("http://host%d.example/%d", i/100, i)
		e.Order(Order{Channel: channel.IDOf(url), URL: url, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1})
	}
	for t := range e.mu.channels.index.all() {
		t.Channel.loaded, t.Channel.holding = true, store.Holding{Texts: store.NewTexts("etag", "", "", ""), OK: true}
	}
	ran := make(chan error, 1)
	b.ResetTimer()
	begin()
	go func() { ran <- e.Run(b.Context()) }()
	<-enough
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "polls/s")
	e.Close()
	if err := <-ran; err != nil {
		b.Fatal(err)
	}
}

// pacedFetcher answers 304 after a millisecond, and says when it has done so often
// enough.
type pacedFetcher struct{ *countingFetcher }

func (f *pacedFetcher) Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
	<-time.After(time.Millisecond)
	return f.countingFetcher.Fetch(ctx, req)
}

// BenchmarkPaced asks what a poll costs the engine, with all goroutines running and
// waking, at a rate that leaves it idle in between: 20,000 polls/s over 100,000
// channels, requests that take a millisecond. cpu-µs/poll counts: processor time of
// the whole process; polls/s says whether the rate was reached.
//
//	go test -bench '^BenchmarkPaced$' -run '^$' -benchtime 200000x ./engine
func BenchmarkPaced(b *testing.B) {
	f := &pacedFetcher{newCountingFetcher(b.N)}
	used := time.Duration(0)
	runBench(b, f, f.enough, 5*time.Second, func() { used = processTime() })
	b.ReportMetric(float64((processTime()-used).Microseconds())/float64(b.N), "cpu-µs/poll")
}

// BenchmarkOrder asks what ordering a channel costs, as at a start; ns/op counts.
//
//	go test -bench '^BenchmarkOrder$' -run '^$' ./engine
func BenchmarkOrder(b *testing.B) {
	s := newChannels(Config{}.withDefaults())
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		s.order(testOrder(i, 1), 1e18)
		i++
	}
}

// BenchmarkStart asks what a start costs the engine at a million channels: the
// ledger's rows, then an order for each in pages of 256. cpu-ms counts, for all of
// them, of the whole process: collecting garbage is a part of it.
//
//	TMPDIR=. go test -bench '^BenchmarkStart$' -run '^$' -benchtime 3x ./engine
func BenchmarkStart(b *testing.B) {
	c := Config{Dir: b.TempDir()}.withDefaults()
	orders := make([]Order, million)
	writeLedger(b, c, orders)
	var read, ordered time.Duration
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		b.StartTimer()
		begun := processTime()
		e := &Engine{config: c}
		e.mu.channels = newChannels(c)
		l, err := store.OpenLedger(c.store(), store.NewMetrics(), e.mu.channels.restorer(1e18))
		if err != nil {
			b.Fatal(err)
		}
		read += processTime() - begun
		begun = processTime()
		e.Order(orders...)
		ordered += processTime() - begun
		l.Close()
	}
	b.ReportMetric(float64(read.Milliseconds())/float64(b.N), "read-cpu-ms")
	b.ReportMetric(float64(ordered.Milliseconds())/float64(b.N), "order-cpu-ms")
}

func writeLedger(b *testing.B, c Config, orders []Order) {
	b.Helper()
	l, err := store.OpenLedger(c.store(), store.NewMetrics(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for i := range orders {
		url := fmt.Sprintf("https://host%d.example/some/path/feed%d.xml", i/10, i)
		orders[i] = Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: 1, Held: true}
		l.WriteChannel(int32(i+1), &store.ChannelRow{ID: orders[i].Channel, Incarnation: 1, LastPoll: 1e18 - 1})
	}
}
