//go:build unix

package sharedlog

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// BenchmarkTruncate asks how long an append of one group waits while 64 others
// truncate 64 MiB at once. The figures are the longest append in ms, with and
// without the truncation.
//
//	go test -run '^$' -bench Truncate -benchtime 10x ./ownership/sharedlog
func BenchmarkTruncate(b *testing.B) {
	for _, truncate := range []bool{false, true} {
		b.Run(fmt.Sprintf("truncate=%v", truncate), func(b *testing.B) {
			_, log, groups := benchLog(b, 65)
			var waits []time.Duration
			for range b.N {
				b.StopTimer()
				var filling sync.WaitGroup
				for _, g := range groups[1:] {
					filling.Go(func() { fill(b, g, 16, 64<<10) })
				}
				filling.Wait()
				b.StartTimer()
				waits = append(waits, longestAppend(b, groups[0], func() {
					if !truncate {
						time.Sleep(100 * time.Millisecond)
						return
					}
					truncateAll(b, log, groups[1:])
				}))
			}
			slices.Sort(waits)
			b.ReportMetric(waits[len(waits)-1].Seconds()*1000, "longest-ms")
			b.ReportMetric(waits[len(waits)/2].Seconds()*1000, "median-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// longestAppend appends until other has run and a bit longer.
func longestAppend(b *testing.B, g *Group, other func()) (longest time.Duration) {
	done := make(chan struct{})
	go func() { defer close(done); other(); time.Sleep(20 * time.Millisecond) }()
	for {
		select {
		case <-done:
			return longest
		default:
		}
		began := time.Now()
		fill(b, g, 1, 256)
		longest = max(longest, time.Since(began))
	}
}

// BenchmarkWrites asks how many bytes go to the disk for a byte of entries when the
// log is truncated as often as it asks for it, and how much space it takes: for 16
// groups, an operation is a MiB. It starts when the log has been full twice.
//
//	go test -run '^$' -bench Writes -benchtime 1024x ./ownership/sharedlog
func BenchmarkWrites(b *testing.B) {
	for _, size := range []int{256, 4 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("entry=%d", size), func(b *testing.B) {
			dir, log, groups := benchLog(b, 16)
			round := func() (grown int, cpu time.Duration, full bool) {
				before := processor(b)
				for _, g := range groups {
					fill(b, g, max(1<<20/len(groups)/size, 1), size)
					grown += max(1<<20/len(groups)/size, 1) * size
				}
				select {
				case <-log.Full():
					truncateAll(b, log, groups)
					full = true
				default:
				}
				return grown, processor(b) - before, full
			}
			for times := 0; times < 4; {
				if _, _, full := round(); full {
					times++
				}
			}
			var total int
			var space int64
			var spent time.Duration
			written := diskWritten(b)
			b.ResetTimer()
			for total < b.N<<20 {
				grown, cpu, _ := round()
				total, spent = total+grown, spent+cpu
				space = max(space, diskSpace(b, dir))
			}
			b.StopTimer()
			b.ReportMetric(float64(diskWritten(b)-written)/float64(total), "written-B/B")
			b.ReportMetric(float64(space)/(1<<20), "most-MiB")
			b.ReportMetric(float64(spent.Microseconds())/(float64(total)/(1<<20)), "cpu-µs/MiB")
		})
	}
}

func benchLog(b *testing.B, groups int) (dir string, log *Log, all []*Group) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "log")
	log, err := Open(Config{Dir: dir, FullBytes: 64 << 20, Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	})
	all = make([]*Group, groups)
	for id := range all {
		if all[id], err = log.Group(uint32(id)); err != nil {
			b.Fatal(err)
		}
	}
	return dir, log, all
}

// fill appends entries in batches of up to 64.
func fill(b *testing.B, g *Group, entries, size int) {
	for entries > 0 {
		_, last := g.ends()
		logs := make([]*raft.Log, min(entries, 64))
		for i := range logs {
			logs[i] = &raft.Log{Index: last + 1 + uint64(i), Data: make([]byte, size)}
		}
		if err := g.StoreLogs(logs); err != nil {
			b.Error(err)
			return
		}
		entries -= len(logs)
	}
}

// truncateAll leaves a few entries of each group, as raft does.
func truncateAll(b *testing.B, log *Log, groups []*Group) {
	var truncating sync.WaitGroup
	for _, g := range groups {
		truncating.Go(func() {
			keep, err := g.Tail(256<<10, 8)
			if err != nil {
				b.Error(err)
			}
			first, last := g.ends()
			if err := g.DeleteRange(first, last-uint64(keep)); err != nil {
				b.Error(err)
			}
		})
	}
	truncating.Wait()
	if err := log.Truncated(); err != nil {
		b.Error(err)
	}
}

// diskWritten reads the bytes that this process sent to disks.
func diskWritten(b *testing.B) (bytesWritten uint64) {
	content, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := bytes.Cut(content, []byte("\nwrite_bytes: "))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	if bytesWritten, err = strconv.ParseUint(string(number), 10, 64); err != nil {
		b.Fatal(err)
	}
	return bytesWritten
}

func diskSpace(b *testing.B, dir string) (total int64) {
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // deleted meanwhile
		}
		if info, err := entry.Info(); err == nil {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}

func processor(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
