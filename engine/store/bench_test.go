package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// BenchmarkCacheWrites asks how many bytes the cache writes to a disk (that of
// TMPDIR) for a first content and for a change, and how many it then occupies.
// Contents are 5.5 KB that cannot be packed, as large as packed ones of 14 KB are.
// written-B/op and disk-B/op count; the former by packed-B/op is the write amplification.
//
//	TMPDIR=. go test -bench CacheWrites -run '^$' -benchtime 50000x ./engine/store
func BenchmarkCacheWrites(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(map[bool]string{false: "first", true: "change"}[changes], func(b *testing.B) { benchmarkWrites(b, changes) })
	}
}

func benchmarkWrites(b *testing.B, changes bool) {
	c, err := OpenCache(diskConfig(b), NewMetrics())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var n, packed atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			id, core := channel.IDOf(fmt.Sprint(i)), hexCore(b, i)
			packed.Add(int64(len(c.packer.Append(nil, core))))
			old := Record{Version: 1, Hash: core.Hash}
			if err := c.Adopt(id, old, core); err != nil {
				b.Error(err)
			}
			if !changes {
				continue
			}
			next := hexCore(b, -i)
			if err := c.Stage(id, next); err != nil {
				b.Error(err)
			}
			if err := c.Adopt(id, Record{Version: 2, Hash: next.Hash}, nil, old.Hash); err != nil {
				b.Error(err)
			}
		}
	})
	m := c.db.Metrics()
	var written uint64
	for _, level := range m.Levels {
		written += level.TableBytesFlushed + level.TableBytesCompacted
	}
	b.ReportMetric(float64(packed.Load())/float64(b.N), "packed-B/op")
	b.ReportMetric(float64(written+m.WAL.BytesWritten)/float64(b.N), "written-B/op")
	b.ReportMetric(float64(m.DiskSpaceUsage())/float64(b.N), "disk-B/op")
}

// hexCore is a content that is as large packed as unpacked.
func hexCore(b *testing.B, seed int64) *deltas.Core {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var text []byte
	for len(text) < 5_400 {
		text = fmt.Appendf(text, "%016x%016x%016x\n", random.Uint64(), random.Uint64(), random.Uint64())
	}
	core, err := deltas.Extract(deltas.Document{Body: text, ContentType: "text/plain"})
	if err != nil {
		b.Fatal(err)
	}
	return core
}

// BenchmarkLedger asks what it costs to note a poll before it begins, in a file of
// a million rows (on the disk of TMPDIR); ns/op counts, beside BenchmarkNotModified.
//
//	TMPDIR=. go test -bench '^Benchmark(Ledger|NotModified)$' -run '^$' ./engine/...
func BenchmarkLedger(b *testing.B) {
	const rows = 1_000_000
	l, err := OpenLedger(diskConfig(b), NewMetrics(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	row, i := ChannelRow{LastPoll: 1}, int32(0)
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % rows
		l.WriteChannel(1+i, &row)
	}
}

// BenchmarkFirstContent asks how fast first contents get into the cache, as when
// a list is imported: 5 KB each, packed and written by 256 workers on a real disk
// (that of TMPDIR). ns/op is the time per content.
//
//	TMPDIR=. go test -bench '^BenchmarkFirstContent$' -run '^$' -benchtime 50000x ./engine/store
func BenchmarkFirstContent(b *testing.B) {
	c, err := OpenCache(diskConfig(b), NewMetrics())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
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
			if err := c.Adopt(id, Record{Version: 1, Hash: core.Hash}, core); err != nil {
				b.Error(err)
			}
		}
	})
}

// diskConfig is a configuration of a store on the disk of TMPDIR.
func diskConfig(b *testing.B) Config {
	c := testConfig(vfs.Default)
	c.Dir, c.CacheMemory = b.TempDir(), 32<<20
	return c
}
