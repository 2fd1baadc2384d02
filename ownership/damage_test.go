package ownership

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// TestLostTail: what was being written when power went is no damage; the
// acknowledged before it stands.
func TestLostTail(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	want := populate(t, s)
	cfg.Dir = copyDir(t, cfg.Dir)
	wal := newest(t, filepath.Join(cfg.Dir, "log"), ".log")
	whole, err := os.Stat(wal)
	if err != nil {
		t.Fatal(err)
	}
	subscribe(t, s, wish("http://torn.example/", "", stream))
	longer, err := os.ReadFile(filepath.Join(s.cfg.Dir, "log", filepath.Base(wal)))
	if err != nil {
		t.Fatal(err)
	}
	torn := longer[:used(longer)-10]
	if int64(len(torn)) <= whole.Size() && used(longer[:whole.Size()]) == used(torn) {
		t.Fatal("nothing was torn")
	}
	if err := os.WriteFile(wal, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, describe(t, open(t, cfg)), want)
}

// used is the length of a file without the zeros at its end.
func used(content []byte) int { return len(bytes.TrimRight(content, "\x00")) }

// TestDamage: bad-input.md, row 59. What was acknowledged and is no longer
// readable is found before anything is served.
func TestDamage(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	populate(t, s)
	for _, test := range damages() {
		t.Run(test.name, func(t *testing.T) {
			cfg := cfg
			cfg.Dir = copyDir(t, cfg.Dir)
			test.damage(t, cfg.Dir)
			wantError(t, refused(t, cfg), ErrCorrupt)
		})
	}
}

// TestStoresOfDifferentTimes: a log that does not reach the state has lost
// acknowledged entries, a state older than the log's begin has lost them too.
func TestStoresOfDifferentTimes(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	populate(t, s)
	before := copyDir(t, cfg.Dir)
	for range 50 {
		subscribe(t, s, wish("http://example.com/", "", stream))
	}
	s.snapshotAll()
	after := copyDir(t, cfg.Dir)
	for _, test := range []struct{ name, log, state string }{
		{"log of before", before, after},
		{"state of before", after, before},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := cfg
			cfg.Dir = copyDir(t, test.log)
			remove(t, cfg.Dir, "state")
			if err := os.CopyFS(filepath.Join(cfg.Dir, "state"), os.DirFS(filepath.Join(test.state, "state"))); err != nil {
				t.Fatal(err)
			}
			wantError(t, refused(t, cfg), ErrCorrupt)
		})
	}
}

// damage is a way to spoil a directory.
type damage struct {
	name   string
	damage func(t *testing.T, dir string)
}

func damages() []damage {
	return append(logDamages(), []damage{
		{"bit in the middle of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0.5) }},
		{"bit at the begin of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0) }},
		{"bit near the end of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0.95) }},
		{"log gone", func(t *testing.T, dir string) { remove(t, dir, "log") }},
		{"state gone", func(t *testing.T, dir string) { remove(t, dir, "state") }},
		{"meta file", func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, "meta", "raft.db"), func(content []byte) []byte {
				for page := range 2 {
					content[page*os.Getpagesize()+30] ^= 0xFF
				}
				return content
			})
		}},
		{"format", func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, formatFile), func([]byte) []byte { return []byte("one") })
		}},
	}...)
}

