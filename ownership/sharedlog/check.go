package sharedlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// check looks for damage in the files of the store, if there is one, and returns its
// mark.
func (c Config) check() (have slot, err error) {
	desc, err := pebble.Peek(c.Dir, c.Files)
	if errors.Is(err, fs.ErrNotExist) {
		return slot{}, nil
	}
	if err != nil {
		return slot{}, disk.ReadError("look at "+c.Dir, err)
	}
	if c.Unmarked {
		return slot{}, checkTail(c.Files, c.Dir)
	}
	if have, err = readMark(c.Files, c.Dir); err != nil {
		return slot{}, err
	}
	switch {
	case desc.Exists && have.count == 0:
		return slot{}, disk.Corrupt("%s is gone or damaged: it said how far the log was synced", c.Files.PathJoin(c.Dir, markName))
	case !desc.Exists && len(have.synced) > 0:
		return slot{}, disk.Corrupt("%s has no manifest any more", c.Dir)
	}
	if err := checkMarked(c.Files, c.Dir, have.synced); err != nil {
		return slot{}, err
	}
	return have, checkTail(c.Files, c.Dir)
}

// checkMarked looks for damage in the files that a mark names: each must exist, and
// be readable as far as it was synced.
func checkMarked(files vfs.FS, dir string, synced lengths) error {
	for _, name := range slices.Sorted(maps.Keys(synced)) {
		path := files.PathJoin(dir, name)
		content, err := readWhole(files, path)
		if errors.Is(err, fs.ErrNotExist) {
			return disk.Corrupt("%s is gone, though %d bytes of it were synced", path, synced[name])
		}
		if err != nil {
			return err
		}
		if end := int64(chunksOf(name).end(content)); end < synced[name] {
			return disk.Corrupt("%s: unreadable at offset %d, though it was synced up to %d", path, end, synced[name])
		}
	}
	return nil
}

// checkTail looks for damage beyond the mark, in the newest write-ahead file of the
// store in dir: a later chunk that says that the file was synced beyond an unreadable
// one. Pebble itself looks for such a chunk in later blocks only.
func checkTail(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	name := newestWAL(names)
	if name == "" {
		return nil
	}
	path, c := files.PathJoin(dir, name), chunksOf(name)
	content, err := readWhole(files, path)
	if err != nil {
		return err
	}
	at := c.end(content)
	for i := at + 1; i+walHeader <= len(content); i++ {
		if _, ok := c.chunk(content, i); ok && binary.LittleEndian.Uint64(content[i+11:]) > uint64(at) {
			return disk.Corrupt("%s: unreadable at offset %d, though it was synced", path, at)
		}
	}
	return nil
}

// newestWAL returns the write-ahead file with the highest number, if any.
func newestWAL(names []string) (newest string) {
	for _, name := range names {
		if _, _, ok := wal.ParseLogFilename(name); ok && (newest == "" || chunksOf(name).number > chunksOf(newest).number) {
			newest = name
		}
	}
	return newest
}

func readWhole(files vfs.FS, path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	content, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}
