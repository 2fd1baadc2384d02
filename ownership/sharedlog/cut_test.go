package sharedlog

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"pgregory.net/rapid"
)

// TestCutLog: bad-input.md, row 59. A log that was idle, or was closed, is refused or
// has every entry when one of its appended files or the mark ends too early, has zeros
// at its end, or has another bit. Its entries are in write-ahead files and in sorted
// files that the manifest names; TestDamagedTable damages those.
func TestCutLog(t *testing.T) {
	for name, rest := range map[string]func(*Log) error{
		"idle":   func(*Log) error { time.Sleep(3 * time.Second); return nil },
		"closed": (*Log).Close,
	} {
		t.Run(name, func(t *testing.T) {
			left, want := restedLog(t, rest)
			names := appendedFiles(t, left)
			refused := 0
			rapid.Check(t, func(rt *rapid.T) {
				damaged := drawDamage(rt, t, left, names)
				have, err := countEntries(t, damaged)
				switch {
				case errors.Is(err, disk.ErrCorrupt):
					refused++
				case err != nil:
					rt.Errorf("%v, want ErrCorrupt", err)
				case have != want:
					rt.Errorf("%d entries, want %d", have, want)
				}
			})
			if refused == 0 {
				t.Error("no damage was refused")
			}
		})
	}
}

const cutGroups = 3

// restedLog is what is on disk after a log was written and came to rest.
func restedLog(t *testing.T, rest func(*Log) error) (left *vfs.MemFS, entries int) {
	t.Helper()
	left = vfs.NewMem()
	synctest.Test(t, func(t *testing.T) {
		files := vfs.NewMem()
		log, err := Open(Config{Dir: "log", Files: files, MemTable: 64 << 10, Logger: quiet{t}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 240 {
			g := group(t, log, uint32(i%cutGroups))
			_, last := g.ends()
			if err := g.StoreLog(&raft.Log{Index: last + 1, Data: make([]byte, 100+i*13%1900)}); err != nil {
				t.Fatal(err)
			}
			entries++
		}
		if err := rest(log); err != nil {
			t.Fatal(err)
		}
		copyFiles(t, left, files, func(_ string, content []byte) []byte { return content })
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return left, entries
}

// appendedFiles are the mark and the files that it is about.
func appendedFiles(t *testing.T, files vfs.FS) (paths []string) {
	t.Helper()
	names, err := files.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if isWAL(name) || isManifest(name) || name == markName {
			paths = append(paths, files.PathJoin("log", name))
		}
	}
	return paths
}

// drawDamage copies the files and damages one of them.
func drawDamage(rt *rapid.T, t *testing.T, left *vfs.MemFS, paths []string) *vfs.MemFS {
	t.Helper()
	path := rapid.SampledFrom(paths).Draw(rt, "file")
	kind := rapid.SampledFrom([]string{"cut", "zeros", "flip"}).Draw(rt, "damage")
	damaged := vfs.NewMem()
	copyFiles(t, damaged, left, func(name string, content []byte) []byte {
		if name != path {
			return content
		}
		at := rapid.IntRange(0, max(len(content)-1, 0)).Draw(rt, "at")
		switch kind {
		case "cut":
			return content[:at]
		case "zeros":
			clear(content[at:])
		case "flip":
			content[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		}
		return content
	})
	return damaged
}

// countEntries counts what all groups can read.
func countEntries(t *testing.T, files vfs.FS) (have int, err error) {
	t.Helper()
	log, err := Open(Config{Dir: "log", Files: files, MemTable: 64 << 10, Logger: quiet{t}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for id := range uint32(cutGroups) {
		g, err := log.Group(id)
		if err != nil {
			return 0, err
		}
		for index := uint64(1); ; index++ {
			if err := g.GetLog(index, new(raft.Log)); errors.Is(err, raft.ErrLogNotFound) {
				break
			} else if err != nil {
				return 0, err
			}
			have++
		}
	}
	return have, nil
}
