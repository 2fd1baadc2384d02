package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// Records are read behind a start, before there are orders, and count only for the
// version that is committed. One that cannot be read costs that channel a full GET.
func TestRecall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 2*recallBatch + 10
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second})
		defer func() { w.close() }()
		for i := range size {
			w.origins[testURL(i)] = &origin{status: 200, body: fmt.Sprint("text ", i), etag: fmt.Sprint("e", i), maxAge: 20 * time.Second}
		}
		for i := range size {
			w.engine.Order(orderURL(testURL(i)))
		}
		w.pass(3 * time.Minute)
		if err := w.engine.cache.DB().Set(store.RecordKey(channel.IDOf(testURL(3))), []byte("none"), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		w.restart()
		for i := range size {
			o := orderURL(testURL(i))
			w.mu.Lock() // polls begin with the first order
			o.Version, o.Hash = w.own(o.Channel).version, w.own(o.Channel).hash()
			w.mu.Unlock()
			switch i {
			case 1:
				o.Version, o.Hash = 2, coreOf(t, "another").Hash
			case 2:
				o.Incarnation = 7
			}
			w.engine.Order(o)
		}
		w.engine.mu.Lock()
		defer w.engine.mu.Unlock()
		for i := range size {
			c := w.engine.mu.channels.index.get(channel.IDOf(testURL(i)))
			if held := c.Channel.loaded && c.Channel.holding.Texts.HasValidators(); held != (i == 0 || i > 3) {
				t.Errorf("channel %d: loaded %v, holding %+v", i, c.Channel.loaded, c.Channel.holding)
			}
			if words := c.Channel.words; (words != nil && c.Waits(c.LastPoll())) != (i != 2 && i != 3) {
				t.Errorf("channel %d: words %+v, which hold it back: %v", i, words, c.Waits(c.LastPoll()))
			}
		}
	})
}

// Load says that a start is not over: while records are read, and for an interval.
func TestLoadWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(Config{Dir: "cache", Interval: time.Minute, fs: vfs.NewCrashableMem()}, nil, deafOwner{}, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, err := e.start(ctx, cancel)
		if err != nil {
			t.Fatal(err)
		}
		starting := func(when string, want bool) {
			t.Helper()
			if e.Load().Starting != want {
				t.Errorf("%s: starting %v, want %v", when, !want, want)
			}
		}
		time.Sleep(2 * time.Minute)
		starting("before all is read", true)
		(&recaller{e}).run(ctx)
		starting("when all is read after an interval", false)
		e.mu.began = wallNow()
		starting("within an interval", true)
		close(done)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkRecall asks what it costs to have a record in memory after a start: all of
// them in the order of their keys, or each by itself in a random order, as polls would.
// 300,000 channels with contents of 1 KB beside, on the disk of TMPDIR; ns/record of
// the wall clock and cpu-ns/record count.
//
//	TMPDIR=. go test -bench '^BenchmarkRecall$' -run '^$' -benchtime 1x ./engine
func BenchmarkRecall(b *testing.B) {
	const size = 300_000
	config := Config{Dir: b.TempDir()}.withDefaults()
	ids := writeRecords(b, config, size)
	b.Run("in order", func(b *testing.B) {
		benchmarkRecall(b, config, ids, func(e *Engine) {
			for last, more := (channel.ID{}), true; more; {
				var found []store.Recorded
				found, last, more, _ = e.cache.Records(last, recallBatch)
				(&recaller{e}).some(found)
			}
		})
	})
	b.Run("one by one", func(b *testing.B) {
		benchmarkRecall(b, config, ids, func(e *Engine) {
			for _, i := range rand.Perm(size) {
				t := e.mu.channels.index.get(ids[i])
				e.load(&poll{Poll: schedule.Poll[channelState]{Target: t}, id: t.ID})
			}
		})
	})
}

func benchmarkRecall(b *testing.B, config Config, ids []channel.ID, read func(*Engine)) {
	for b.Loop() {
		e, err := Open(config, nil, deafOwner{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		for i, id := range ids {
			o := testOrder(i, 1)
			o.Channel, o.URL, o.Hash = id, recordURL(i), deltas.Hash{1}
			e.Order(*o)
		}
		begun, used := time.Now(), processTime()
		read(e)
		b.ReportMetric(float64(time.Since(begun).Nanoseconds())/float64(len(ids)), "ns/record")
		b.ReportMetric(float64((processTime()-used).Nanoseconds())/float64(len(ids)), "cpu-ns/record")
		for t := range e.mu.channels.index.all() {
			if !t.Channel.holding.OK {
				b.Fatal("a record was not read")
			}
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func recordURL(i int) string {
	return fmt.Sprintf("https://host%d.example/some/path/feed%d.xml", i/10, i)
}

// writeRecords fills a cache, and returns the channels that are in it.
func writeRecords(b *testing.B, config Config, size int) []channel.ID {
	b.Helper()
	c, err := store.OpenCache(config.store(), store.NewMetrics())
	if err != nil {
		b.Fatal(err)
	}
	ids, content := make([]channel.ID, size), make([]byte, 1000)
	random := rand.NewChaCha8([32]byte{})
	for i := range ids {
		ids[i] = channel.IDOf(recordURL(i))
		r := store.Record{Incarnation: 1, Version: 1, Hash: deltas.Hash{1}, Lifetime: time.Minute, Source: fetcher.SourceMaxAge}
		r.Holding = store.Holding{RawHash: 1, Texts: store.NewTexts(fmt.Sprintf(`"%032d"`, i), "Wed, 21 Oct 2015 07:28:00 GMT", "", "")}
		random.Read(content)
		err := c.SetRecord(ids[i], r)
		if err == nil {
			err = c.DB().Set(store.ContentKey(ids[i], r.Hash), content, pebble.NoSync)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	return ids
}
