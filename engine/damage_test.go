package engine

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
)

// damages are what can happen to a file of the cache.
var damages = map[string]func(t *testing.T, fs vfs.FS, path string, content []byte){
	"removed": func(t *testing.T, fs vfs.FS, path string, _ []byte) { must(t, fs.Remove(path)) },
	"emptied": func(t *testing.T, fs vfs.FS, path string, _ []byte) { replace(t, fs, path, nil) },
	"cut": func(t *testing.T, fs vfs.FS, path string, content []byte) {
		replace(t, fs, path, content[:len(content)/2])
	},
	"zeroed": func(t *testing.T, fs vfs.FS, path string, content []byte) {
		replace(t, fs, path, make([]byte, len(content)))
	},
	"garbage": func(t *testing.T, fs vfs.FS, path string, content []byte) {
		junk := rand.New(rand.NewPCG(1, uint64(len(content))))
		for i := range content {
			content[i] = byte(junk.Uint32())
		}
		replace(t, fs, path, content)
	},
	"flipped": func(t *testing.T, fs vfs.FS, path string, content []byte) {
		if len(content) > 0 {
			content[len(content)/2] ^= 4
		}
		replace(t, fs, path, content)
	},
	"longer": func(t *testing.T, fs vfs.FS, path string, content []byte) {
		replace(t, fs, path, append(content, "of another file"...))
	},
}

// randomly returns damage of a random kind: a file is cut, zeroed to its end, flipped
// in a bit or in some, or overwritten in a run.
func randomly(random *rand.Rand) func(t *testing.T, fs vfs.FS, path string, content []byte) {
	return func(t *testing.T, fs vfs.FS, path string, content []byte) {
		if len(content) == 0 {
			return
		}
		at := random.IntN(len(content))
		switch random.IntN(5) {
		case 0:
			content = content[:at]
		case 1:
			clear(content[at:])
		case 2:
			content[at] ^= 1 << random.IntN(8)
		case 3:
			for range 20 {
				content[random.IntN(len(content))] ^= 1 << random.IntN(8)
			}
		case 4:
			for i := range content[at:min(len(content), at+random.IntN(600))] {
				content[at+i] = byte(random.Uint32())
			}
		}
		replace(t, fs, path, content)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, fs vfs.FS, path string, content []byte) {
	t.Helper()
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	must(t, err)
	_, err = file.Write(content)
	must(t, errors.Join(err, file.Sync(), file.Close()))
}

func contentOf(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	file, err := fs.Open(path)
	must(t, err)
	content, err := io.ReadAll(file)
	must(t, errors.Join(err, file.Close()))
	return content
}

// aged is a world whose cache has files of every kind: tables of two levels, and a
// write-ahead log with what they do not have.
func aged(t *testing.T) (w *world, urls []string) {
	w = newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
	long := rand.New(rand.NewPCG(1, 2))
	for i := range 9 {
		body := "one" // of several blocks
		for range 300 {
			body += fmt.Sprintf(" %x", long.Uint32())
		}
		u := fmt.Sprintf("http://%c.example/%c", 'a'+i, 'a'+i)
		urls = append(urls, u)
		w.serve(1, origin{status: 200, body: body, etag: "e"}, u)
		switch i {
		case 2:
			w.pass(15 * time.Second)
			must(t, w.engine.cache.DB().Compact(t.Context(), []byte{0}, []byte{255}, false))
		case 5:
			w.pass(15 * time.Second)
			must(t, w.engine.cache.DB().Flush())
		}
	}
	w.pass(15 * time.Second)
	return w, urls
}

// end ends a world's engine and leaves the world with the files that are there then.
func (w *world) end(how string) {
	fs := w.config.fs
	if how == "killed" {
		fs = fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	}
	w.close()
	w.config.fs = fs
}

// Whatever is damaged of the cache's files, when its engine was closed or killed,
// the engine opens and polls. No change is invented, none is lost: row 59.
func TestRow59CacheFiles(t *testing.T) {
	for _, ended := range []string{"closed", "killed"} {
		for _, name := range agedFiles(t, ended) {
			for damage, do := range damages {
				t.Run(ended+"/"+name+"/"+damage, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { damagedFile(t, ended, name, do) })
				})
			}
		}
	}
}

// The same for damage anywhere.
func TestRow59CacheAnywhere(t *testing.T) {
	names := agedFiles(t, "killed")
	for i := range 50 {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		name := names[random.IntN(len(names))]
		t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { damagedFile(t, "killed", name, randomly(random)) })
		})
	}
}

// agedFiles returns the names of the files that an aged world's engine leaves.
func agedFiles(t *testing.T, ended string) (names []string) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := aged(t)
		w.end(ended)
		var err error
		names, err = w.config.fs.List("cache")
		must(t, err)
	})
	all := strings.Join(names, " ")
	for _, kind := range []string{"MANIFEST", "OPTIONS", "marker.", ".log", "ledger"} {
		if !strings.Contains(all, kind) {
			t.Errorf("no %s in %s", kind, all)
		}
	}
	if strings.Count(all, ".sst") < 2 {
		t.Errorf("fewer than two tables in %s", all)
	}
	return names
}