// logDamages change what pebble holds, with checksums of pebble's that are right.
func logDamages() []damage {
	return []damage{
		{"bit in an entry", inLog(func(t *testing.T, db *pebble.DB) {
			key := entryKey(lastIndex(t, db) - 2)
			value := get(t, db, key)
			value[len(value)-1] ^= 1
			set(t, db, key, value)
		})},
		{"entry in another's place", inLog(func(t *testing.T, db *pebble.DB) {
			last := lastIndex(t, db)
			set(t, db, entryKey(last-2), get(t, db, entryKey(last-1)))
		})},
		{"entry missing", inLog(func(t *testing.T, db *pebble.DB) {
			if err := db.Delete(entryKey(lastIndex(t, db)-2), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		})},
		{"first entries missing", inLog(func(t *testing.T, db *pebble.DB) {
			if err := db.DeleteRange(entryKey(0), entryKey(lastIndex(t, db)-1), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		})},
		{"all entries missing", inLog(func(t *testing.T, db *pebble.DB) {
			if err := db.DeleteRange(entryKey(0), entryKey(math.MaxUint64), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		})},
		{"raft's term", inLog(func(t *testing.T, db *pebble.DB) {
			set(t, db, []byte("\x00\x00\x00\x00kCurrentTerm"), []byte("12345678"))
		})},
	}
}

// entryKey is the key of an entry of range 0 in the log.
func entryKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte("\x00\x00\x00\x00l"), index)
}

// flip changes a bit of the log's newest file, at a part of its length.
func flip(t *testing.T, dir string, part float64) {
	t.Helper()
	rewrite(t, newest(t, filepath.Join(dir, "log"), ".log"), func(content []byte) []byte {
		content[int(float64(used(content))*part)] ^= 0x10
		return content
	})
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func inLog(damage func(t *testing.T, db *pebble.DB)) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		db, err := pebble.Open(filepath.Join(dir, "log"), &pebble.Options{FormatMajorVersion: disk.Format, Logger: quiet{t}})
		if err != nil {
			t.Fatal(err)
		}
		damage(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		unmark(t, dir)
	}
}

// unmark makes a directory one that a program without marks wrote last.
func unmark(t *testing.T, dir string) {
	t.Helper()
	rewrite(t, filepath.Join(dir, formatFile), func([]byte) []byte { return []byte("1\n") })
}

// TestUnmarkedLog: a directory that was written before logs had marks opens, and has
// one from then on.
func TestUnmarkedLog(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	want := populate(t, s)
	shut(t, s)
	unmark(t, cfg.Dir)
	remove(t, cfg.Dir, "log/SYNCED")
	s = open(t, cfg)
	same(t, describe(t, s), want)
	shut(t, s)
	remove(t, cfg.Dir, "log/SYNCED")
	wantError(t, refused(t, cfg), ErrCorrupt)
}

// quiet lets only what is fatal through.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

func lastIndex(t *testing.T, db *pebble.DB) uint64 {
	t.Helper()
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: entryKey(0), UpperBound: entryKey(math.MaxUint64)})
	if err != nil {
		t.Fatal(err)
	}
	if !iter.Last() {
		t.Fatal("empty log")
	}
	last := binary.BigEndian.Uint64(iter.Key()[len(iter.Key())-8:])
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return last
}

func set(t *testing.T, db *pebble.DB, key, value []byte) {
	t.Helper()
	if err := db.Set(key, value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, db *pebble.DB, key []byte) []byte {
	t.Helper()
	value, closer, err := db.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	value = slices.Clone(value)
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	return value
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestCutLog: bad-input.md, row 59. A log that was closed, and ends earlier now or has
// zeros at its end, is refused, and not changed.
func TestCutLog(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	populate(t, s)
	shut(t, s)
	for name, damage := range map[string]func(content []byte, keep int) []byte{
		"cut":    func(content []byte, keep int) []byte { return content[:keep] },
		"zeroed": func(content []byte, keep int) []byte { clear(content[keep:]); return content },
	} {
		for _, part := range []float64{0, 0.02, 0.1, 0.5, 0.999} {
			t.Run(fmt.Sprint(name, " to ", part), func(t *testing.T) {
				cfg := cfg
				cfg.Dir = copyDir(t, cfg.Dir)
				wal := newest(t, filepath.Join(cfg.Dir, "log"), ".log")
				rewrite(t, wal, func(content []byte) []byte { return damage(content, int(float64(used(content))*part)) })
				before, err := os.ReadFile(wal)
				if err != nil {
					t.Fatal(err)
				}
				err = refused(t, cfg)
				wantError(t, err, ErrCorrupt)
				if !strings.Contains(err.Error(), filepath.Base(wal)+": unreadable at offset ") {
					t.Errorf("error %q names neither file nor offset", err)
				}
				if after, err := os.ReadFile(wal); err != nil || !bytes.Equal(after, before) {
					t.Errorf("%s was changed: %v", wal, err)
				}
			})
		}
	}
}
