package volume

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func TestClassOf(t *testing.T) {
	for path, want := range map[string]class{
		"log/000012.log": essential, "log/SYNCED": essential, "state/MANIFEST-000001": essential, "cache/OPTIONS-000003": essential,
		"log/marker.manifest.000002.MANIFEST-000005": essential, "log/temporary.000004.dbtmp": essential,
		"state/000004.sst": table, "cache/000009.blob": table, "cache/ledger": plain,
	} {
		if got := classOf(path); got != want {
			t.Errorf("%s: class %d, want %d", path, got, want)
		}
	}
}

// quota is a file system on which so many bytes can be written, and any number from
// an instant on.
type quota struct {
	vfs.FS
	left   int
	refill time.Time // zero: never
}

func (q *quota) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := q.FS.Create(name, category)
	return &quotaFile{file, q}, err
}

type quotaFile struct {
	vfs.File
	q *quota
}

func (f *quotaFile) Write(p []byte) (int, error) {
	if !f.q.refill.IsZero() && !time.Now().Before(f.q.refill) {
		f.q.left = len(p)
	}
	n := min(len(p), f.q.left)
	f.q.left -= n
	if _, err := f.File.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestFullWrite: row 60. A write of the log waits for space and is whole then; one of
// a table fails after a pause; one of another file fails at once.
func TestFullWrite(t *testing.T) {
	text := []byte("ten bytes.")
	for name, test := range map[string]struct {
		took    time.Duration
		written int
	}{
		"1.log": {2 * retryEvery, 10}, "1.sst": {tablePause, 4}, "ledger": {0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, _, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
				v.release()
				mem := vfs.NewMem()
				q := &quota{FS: mem, left: 4, refill: time.Now().Add(retryEvery + time.Millisecond)}
				file, err := v.FS(q).Create(name, vfs.WriteCategoryUnspecified)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				n, err := file.Write(bytes.Clone(text))
				if took := time.Since(begun); took != test.took || n != test.written || (err == nil) != (n == len(text)) {
					t.Errorf("wrote %d in %s, %v; want %d in %s", n, took, err, test.written, test.took)
				}
				if err != nil && !errors.Is(err, syscall.ENOSPC) || len(*fatal) > 0 || v.Level() != Critical {
					t.Errorf("error %v, fatal %v, %s", err, *fatal, v.Level())
				}
				if got := read(t, mem, name); !bytes.Equal(got, text[:n]) {
					t.Errorf("file holds %q", got)
				}
				if err := file.Close(); err != nil || len(v.pending.ops) > 0 {
					t.Errorf("close: %v, %d ops", err, len(v.pending.ops))
				}
			})
		})
	}
}

func read(t *testing.T, files vfs.FS, name string) []byte {
	t.Helper()
	file, err := files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestBallastFirst: row 60. The first to find no space gets the ballast's, at once.
func TestBallastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, logged, _ := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		full := true
		inner := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if full && op.Kind == errorfs.OpFileWrite {
				full = v.ballast.held() > 0
				return syscall.ENOSPC
			}
			return nil
		}))
		file, err := v.FS(inner).Create("1.sst", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		full = true
		begun := time.Now()
		v.config.Usage = func(string) (uint64, uint64, error) { full = false; return 0, 1000 * mib, nil }
		if _, err := file.Write([]byte("x")); err != nil || time.Since(begun) > 0 {
			t.Errorf("write: %v after %s", err, time.Since(begun))
		}
		if v.ballast.held() > 0 || !strings.Contains(logged.String(), "ballast was deleted") {
			t.Errorf("ballast holds %d: %s", v.ballast.held(), logged)
		}
	})
}