func damagedFile(t *testing.T, ended, name string, damage func(*testing.T, vfs.FS, string, []byte)) {
	w, urls := aged(t)
	w.end(ended)
	path := w.config.fs.PathJoin("cache", name)
	damage(t, w.config.fs, path, contentOf(t, w.config.fs, path))
	w.open()
	defer func() { w.close() }()
	w.reorder(urls)
	w.pass(30 * time.Second)
	if n := w.versions(urls); n != len(urls) {
		t.Errorf("a change was invented: %d versions of %d channels", n, len(urls))
	}
	w.show(urls, "two")
	w.pass(30 * time.Second)
	if n := w.versions(urls); n != 2*len(urls) {
		t.Errorf("a change was lost: %d versions of %d channels", n, len(urls))
	}
	w.restart()
	w.reorder(urls)
	w.show(urls, "three")
	w.pass(30 * time.Second)
	if n := w.versions(urls); n != 3*len(urls) {
		t.Errorf("after another start: %d versions of %d channels", n, len(urls))
	}
	if err := w.engine.cache.DB().Compact(t.Context(), []byte{0}, []byte{255}, false); err != nil {
		t.Errorf("the cache is still damaged: %v", err)
	}
}

// reorder orders channels as the owner has them.
func (w *world) reorder(urls []string) {
	for _, u := range urls {
		w.engine.Order(w.orderOf(u))
	}
}

// show changes what origins show, and their validators.
func (w *world) show(urls []string, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range urls {
		w.origins[u].body, w.origins[u].etag = body, body
	}
}

// A store that cannot be opened is set aside, one of them, beside the ledger, until its
// room is needed.
func TestCacheSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64 // MiB, of a reserve of 16
		free.Store(1000)
		files := vfs.NewMem()
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second, fs: files, Volume: watchedVolume(t, &free)})
		defer func() { w.close() }()
		urls := []string{"http://a.example/a", "http://b.example/b"}
		w.serve(1, origin{status: 200, body: "one", etag: "e"}, urls...)
		for range 2 {
			w.pass(15 * time.Second)
			must(t, w.engine.cache.DB().Flush())
			w.close()
			ledger, table := contentOf(t, files, "cache/"+store.LedgerFile), contentOf(t, files, tables(t, files)[0])
			must(t, files.Remove(fileLike(t, files, "MANIFEST-*")))
			w.open()
			if n := gather(t, w.registry)["cache_mends_total set_aside"]; n != 1 {
				t.Errorf("%v stores set aside", n)
			}
			if !bytes.Equal(contentOf(t, files, "cache/"+store.LedgerFile), ledger) {
				t.Error("the ledger is another")
			}
			if aside := fileLike(t, files, store.AsideFolder+"/*.sst"); !bytes.Equal(contentOf(t, files, aside), table) {
				t.Errorf("%s is another table", aside)
			}
			w.reorder(urls)
		}
		w.pass(2 * store.AsideEvery)
		if fileLike(t, files, store.AsideFolder+"/*.sst") == "" {
			t.Error("nothing is kept while there is room")
		}
		free.Store(10) // low
		w.pass(2 * store.AsideEvery)
		if left := fileLike(t, files, store.AsideFolder); left != "" {
			t.Errorf("%s is kept on a disk that is nearly full", left)
		}
	})
}

// A table that is gone is cut out when a read meets it, and nothing is set aside.
func TestCacheCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, urls := aged(t)
		w.close()
		must(t, w.config.fs.Remove(tables(t, w.config.fs)[0]))
		w.open()
		defer w.close()
		w.reorder(urls)
		w.pass(30 * time.Second)
		m := gather(t, w.registry)
		if cut, aside := m["cache_mends_total cut"], m["cache_mends_total set_aside"]; cut < 1 || aside != 0 {
			t.Errorf("%v cuts, %v stores set aside; want cuts alone", cut, aside)
		}
	})
}

// fileLike returns the path of a file that matches a pattern of path.Match, relative to
// the cache's directory; "" for none.
func fileLike(t *testing.T, files vfs.FS, pattern string) string {
	t.Helper()
	dir := path.Join("cache", path.Dir(pattern))
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(t, err)
	for _, name := range names {
		if ok, err := path.Match(path.Base(pattern), name); err == nil && ok {
			return path.Join(dir, name)
		}
	}
	return ""
}

// Each file that says that a newer program wrote it keeps the engine closed, and what
// is there as it is: row 64.
func TestRow64Cache(t *testing.T) {
	for name, content := range map[string]string{
		"FORMAT": fmt.Sprintf("2 %08x\n", crc32.Checksum([]byte("2"), crc32.MakeTable(crc32.Castagnoli))), store.LedgerFile: string(newerLedger()), "marker.format-version.000099.999": "",
	} {
		files := vfs.NewMem()
		must(t, newCache(t, files).Close())
		replace(t, files, "cache/"+name, []byte(content))
		before := filesOf(t, files)
		_, err := Open(Config{Dir: "cache", fs: files}, nil, deafOwner{}, nil)
		var newer *datadir.FormatError
		if !errors.As(err, &newer) || newer.File != "cache/"+name || newer.Have <= newer.Supported {
			t.Errorf("%s: Open: %v", name, err)
		}
		if after := filesOf(t, files); !maps.Equal(before, after) {
			t.Errorf("%s: files were %q, are %q", name, before, after)
		}
	}
}

// filesOf returns what the files of the cache hold.
func filesOf(t *testing.T, files vfs.FS) map[string]string {
	t.Helper()
	names, err := files.List("cache")
	must(t, err)
	all := map[string]string{}
	for _, name := range names {
		all[name] = string(contentOf(t, files, "cache/"+name))
	}
	return all
}

// newCache opens the cache of a Config's directory.
func newCache(t *testing.T, files vfs.FS) *store.Cache {
	t.Helper()
	c, err := store.OpenCache(Config{Dir: "cache", fs: files}.withDefaults().store(), store.NewMetrics())
	must(t, err)
	return c
}
