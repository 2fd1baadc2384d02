package engine

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// BenchmarkCacheWrites asks how many bytes the cache writes to a disk (that of
// TMPDIR) for a first content and for a change, and how many it then occupies.
// Contents are 5.5 KB that cannot be packed, as large as packed ones of 14 KB are.
// written-B/op and disk-B/op count; the former by packed-B/op is the write amplification.
//
//	TMPDIR=. go test -bench CacheWrites -run '^$' -benchtime 50000x ./engine
func BenchmarkCacheWrites(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(map[bool]string{false: "first", true: "change"}[changes], func(b *testing.B) { benchmarkWrites(b, changes) })
	}
}

func benchmarkWrites(b *testing.B, changes bool) {
	c, err := openCache(Config{Dir: b.TempDir()}.withDefaults(), newMetrics())
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	var n, packed atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			id, core := channel.IDOf(fmt.Sprint(i)), hexCore(b, i)
			packed.Add(int64(len(c.packer.Append(nil, core))))
			old := record{version: 1, hash: core.Hash}
			if err := c.adopt(id, old, core); err != nil {
				b.Error(err)
			}
			if !changes {
				continue
			}
			next := hexCore(b, -i)
			if err := c.stage(id, next); err != nil {
				b.Error(err)
			}
			if err := c.adopt(id, record{version: 2, hash: next.Hash}, nil, old.hash); err != nil {
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
