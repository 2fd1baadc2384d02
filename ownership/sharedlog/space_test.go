package sharedlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// TestPinned: a group that never truncates keeps its own entries, and no space of
// the others.
func TestPinned(t *testing.T) {
	files := vfs.NewMem()
	log, err := Open(Config{Dir: "log", Files: files, FullBytes: 1 << 20, MemTable: 2 << 20, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	pinned, busy := group(t, log, 1), group(t, log, 2)
	store(t, pinned, 100, 1000)
	rounds, most := 0, 0
	for rounds < 50 {
		store(t, busy, 1, 64<<10)
		select {
		case <-log.Full():
			first, last := busy.ends()
			if err := errors.Join(busy.DeleteRange(first, last), log.Truncated()); err != nil {
				t.Fatal(err)
			}
			rounds++
			most = max(most, space(t, files))
		default:
		}
	}
	if most > 10<<20 {
		t.Errorf("%d bytes on disk after %d rounds of 1 MiB", most, rounds)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = Open(Config{Dir: "log", Files: files, Logger: quiet{t}}); err != nil {
		t.Fatal(err)
	}
	pinned = group(t, log, 1)
	for index := range uint64(100) {
		if err := pinned.GetLog(index+1, new(raft.Log)); err != nil {
			t.Fatalf("entry %d: %v", index+1, err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHole: an entry that is missing between others is damage, one outside of them
// is not.
func TestHole(t *testing.T) {
	log := testLog(t)
	g := group(t, log, 1)
	store(t, g, 9, 10)
	if err := log.db.Delete(entryKey(1, 5), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := g.GetLog(5, new(raft.Log)); !errors.Is(err, disk.ErrCorrupt) || g.Damage() == nil {
		t.Errorf("missing entry: %v", err)
	}
	if err := g.GetLog(10, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("entry after the last: %v", err)
	}
}

// TestDamagedTable: bad-input.md, row 59. Entries that were written out as a sorted
// file and changed there are not returned.
func TestDamagedTable(t *testing.T) {
	files := vfs.NewMem()
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	store(t, group(t, log, 1), 20, 500)
	if err := errors.Join(log.Truncated(), log.Close()); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < 8000; at += 997 {
		damaged := vfs.NewMem()
		copyFiles(t, damaged, files, func(path string, content []byte) []byte {
			if strings.HasSuffix(path, ".sst") {
				content[at] ^= 4
			}
			return content
		})
		if have, err := readable(t, damaged, 20); have < 20 && !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("bit at %d: %d entries, %v", at, have, err)
		} else if have == 20 {
			t.Errorf("bit at %d went unnoticed", at)
		}
	}
}

// readable counts the entries of group 1 from the first on, until an error.
func readable(t *testing.T, files vfs.FS, want uint64) (have uint64, err error) {
	t.Helper()
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	g, err := log.Group(1)
	if err != nil {
		return 0, err
	}
	for have < want {
		if err := g.GetLog(have+1, new(raft.Log)); err != nil {
			return have, fmt.Errorf("entry %d: %w", have+1, err)
		}
		have++
	}
	return have, nil
}

// TestTail: the newest entries, by their number and by their bytes.
func TestTail(t *testing.T) {
	g := group(t, testLog(t), 1)
	store(t, g, 5, 1000)
	for _, test := range []struct{ bytes, most, want int }{
		{0, 9, 0}, {1000, 9, 0}, {1000 + entryHead, 9, 1}, {3500, 9, 3}, {1 << 20, 2, 2}, {1 << 20, 9, 5},
	} {
		if n, err := g.Tail(test.bytes, test.most); n != test.want || err != nil {
			t.Errorf("at most %d bytes and %d entries: %d, %v; want %d", test.bytes, test.most, n, err, test.want)
		}
	}
	if err := g.DeleteRange(1, 5); err != nil {
		t.Fatal(err)
	}
	if n, err := g.Tail(1<<20, 9); n != 0 || err != nil {
		t.Errorf("of an empty log %d, %v", n, err)
	}
}

func group(t *testing.T, log *Log, id uint32) *Group {
	t.Helper()
	g, err := log.Group(id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// store appends entries of so many bytes.
func store(t *testing.T, g *Group, entries, bytes int) {
	t.Helper()
	for range entries {
		_, last := g.ends()
		if err := g.StoreLog(&raft.Log{Index: last + 1, Data: make([]byte, bytes)}); err != nil {
			t.Fatal(err)
		}
	}
}

// space is the bytes of all files.
func space(t *testing.T, files vfs.FS) (total int) {
	t.Helper()
	names, err := files.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := files.Stat(files.PathJoin("log", name)); err == nil { // it may be gone
			total += int(info.Size())
		}
	}
	return total
}
