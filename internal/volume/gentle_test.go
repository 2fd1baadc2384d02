package volume

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// slowFS is a file system whose writes take a millisecond each.
type slowFS struct{ vfs.FS }

type slowFile struct{ vfs.File }

func (s slowFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, category)
	return slowFile{f}, err
}

func (s slowFile) Write(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.File.Write(p)
}

// A compaction works an eighth of the time, unless compactions are behind or the store is
// closed; what flushes write does not wait.
func TestGentle(t *testing.T) {
	const writes = 80 // of a millisecond each
	for name, c := range map[string]struct {
		category      vfs.DiskWriteCategory
		behind, hurry bool
		want          time.Duration
	}{
		"compaction":         {category: compaction, want: 8 * writes * time.Millisecond},
		"compactions behind": {category: compaction, behind: true, want: writes * time.Millisecond},
		"closing":            {category: compaction, hurry: true, want: writes * time.Millisecond},
		"flush":              {category: "pebble-memtable-flush", want: writes * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				fs := NewGentle(slowFS{vfs.NewMem()}, func() bool { asked++; return c.behind })
				if c.hurry {
					fs.Hurry()
				}
				f, err := fs.Create("000001.sst", c.category)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				for range writes {
					if n, err := f.Write([]byte("content")); n != 7 || err != nil {
						t.Fatal(n, err)
					}
				}
				if took := time.Since(begun); took != c.want {
					t.Errorf("%d writes took %v, want %v", writes, took, c.want)
				}
				if c.category == compaction && !c.hurry && asked != 1 {
					t.Errorf("asked %d times in a second whether compactions are behind", asked)
				}
			})
		})
	}
}

// noticing is a file system that notes for whom its files are created.
type noticing struct {
	vfs.FS
	mu   sync.Mutex
	seen map[vfs.DiskWriteCategory]bool
}

func (n *noticing) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[category] = true
	return n.FS.Create(name, category)
}

// Pebble calls its compactions what they are called here: else they would not rest.
func TestGentleKnowsCompactions(t *testing.T) {
	fs := &noticing{FS: vfs.NewMem(), seen: map[vfs.DiskWriteCategory]bool{}}
	db, err := pebble.Open("", &pebble.Options{FS: fs, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 { // tables with the same keys are merged, not moved
		for _, key := range []string{"a", "b"} {
			if err := db.Set([]byte(key), []byte("value"), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Compact(t.Context(), []byte("a"), []byte("c"), false); err != nil {
		t.Fatal(err)
	}
	if !fs.seen[compaction] {
		t.Errorf("files were created for %v, none for %q", slices.Collect(maps.Keys(fs.seen)), compaction)
	}
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
