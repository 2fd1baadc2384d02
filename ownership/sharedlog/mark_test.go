package sharedlog

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// TestNewestAppend: bad-input.md, row 59. Damage to the newest append is found once the
// log has been idle for a second, or was closed.
func TestNewestAppend(t *testing.T) {
	for name, rest := range map[string]func(*Log) error{
		"idle":   func(*Log) error { time.Sleep(markEvery + time.Millisecond); return nil },
		"closed": (*Log).Close,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := vfs.NewMem()
				log, from, to := oneEntry(t, files)
				if err := rest(log); err != nil {
					t.Fatal(err)
				}
				for _, at := range []int{from, (from + to) / 2, to - 1} {
					have, err := reopened(t, files, func(content []byte) []byte {
						content[at] ^= 1
						return content
					})
					if !errors.Is(err, disk.ErrCorrupt) {
						t.Errorf("bit at %d of %d to %d: %d entries, %v", at, from, to, have, err)
					}
				}
				if have, err := reopened(t, files, func(content []byte) []byte { return content }); have != 1 || err != nil {
					t.Errorf("undamaged: %d entries, %v", have, err)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestDamagedMark: a slot that is torn leaves the other one. Without a slot that can be
// read, or without a file that the mark names, the log is refused.
func TestDamagedMark(t *testing.T) {
	left, want := restedLog(t, (*Log).Close)
	have, err := readMark(left, "log")
	if err != nil {
		t.Fatal(err)
	}
	newest := int(have.count%2) * slotSize
	for name, test := range map[string]struct {
		change  func(files *vfs.MemFS, mark []byte) []byte
		refused bool
	}{
		"untouched":    {func(_ *vfs.MemFS, mark []byte) []byte { return mark }, false},
		"torn":         {func(_ *vfs.MemFS, mark []byte) []byte { clear(mark[newest+20 : newest+slotSize]); return mark }, false},
		"zeroed":       {func(_ *vfs.MemFS, mark []byte) []byte { clear(mark); return mark }, true},
		"empty":        {func(*vfs.MemFS, []byte) []byte { return nil }, true},
		"file is gone": {func(files *vfs.MemFS, mark []byte) []byte { removeNamed(t, files, have, isWAL); return mark }, true},
		"no manifest":  {func(files *vfs.MemFS, mark []byte) []byte { removeNamed(t, files, have, isManifest); return mark }, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := vfs.NewMem()
			copyFiles(t, files, left, func(_ string, content []byte) []byte { return content })
			content, err := readWhole(files, "log/"+markName)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, files, "log/"+markName, test.change(files, content))
			entries, err := countEntries(t, files)
			if errors.Is(err, disk.ErrCorrupt) != test.refused || !test.refused && (err != nil || entries != want) {
				t.Errorf("%d of %d entries, %v", entries, want, err)
			}
		})
	}
}

// removeNamed removes a file of a kind that the mark names.
func removeNamed(t *testing.T, files vfs.FS, have slot, kind func(string) bool) {
	t.Helper()
	for name := range have.synced {
		if kind(name) {
			if err := files.Remove("log/" + name); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the mark names none")
}

// oneEntry is a log with an entry that lies from one offset to another of its
// write-ahead file.
func oneEntry(t *testing.T, files vfs.FS) (log *Log, from, to int) {
	t.Helper()
	log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := log.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	content := walFile(t, files)
	from = used(content)
	if err := g.StoreLog(&raft.Log{Index: 1, Data: []byte("an entry")}); err != nil {
		t.Fatal(err)
	}
	content = walFile(t, files)
	return log, from, used(content)
}

// TestIdle: a log that nothing is written to is not written to.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := vfs.NewMem()
		log, _, _ := oneEntry(t, files)
		time.Sleep(10 * markEvery)
		content := walFile(t, files)
		promised := used(content)
		time.Sleep(time.Hour)
		if content = walFile(t, files); used(content) != promised {
			t.Errorf("%d bytes, were %d an hour ago", used(content), promised)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// hangingLog is a log with an entry, on a disk whose fsyncs of it give no answer between hang and
// release.
func hangingLog(t *testing.T) (log *Log, hang, release func()) {
	t.Helper()
	var hangs atomic.Bool
	answers := make(chan struct{})
	files := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hangs.Load() && op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, ".log") {
			<-answers
		}
		return nil
	}))
	log, _, _ = oneEntry(t, files)
	return log, func() { hangs.Store(true) }, func() {
		hangs.Store(false)
		close(answers)
	}
}

// TestHungFsync: Close gives up when the disk gives no
// answer, and what comes later fails at once.
func TestHungFsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, hang, release := hangingLog(t)
		g, err := log.Group(2)
		if err != nil {
			t.Fatal(err)
		}
		hang()
		var storing sync.WaitGroup
		storing.Go(func() { _ = g.StoreLog(&raft.Log{Index: 1}) })
		synctest.Wait()
		began := time.Now()
		if err := log.Close(); !errors.Is(err, errStuck) || time.Since(began) != closeWithin {
			t.Errorf("Close after %v: %v", time.Since(began), err)
		}
		if err := g.GetLog(1, new(raft.Log)); !errors.Is(err, errClosed) {
			t.Errorf("a read after Close: %v", err)
		}
		release()
		storing.Wait()
	})
}
