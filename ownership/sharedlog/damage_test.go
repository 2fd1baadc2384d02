package sharedlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// TestAnyDamage: bad-input.md, row 59. Wherever a bit of the write-ahead file
// changes, the log opens with all that was acknowledged or refuses, and it never
// opens with less; here they span two of its blocks. Only the newest write may pass
// for one that power loss cut, since pebble had noted that the ones before were synced.
func TestAnyDamage(t *testing.T) {
	files, written := writtenLog(t)
	for at := 0; at < written[39]; at += 101 {
		have, err := reopened(t, files, func(content []byte) []byte {
			content[at] ^= 0x10
			return content
		})
		if errors.Is(err, disk.ErrCorrupt) {
			continue
		}
		if err != nil {
			t.Fatalf("bit at %d: %v", at, err)
		}
		if have < 39 || have < 40 && at < written[38] {
			t.Errorf("bit at %d of %d: %d of 40 acknowledged entries are left", at, written[39], have)
		}
	}
}

// TestAnyCut: a write-ahead file that ends anywhere within its newest write opens
// with everything before it.
func TestAnyCut(t *testing.T) {
	files, written := writtenLog(t)
	for end := written[38]; end <= written[39]; end++ {
		want := 39
		if end == written[39] {
			want = 40
		} else if end > written[38]+30 && end%41 != 0 {
			continue
		}
		for _, rest := range []int{0, 100} { // bytes of zeros, as of a file that was allocated
			have, err := reopened(t, files, func(content []byte) []byte { return append(content[:end:end], make([]byte, rest)...) })
			if err != nil || have != want {
				t.Errorf("end at %d of %d, %d zeros: %d entries, %v; want %d", end, written[39], rest, have, err, want)
			}
		}
	}
}

// writtenLog is the files of a log with 40 entries, each synced for itself, and how
// long its write-ahead file was after each.
func writtenLog(t *testing.T) (killed *vfs.MemFS, written [40]int) {
	t.Helper()
	killed = vfs.NewMem()
	synctest.Test(t, func(t *testing.T) { written = writeLog(t, killed) })
	return killed, written
}

// writeLog leaves in killed what is there when the process is killed.
func writeLog(t *testing.T, killed *vfs.MemFS) (written [40]int) {
	t.Helper()
	files := vfs.NewMem()
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := log.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range written {
		if err := g.StoreLog(&raft.Log{Index: uint64(i + 1), Data: bytes.Repeat([]byte{0xA5}, 900)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for pebble to note that it is synced
		content := walFile(t, files)
		written[i] = used(content)
	}
	copyFiles(t, killed, files, func(_ string, content []byte) []byte { return content })
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return written
}

// reopened opens a copy whose newest write-ahead file is changed, and counts the
// entries that can be read.
func reopened(t *testing.T, from *vfs.MemFS, change func([]byte) []byte) (have int, err error) {
	t.Helper()
	names, err := from.List("log")
	if err != nil {
		t.Fatal(err)
	}
	wal := from.PathJoin("log", newestWAL(names))
	files := vfs.NewMem()
	copyFiles(t, files, from, func(path string, content []byte) []byte {
		if path == wal {
			return change(content)
		}
		return content
	})
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	g, err := log.Group(1)
	if err != nil {
		return 0, err
	}
	for {
		if err := g.GetLog(uint64(have+1), new(raft.Log)); errors.Is(err, raft.ErrLogNotFound) {
			return have, nil
		} else if err != nil {
			return have, err
		}
		have++
	}
}

func copyFiles(t *testing.T, to, from *vfs.MemFS, change func(path string, content []byte) []byte) {
	t.Helper()
	names, err := from.List("log")
	if err != nil {
		t.Fatal(err)
	}
	if err := to.MkdirAll("log", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := from.PathJoin("log", name)
		content, err := readWhole(from, path)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, to, path, change(path, content))
	}
}

func writeFile(t *testing.T, files vfs.FS, path string, content []byte) {
	t.Helper()
	file, err := files.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, bytes.NewReader(content))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(fmt.Errorf("write %s: %w", path, err))
	}
}

// TestDropDamaged: what the log has of a group can be dropped though it cannot be read, and
// the entries of other groups are as they were. Then no compaction meets the damage. Damage
// where the file would have to be cut is refused: pebble would drop the group before.
func TestDropDamaged(t *testing.T) {
	t.Run("in the middle", func(t *testing.T) { dropDamaged(t, 100, true) })
	t.Run("at the edge", func(t *testing.T) { dropDamaged(t, 0, false) })
}

func dropDamaged(t *testing.T, damaged int, drops bool) {
	files := vfs.NewMem()
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	const entries = 200
	groups := make([]*Group, 3)
	for id := range groups {
		if groups[id], err = log.Group(uint32(id)); err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			entry := &raft.Log{Index: uint64(i + 1), Term: 1, Data: bytes.Repeat([]byte{byte(id + 1), byte(i)}, 500)}
			if err := groups[id].StoreLog(entry); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := log.db.Flush(); err != nil {
		t.Fatal(err)
	}
	flipIn(t, files, bytes.Repeat([]byte{2, byte(damaged)}, 500)) // in an entry of group 1
	if err := groups[1].GetLog(uint64(damaged+1), new(raft.Log)); !errors.Is(err, disk.ErrCorrupt) {
		t.Fatalf("an entry of the damaged block: %v", err) // or the test shows nothing
	}
	if err := log.Drop(1); (err == nil) != drops || err != nil && !errors.Is(err, disk.ErrCorrupt) {
		t.Fatal(err)
	}
	if err := groups[0].StoreLog(&raft.Log{Index: entries + 1, Term: 1}); err != nil {
		t.Fatal(err)
	}
	if err := log.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if drops {
		if err := log.db.Compact(t.Context(), []byte{0}, []byte{0xFF}, false); err != nil {
			t.Errorf("compaction: %v", err)
		}
	}
	for _, id := range []int{0, 2} {
		for i := range entries {
			if err := groups[id].GetLog(uint64(i+1), new(raft.Log)); err != nil {
				t.Fatalf("group %d, entry %d: %v", id, i+1, err)
			}
		}
	}
	if !drops {
		return
	}
	again, err := log.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if last, _ := again.LastIndex(); last != 0 {
		t.Errorf("the dropped group has %d entries", last)
	}
}

// flipIn flips a bit in the first place of a sorted file that has content.
func flipIn(t *testing.T, files *vfs.MemFS, content []byte) {
	t.Helper()
	names, err := files.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := files.PathJoin("log", name)
		all, err := readWhole(files, path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(all, content)
		if at < 0 || !bytes.HasSuffix([]byte(name), []byte(".sst")) {
			continue
		}
		file, err := files.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteAt([]byte{all[at] ^ 1}, int64(at))
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no sorted file has the content")
}
