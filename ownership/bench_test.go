package ownership

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

func bulkWishes(n, channels, from int, keyed bool) []NewSubscription {
	wishes := make([]NewSubscription, n)
	for i := range wishes {
		url := fmt.Sprintf("http://host%d.example/feed/%d.xml", (from+i)%channels%1000, (from+i)%channels)
		wishes[i] = NewSubscription{
			URL: url, Channel: channel.IDOf(url),
			Sink: Sink{Type: SinkWebhook, URL: fmt.Sprintf("http://sink%d.example/hook", i%100)},
		}
		if keyed {
			wishes[i].Key = fmt.Sprintf("key-%d", from+i)
		}
	}
	return wishes
}

// benchConfig is of a node as it is by default.
func benchConfig(b *testing.B) Config { return Config{Dir: b.TempDir() + "/ownership", Node: "one"} }

// BenchmarkBulkSubscribe asks how many durable subscriptions a node takes per
// second: 1,000,000 over 100,000 channels, in batches of 10,000 by two clients.
//
//	go test -run '^$' -bench BulkSubscribe -benchtime 1x ./ownership
//
// The figure is subs/s.
func BenchmarkBulkSubscribe(b *testing.B) {
	const total, batch, channels, clients = 1_000_000, 10_000, 100_000, 2
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%v", keyed), func(b *testing.B) {
			for range b.N {
				s := open(b, benchConfig(b))
				cpu := cpuSeconds(b)
				b.ResetTimer()
				var running sync.WaitGroup
				for c := range clients {
					running.Go(func() {
						for from := c * batch; from < total; from += clients * batch {
							subscribeAll(b, s, bulkWishes(batch, channels, from, keyed))
						}
					})
				}
				running.Wait()
				b.StopTimer()
				b.ReportMetric(total/b.Elapsed().Seconds(), "subs/s")
				b.ReportMetric((cpuSeconds(b)-cpu)/total*1e6, "cpu-µs/sub")
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func subscribeAll(tb testing.TB, s *Store, wishes []NewSubscription) {
	for _, r := range s.Subscribe(context.Background(), wishes) {
		if r.Err != nil {
			tb.Error(r.Err)
			return
		}
	}
}

// BenchmarkSubscribe asks how long one durable subscription takes while 64
// clients make them one by one.
//
//	go test -run '^$' -bench '^BenchmarkSubscribe$' -benchtime 200000x ./ownership
//
// The figures are p50-ms and p99-ms.
func BenchmarkSubscribe(b *testing.B) {
	const clients = 64
	s := open(b, benchConfig(b))
	wishes := bulkWishes(b.N, 100_000, 0, true)
	took := make([]time.Duration, b.N)
	cpu := cpuSeconds(b)
	b.ResetTimer()
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			for i := c; i < b.N; i += clients {
				began := time.Now()
				subscribeAll(b, s, wishes[i:i+1])
				took[i] = time.Since(began)
			}
		})
	}
	running.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "subs/s")
	b.ReportMetric((cpuSeconds(b)-cpu)/float64(b.N)*1e6, "cpu-µs/sub")
}

// cpuSeconds is what the process has used: on a busy machine it says more than
// the clock.
func cpuSeconds(tb testing.TB) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// BenchmarkReopen asks how long a start takes after a kill and after a stop, with
// 1,000,000 channels of one subscription each.
//
//	go test -run '^$' -bench Reopen -benchtime 1x ./ownership
//
// The figures are killed-s, stopped-s, and stop-s (closing).
func BenchmarkReopen(b *testing.B) {
	const total, batch = 1_000_000, 10_000
	cfg := benchConfig(b)
	s := open(b, cfg)
	for from := 0; from < total; from += batch {
		subscribeAll(b, s, bulkWishes(batch, total, from, false))
	}
	for b.Loop() {
		killed := cfg
		killed.Dir = copyDir(b, cfg.Dir)
		began := time.Now()
		again := open(b, killed)
		b.ReportMetric(time.Since(began).Seconds(), "killed-s")
		began = time.Now()
		shut(b, again)
		b.ReportMetric(time.Since(began).Seconds(), "stop-s")
		began = time.Now()
		again = open(b, killed)
		b.ReportMetric(time.Since(began).Seconds(), "stopped-s")
		if channels, _ := again.Counts(); channels != total {
			b.Fatalf("%d channels", channels)
		}
		shut(b, again)
	}
}
