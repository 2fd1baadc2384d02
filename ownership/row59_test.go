package ownership

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestRow59State: bad-input.md, row 59. Reading a part of a sorted file of the state
// that was changed is an error: nothing else is returned, and the process lives.
func TestRow59State(t *testing.T) {
	cfg := testConfig(t).withDefaults()
	tools := newTools(cfg, newMetrics(cfg.Registerer))
	tools.fail = func(err error) { t.Errorf("ended: %v", err) }
	dir, key := filepath.Join(cfg.Dir, "state"), keyOf(7, 'c')
	// read returns the record's URL, and stops the store.
	read := func() (url string, err error) {
		db, err := openState(dir, cfg, tools, nil)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		record := &wire.Channel{}
		err = state.Get(db, key, record)
		return record.Url, err
	}
	db, err := openState(dir, cfg, tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	record := marshal(t, &wire.Channel{Url: "http://example.com/", Incarnation: 7})
	if err := errors.Join(db.Set(key, record, pebble.NoSync), db.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
	table, found := newest(t, dir, ".sst"), 0
	whole, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	const step = 7
	for at := 0; at < len(whole); at += step {
		rewrite(t, table, func(content []byte) []byte { content[at] ^= 4; return content })
		switch url, err := read(); {
		case errors.Is(err, ErrCorrupt):
			found++
		case err != nil || url != "http://example.com/":
			t.Errorf("bit at %d: %q, %v", at, url, err)
		}
		if err := os.WriteFile(table, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Errorf("of %d changed bytes none was found", len(whole)/step)
	}
}

// TestRow59Meta: bad-input.md, row 59. A bit anywhere in the meta group's file, pages
// of data included, and in its checksum, is found before bbolt reads it. So is its
// loss.
func TestRow59Meta(t *testing.T) {
	cfg := testConfig(t).withDefaults()
	populate(t, open(t, cfg))
	path := filepath.Join(copyDir(t, filepath.Join(cfg.Dir, "meta")), "raft.db")
	sum := &fileSum{of: path}
	if err := sum.check(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, sum.path()} {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(whole); at += max(len(whole)/997, 1) {
			rewrite(t, file, func(content []byte) []byte { content[at] ^= 1 << (at % 8); return content })
			if _, err := openMetaStore(path, nil, nil); !errors.Is(err, ErrCorrupt) {
				t.Errorf("bit at %d of %s: %v", at, filepath.Base(file), err)
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	wantError(t, sum.check(), ErrCorrupt)
}

// TestMetaSumCut: a process that is killed between a change of the meta group's file
// and the writing of its checksum finds no damage at the next start, and concurrent
// changes make none.
func TestMetaSumCut(t *testing.T) {
	sum := &fileSum{of: filepath.Join(t.TempDir(), "raft.db")}
	write := func(content string) error { return os.WriteFile(sum.of, []byte(content), 0o600) }
	if err := sum.during(func() error { return write("one") }); err != nil {
		t.Fatal(err)
	}
	cut := errors.New("cut")
	if err := sum.during(func() error { return errors.Join(write("two"), cut) }); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if err := sum.check(); err != nil {
		t.Errorf("between the two writes: %v", err)
	}
	if err := errors.Join(sum.during(func() error { return nil }), sum.check()); err != nil {
		t.Error(err)
	}
	var changing sync.WaitGroup
	for i := range 20 {
		changing.Go(func() {
			if err := sum.during(func() error { return write(fmt.Sprint(i)) }); err != nil {
				t.Error(err)
			}
		})
	}
	changing.Wait()
	if err := sum.check(); err != nil {
		t.Errorf("after changes at the same time: %v", err)
	}
	if err := write("tow"); err != nil {
		t.Fatal(err)
	}
	wantError(t, sum.check(), ErrCorrupt)
}

// TestMetaSumBegun: a process that is killed when the checksum's file exists and is
// still empty finds no damage: not at the first start, and not at the first one of a version
// that has checksums.
func TestMetaSumBegun(t *testing.T) {
	for name, content := range map[string][]byte{"new": nil, "there before": []byte("pages")} {
		t.Run(name, func(t *testing.T) {
			sum := fileSum{of: filepath.Join(t.TempDir(), "raft.db")}
			if content != nil {
				if err := os.WriteFile(sum.of, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(sum.path(), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := sum.check(); err != nil {
				t.Error(err)
			}
		})
	}
}
