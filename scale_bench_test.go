//go:build unix

package corona

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/notify"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
)

// BenchmarkScale asks what replicated state costs in memory, at start and at stop:
// the store, the primary owner and the notifier, without a poller. The operations
// are subscriptions with a webhook: one of a channel, or fifty.
//
//	go test -run '^$' -bench 'Scale/each=1$' -benchtime 1000000x .
//	go test -run '^$' -bench 'Scale/each=50' -benchtime 5000000x .
//
// The figures, all of one operation: *-heap-B, what a part keeps on the heap after
// a collection; *-rss-B, what the process has grown by; *-wall-s and *-cpu-s, of
// each step.
func BenchmarkScale(b *testing.B) {
	for _, each := range []int{1, 50} {
		b.Run(fmt.Sprintf("each=%d", each), func(b *testing.B) { scale(b, each) })
	}
}

func scale(b *testing.B, each int) {
	cfg := ownership.Config{Dir: b.TempDir() + "/ranges", Node: "one"}
	m := newMeter(b)
	store := openScale(b, cfg)
	fill(b, store, max(b.N/each, 1))
	m.end("fill")
	mustClose(b, store)
	m.end("stop-filled")

	m = newMeter(b)
	events := new(observer)
	cfg.Observer = events
	store = openScale(b, cfg)
	m.end("open")
	owner := primary.New(primary.Config{
		Interval: time.Minute, Floor: time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}, store, prometheus.NewRegistry())
	notifier, err := notify.New(notify.Config{Stream: stream.Config{Epoch: 1}}, notify.Stores{Webhooks: store, Streams: store}, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	events.connect(parties{owner: owner, notifier: notifier})
	if err := owner.Start(idlePoller{}); err != nil {
		b.Fatal(err)
	}
	m.end("primary")
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(3*time.Second, stop) // the scan at start is shorter, or its part is measured
	notifier.Run(ctx)
	m.end("notify")
	mustClose(b, store)
	m.end("stop")
	runtime.KeepAlive(owner)
}

// idlePoller polls nothing.
type idlePoller struct{}

func (idlePoller) Begin(channel.Range, uint64)                {}
func (idlePoller) Complete(channel.Range)                     {}
func (idlePoller) End(channel.Range)                          {}
func (idlePoller) Order(...engine.Order)                      {}
func (idlePoller) Repace(...engine.Pace) (whole []channel.ID) { return nil }
func (idlePoller) Drop(...channel.ID)                         {}
func (idlePoller) Wait()                                      {}

func openScale(b *testing.B, cfg ownership.Config) *ownership.Store {
	store, err := ownership.Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	return store
}

func mustClose(b *testing.B, store *ownership.Store) {
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

// fill makes b.N subscriptions on some channels.
func fill(b *testing.B, store *ownership.Store, channels int) {
	const batch = 10_000
	for from := 0; from < b.N; from += batch {
		wishes := make([]ownership.NewSubscription, min(batch, b.N-from))
		for i := range wishes {
			url := fmt.Sprintf("http://host%d.example/feed/%d.xml", (from+i)%channels%1000, (from+i)%channels)
			wishes[i] = ownership.NewSubscription{
				URL: url, Channel: channel.IDOf(url),
				Sink: channel.Sink{Type: channel.SinkWebhook, URL: fmt.Sprintf("http://sink%d.example/hook", i%100)},
			}
		}
		for _, r := range store.Subscribe(context.Background(), wishes) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
}

// meter measures the steps of a process.
type meter struct {
	b         *testing.B
	heap, rss uint64
	wall      time.Time
	cpu       time.Duration
}

func newMeter(b *testing.B) *meter {
	m := &meter{b: b}
	m.take()
	return m
}

func (m *meter) take() {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.heap, m.rss, m.wall, m.cpu = stats.HeapAlloc, resident(m.b), time.Now(), processor(m.b)
}

// end reports the step that ends now, and begins the next.
func (m *meter) end(step string) {
	wall, cpu := time.Since(m.wall), processor(m.b)-m.cpu
	before := *m
	m.take()
	m.b.ReportMetric((float64(m.heap)-float64(before.heap))/float64(m.b.N), step+"-heap-B")
	m.b.ReportMetric((float64(m.rss)-float64(before.rss))/float64(m.b.N), step+"-rss-B")
	m.b.ReportMetric(wall.Seconds(), step+"-wall-s")
	m.b.ReportMetric(cpu.Seconds(), step+"-cpu-s")
}

func resident(b *testing.B) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("no /proc:", err)
	}
	var size, pages uint64
	if _, err := fmt.Fscan(bytes.NewReader(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
