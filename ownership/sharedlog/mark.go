package sharedlog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The mark says elsewhere how far pebble's append-only files were synced: the file
// markName beside them. Pebble takes the first unreadable chunk of its newest
// write-ahead file, and of its manifest, for the end that a power loss left; without
// the mark, damage there would drop what was acknowledged.
//
// Two slots are written in turn, each synced for itself and each with a checksum: a
// slot that a power loss tears leaves the other one, and what that one says stays
// true. The mark promises only what a sync has returned for, and every file that it
// names exists: before pebble removes or renames one, a mark without it is synced.
const (
	markName = "SYNCED"
	slotSize = 4096 // one page, so that writing a slot touches nothing of the other
)

// markEvery is how soon the mark follows a sync.
const markEvery = time.Second

// mark is the open mark of a store.
type mark struct {
	files vfs.FS
	dir   string
	file  vfs.File

	mu     sync.Mutex // a leaf: syncs of the log take it
	synced lengths    // guarded by mu

	writing sync.Mutex // held while a slot is written
	newest  slot       // guarded by writing
	failed  error      // of a write, after which there is no other; guarded by writing
}

// extend says that a file is synced up to length.
func (m *mark) extend(name string, length int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced[name] = max(m.synced[name], length)
}

// drop takes a file out of the mark, durably.
func (m *mark) drop(name string) error {
	m.mu.Lock()
	_, named := m.synced[name]
	delete(m.synced, name)
	m.mu.Unlock()
	if !named {
		return nil
	}
	return m.write()
}

// write makes the mark durable, if it has changed.
func (m *mark) write() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	next := slot{count: m.newest.count + 1, synced: maps.Clone(m.synced)}
	m.mu.Unlock()
	if m.failed != nil || maps.Equal(next.synced, m.newest.synced) {
		return m.failed
	}
	if m.failed = m.put(next); m.failed == nil {
		m.newest = next
	}
	return m.failed
}

func (m *mark) put(next slot) error {
	if names(next.synced, m.newest.synced) {
		if err := syncDir(m.files, m.dir); err != nil {
			return fmt.Errorf("write %s: %w", markName, err)
		}
	}
	content, err := next.encode()
	if err == nil {
		_, err = m.file.WriteAt(content, int64(next.count%2)*slotSize)
	}
	if err == nil {
		err = m.file.SyncData()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", markName, err)
	}
	return nil
}

func (m *mark) close() error { return m.file.Close() }

// readMark returns the newer slot, a zero one if there is none.
func readMark(files vfs.FS, dir string) (slot, error) {
	content, err := readWhole(files, files.PathJoin(dir, markName))
	if errors.Is(err, fs.ErrNotExist) {
		return slot{}, nil
	}
	if err != nil {
		return slot{}, err
	}
	one := decodeSlot(content[:min(len(content), slotSize)])
	two := decodeSlot(content[min(len(content), slotSize):])
	if one.count > two.count {
		return one, nil
	}
	return two, nil
}

// openMark opens the mark that was read, or makes one that names nothing.
func openMark(files vfs.FS, dir string, have slot) (*mark, error) {
	if have.count == 0 {
		have = slot{count: 1, synced: make(lengths)}
		if err := createMark(files, dir, have); err != nil {
			return nil, fmt.Errorf("create %s: %w", markName, err)
		}
	}
	file, err := files.OpenReadWrite(files.PathJoin(dir, markName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", markName, err)
	}
	return &mark{files: files, dir: dir, file: file, newest: have, synced: maps.Clone(have.synced)}, nil
}

// createMark writes both slots, so that later writes need no space.
func createMark(files vfs.FS, dir string, first slot) error {
	if err := makeDir(files, dir); err != nil {
		return err
	}
	content, err := first.encode()
	if err != nil {
		return err
	}
	file, err := files.Create(files.PathJoin(dir, markName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = file.Write(append(make([]byte, slotSize), content...)); err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return syncDir(files, dir)
}

// makeDir makes a directory and those above it that are missing, durably.
func makeDir(files vfs.FS, dir string) error {
	parent := files.PathDir(dir)
	if _, err := files.Stat(dir); err == nil || parent == dir {
		return nil
	}
	return errors.Join(makeDir(files, parent), files.MkdirAll(dir, 0o755), syncDir(files, parent))
}

func syncDir(files vfs.FS, dir string) error {
	opened, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