// TestBallastThatStays: row 60. A ballast that cannot be deleted, as on file systems
// that need space for that, changes nothing for those who find no space, and is said
// once.
func TestBallastThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, logged, _ := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		v.ballast.path = filepath.Dir(v.config.Dir) // a directory with something in it
		tries := 0
		file, err := v.FS(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind != errorfs.OpFileWrite {
				return nil
			}
			if tries++; tries > 10 {
				t.Fatal("tried again and again")
			}
			return syscall.ENOSPC
		}))).Create("1.sst", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			begun := time.Now()
			if _, err := file.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || time.Since(begun) != tablePause {
				t.Errorf("write: %v after %s", err, time.Since(begun))
			}
		}
		if tries != 2 || strings.Count(logged.String(), "ballast cannot be deleted") != 1 {
			t.Errorf("%d tries: %s", tries, logged)
		}
	})
}

// TestGivenUp: row 60. A node that stops while its log waits for space ends with a
// reason, instead of waiting on.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
		file, err := v.FS(&quota{FS: vfs.NewMem()}).Create("1.log", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, v.GiveUp)
		begun := time.Now()
		if _, err := file.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || time.Since(begun) != 3*time.Second {
			t.Errorf("write: %v after %s", err, time.Since(begun))
		}
		if len(*fatal) != 1 || !errors.Is((*fatal)[0], syscall.ENOSPC) {
			t.Errorf("fatal: %v", *fatal)
		}
	})
}

// TestFailed: row 61. A failed fsync, whatever the error, and a write that fails for
// another reason than space, end the process, and are not tried again.
func TestFailed(t *testing.T) {
	for _, test := range []struct {
		name  string
		kind  errorfs.OpKind
		err   error
		do    func(vfs.FS, vfs.File) error
		fatal bool
	}{
		{"sync", errorfs.OpFileSync, syscall.EIO, func(_ vfs.FS, f vfs.File) error { return f.Sync() }, true},
		{"sync without space", errorfs.OpFileSync, syscall.ENOSPC, func(_ vfs.FS, f vfs.File) error { return f.Sync() }, true},
		{"data", errorfs.OpFileSyncData, syscall.EIO, func(_ vfs.FS, f vfs.File) error { return f.SyncData() }, true},
		{"part", errorfs.OpFileSyncTo, syscall.EIO, func(_ vfs.FS, f vfs.File) error { _, err := f.SyncTo(1); return err }, true},
		{"write", errorfs.OpFileWrite, syscall.EIO, func(_ vfs.FS, f vfs.File) error { _, err := f.Write([]byte("x")); return err }, true},
		{"remove", errorfs.OpRemove, syscall.EIO, func(fs vfs.FS, _ vfs.File) error { return fs.Remove("1.sst") }, true},
		{"remove what others use", errorfs.OpRemove, syscall.EBUSY, func(fs vfs.FS, _ vfs.File) error { return fs.Remove("1.sst") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, _, fatal := open(t, &disk{free: 100 * mib, total: 1000 * mib})
			failing, tries := false, 0
			files := v.FS(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if failing && op.Kind == test.kind {
					tries++
					return test.err
				}
				return nil
			})))
			file, err := files.Create("1.sst", vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			failing = true
			if err := test.do(files, file); !errors.Is(err, test.err) || tries != 1 {
				t.Errorf("error %v after %d tries", err, tries)
			}
			if len(*fatal) == 1 != test.fatal {
				t.Errorf("fatal: %v", *fatal)
			}
		})
	}
}

// TestPreallocate: what is allocated for speed alone is not while room is short.
func TestPreallocate(t *testing.T) {
	d := &disk{free: 100 * mib, total: 1000 * mib}
	v, _, _ := open(t, d)
	allocated := 0
	files := v.FS(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFilePreallocate {
			allocated++
		}
		return nil
	})))
	file, err := files.Create("1.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		free uint64
		want int
	}{{100 * mib, 1}, {20 * mib, 1}, {10 * mib, 1}, {100 * mib, 2}} {
		d.free = step.free
		v.look(time.Unix(1, 0))
		if err := file.Preallocate(0, 5*mib); err != nil || allocated != step.want {
			t.Errorf("%d MiB free: allocated %d times, %v, want %d", step.free/mib, allocated, err, step.want)
		}
	}
}
