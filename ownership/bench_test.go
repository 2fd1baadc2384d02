package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

func bulkWishes(n, channels, from int, keyed bool) []NewSubscription {
	wishes := make([]NewSubscription, n)
	for i := range wishes {
		url := fmt.Sprintf("http://host%d.example/feed/%d.xml", (from+i)%channels%1000, (from+i)%channels)
		wishes[i] = NewSubscription{
			URL: url, Channel: channel.IDOf(url),
			Sink: channel.Sink{Type: channel.SinkWebhook, URL: fmt.Sprintf("http://sink%d.example/hook", i%100)},
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
// second, in batches of 10,000 by two clients: all of one channel each, or ten of
// a channel; with idempotency keys, as corona import sends them, or without.
//
//	go test -run '^$' -bench BulkSubscribe -benchtime 1000000x ./ownership
//
// The figures are subs/s and, on a busy machine, cpu-µs/sub.
func BenchmarkBulkSubscribe(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		for _, each := range []int{1, 10} {
			b.Run(fmt.Sprintf("keyed=%v/each=%d", keyed, each), func(b *testing.B) { bulkSubscribe(b, keyed, each) })
		}
	}
}

func bulkSubscribe(b *testing.B, keyed bool, each int) {
	const batch, clients = 10_000, 2
	wishes := bulkWishes(b.N, max(b.N/each, 1), 0, keyed)
	s := open(b, benchConfig(b))
	cpu := cpuSeconds(b)
	b.ResetTimer()
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			for from := c * batch; from < b.N; from += clients * batch {
				subscribeAll(b, s, wishes[from:min(from+batch, b.N)])
			}
		})
	}
	running.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "subs/s")
	b.ReportMetric((cpuSeconds(b)-cpu)/float64(b.N)*1e6, "cpu-µs/sub")
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
// clients make them one by one, with idempotency keys or without.
//
//	go test -run '^$' -bench '^BenchmarkSubscribe$' -benchtime 200000x ./ownership
//
// The figures are p50-ms and p99-ms.
func BenchmarkSubscribe(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%v", keyed), func(b *testing.B) { subscribeOneByOne(b, keyed) })
	}
}

func subscribeOneByOne(b *testing.B, keyed bool) {
	const clients = 64
	s := open(b, benchConfig(b))
	wishes := bulkWishes(b.N, 100_000, 0, keyed)
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

// BenchmarkReopen asks how long a start takes after a kill, a second or more after the
// last write, and after a stop, with
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
	settle(b, s) // a compaction would take files away from under the copy
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

// BenchmarkForget asks whether mass deletion gives disk space back: of channels
// with one subscription each and some content, nine of ten lose their subscription
// and end.
//
//	go test -run '^$' -bench Forget -benchtime 200000x ./ownership
//
// The figures are before-B, after-B (of each channel at first), and cpu-µs/deletion;
// after-B is read once pebble has nothing more to compact.
func BenchmarkForget(b *testing.B) {
	s := open(b, benchConfig(b))
	wishes := bulkWishes(b.N, b.N, 0, false)
	for from := 0; from < b.N; from += 10_000 {
		subscribeAll(b, s, wishes[from:min(from+10_000, b.N)])
	}
	s.snapshotAll()
	settle(b, s)
	before, cpu := s.db.Metrics().DiskSpaceUsage(), cpuSeconds(b)
	b.ResetTimer()
	forgetAll(b, s, wishes[:b.N/10*9])
	b.StopTimer()
	b.ReportMetric((cpuSeconds(b)-cpu)/float64(b.N/10*9)*1e6, "cpu-µs/deletion")
	s.snapshotAll()
	settle(b, s)
	b.ReportMetric(float64(before)/float64(b.N), "before-B")
	b.ReportMetric(float64(s.db.Metrics().DiskSpaceUsage())/float64(b.N), "after-B")
}

// forgetAll ends channels that have one subscription each, by 64 clients.
func forgetAll(b *testing.B, s *Store, wishes []NewSubscription) {
	const clients = 64
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			for i := c; i < len(wishes); i += clients {
				id := wishes[i].Channel
				members, err := s.Subscribers(id, 0, 1)
				if err == nil {
					err = s.Unsubscribe(b.Context(), members[0].ID)
				}
				ch, chErr := s.Channel(id)
				if err = errors.Join(err, chErr); err == nil {
					err = s.EndChannel(b.Context(), id, ch.Incarnation)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

// settle waits until pebble has compacted what it wants to, a minute at most.
func settle(b *testing.B, s *Store) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for quiet, waited := 0, 0; quiet < 10 && waited < 600; waited++ {
		<-ticker.C
		if quiet++; s.db.Metrics().Compact.NumInProgress > 0 {
			quiet = 0
		}
	}
}

// BenchmarkApply asks what a replica takes to apply a subscription without a key: 1,024
// of them an entry, to any of so many channels that exist.
//
//	go test -run '^$' -bench BenchmarkApply -benchtime 200000x ./ownership
//
// The figure is cpu-µs/sub.
func BenchmarkApply(b *testing.B) {
	for _, channels := range []int{50_000, 200_000} {
		b.Run(fmt.Sprintf("channels=%d", channels), func(b *testing.B) { applySubscriptions(b, channels) })
	}
}

func applySubscriptions(b *testing.B, channels int) {
	const batch = 1024
	m := newMachine(b)
	entry := func(which func(i int) int) []byte {
		wishes := make([]NewSubscription, batch)
		for i := range wishes {
			wishes[i] = wish(fmt.Sprintf("http://host.example/feed/%d.xml", which(i)), "", stream)
		}
		slices.SortFunc(wishes, func(a, b NewSubscription) int { return bytes.Compare(a.Channel[:], b.Channel[:]) })
		items, _ := state.NewItems(wishes)
		return encodeEntry([]*proposal{newProposal(state.EncodeSubscribe(items))})
	}
	apply := func(entries [][]byte) {
		for _, data := range entries {
			if a := m.entry(data); a.err != nil {
				b.Fatal(a.err)
			}
		}
	}
	var first, then [][]byte
	for from := 0; from < channels; from += batch {
		first = append(first, entry(func(i int) int { return (from + i) % channels }))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < b.N; from += batch {
		then = append(then, entry(func(int) int { return random.IntN(channels) }))
	}
	apply(first)
	cpu := cpuSeconds(b)
	b.ResetTimer()
	apply(then)
	b.StopTimer()
	b.ReportMetric((cpuSeconds(b)-cpu)/float64(len(then)*batch)*1e6, "cpu-µs/sub")
}
