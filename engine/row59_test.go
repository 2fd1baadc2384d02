package engine

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-91e7e7c1/corona/channel"
)

// tables returns the sorted files of the cache.
func tables(t *testing.T, fs vfs.FS) (paths []string) {
	t.Helper()
	names, err := fs.List("cache")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			paths = append(paths, fs.PathJoin("cache", name))
		}
	}
	return paths
}

// flip changes a bit in every so many bytes of a file, from one on, or from so many
// before its end.
func flip(t *testing.T, fs vfs.FS, path string, from, step int) {
	t.Helper()
	file, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, info.Size())
	if _, err := file.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if from < 0 {
		from += len(content)
	}
	for at := from; at < len(content); at += step {
		content[at] ^= 4
	}
	_, err = file.WriteAt(content, 0)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// row 59: blocks of the cache's files that are damaged cost full GETs and the base
// of a difference. No change is invented, none is lost, and the cache is whole again
// later.
func TestRow59CacheTable(t *testing.T) {
	for _, damage := range []struct{ from, step int }{{3, 500}, {0, 1 << 20}, {100, 1 << 20}, {20_000, 1 << 20}, {-400, 1 << 20}, {-30, 1 << 20}} {
		t.Run(fmt.Sprintf("from %d, every %d", damage.from, damage.step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { damagedTable(t, damage.from, damage.step) })
		})
	}
}

func damagedTable(t *testing.T, from, step int) {
	fs := vfs.NewMem()
	w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second, fs: fs})
	urls := []string{"http://a.example/a", "http://b.example/b", "http://c.example/c"}
	long := rand.New(rand.NewPCG(1, 2))
	for _, u := range urls {
		body := "one" // of several blocks
		for range 2000 {
			body += fmt.Sprintf(" %x", long.Uint32())
		}
		w.serve(1, origin{status: 200, body: body, etag: "e"}, u)
	}
	w.pass(15 * time.Second)
	if err := w.engine.cache.DB().Flush(); err != nil {
		t.Fatal(err)
	}
	w.close()
	for _, path := range tables(t, fs) {
		flip(t, fs, path, from, step)
	}
	w.open()
	defer func() { w.close() }()
	for _, u := range urls {
		w.engine.Order(w.orderOf(u))
	}
	w.pass(30 * time.Second)
	if n := w.versions(urls); n != len(urls) {
		t.Errorf("a change was invented: %d versions of %d channels", n, len(urls))
	}
	for i, body := range []string{"two", "three"} {
		w.mu.Lock()
		for _, u := range urls {
			w.origins[u].body, w.origins[u].etag = body, body
		}
		w.mu.Unlock()
		w.pass(30 * time.Second)
		if n := w.versions(urls); n != (i+2)*len(urls) {
			t.Errorf("change %d: %d versions of %d channels", i+1, n, len(urls))
		}
	}
	if err := w.engine.cache.DB().Compact(t.Context(), []byte{0}, []byte{255}, false); err != nil {
		t.Errorf("the cache is still damaged: %v", err)
	}
	for _, u := range urls {
		if core, err := w.engine.cache.Content(channel.IDOf(u), coreOf(t, "three").Hash); err != nil || core == nil {
			t.Errorf("content of %s: %v, %v", u, core, err)
		}
	}
}

// versions sums up the versions of channels.
func (w *world) versions(urls []string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range urls {
		n += int(w.owned[channel.IDOf(u)].version)
	}
	return n
}
