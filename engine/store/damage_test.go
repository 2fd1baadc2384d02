package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// What says nothing of the files does not cost the cache.
func TestCacheKeptWhenRefused(t *testing.T) {
	for name, err := range map[string]error{
		"held": syscall.EAGAIN, "no access": syscall.EACCES, "disk failed": syscall.EIO, "full": syscall.ENOSPC, "descriptors": syscall.EMFILE,
	} {
		if !systemRefuses(fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "x", Err: err})) {
			t.Errorf("%s counts as damage", name)
		}
	}
	for _, err := range []error{syscall.ENOENT, syscall.EISDIR, errFormat, fs.ErrNotExist, pebble.ErrCorruption} {
		if systemRefuses(fmt.Errorf("open: %w", err)) {
			t.Errorf("%v counts as no damage", err)
		}
	}
	files := vfs.NewMem()
	c := newCache(t, files)
	defer c.Close()
	if _, err := OpenCache(testConfig(files), NewMetrics()); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("a cache that is open was opened: %v", err)
	}
	if _, err := files.Stat("cache/" + AsideFolder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cache that is open was set aside: %v", err)
	}
}
