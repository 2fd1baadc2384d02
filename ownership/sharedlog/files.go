package sharedlog

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// storeFS is the file system that pebble gets: it keeps the mark of what is synced of
// write-ahead files and manifests, and allocates write-ahead files in steps.
type storeFS struct {
	vfs.FS
	mark *mark
}

// Unwrap is part of what pebble's vfs.Root asks for.
func (s storeFS) Unwrap() vfs.FS { return s.FS }

// Create marks the end of the write-ahead file before, which pebble has closed.
func (s storeFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	base := s.PathBase(name)
	if isWAL(base) {
		if err := s.mark.write(); err != nil {
			return nil, err
		}
	}
	file, err := s.FS.Create(name, category)
	if err != nil || !isWAL(base) && !isManifest(base) {
		return file, err
	}
	return s.appended(file, base, 0), nil
}

func (s storeFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := errors.Join(s.mark.drop(s.PathBase(oldname)), s.mark.write()); err != nil {
		return nil, err
	}
	file, err := s.FS.ReuseForWrite(oldname, newname, category)
	if err != nil || !isWAL(s.PathBase(newname)) {
		return file, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s.appended(file, s.PathBase(newname), info.Size()), nil
}

func (s storeFS) Remove(name string) error {
	if err := s.mark.drop(s.PathBase(name)); err != nil {
		return err
	}
	return s.FS.Remove(name)
}

func (s storeFS) appended(file vfs.File, base string, allocated int64) vfs.File {
	marked := markedFile{File: file, name: base, mark: s.mark}
	if isWAL(base) {
		return &steppedFile{markedFile: marked, allocated: allocated}
	}
	return &marked
}

func isWAL(base string) bool {
	_, _, ok := wal.ParseLogFilename(base)
	return ok
}

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// markedFile is written from its start to its end, by one goroutine at a time. It
// tells the mark of each sync that has returned.
type markedFile struct {
	vfs.File
	name    string
	mark    *mark
	written int64 // bytes
}

func (f *markedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}

func (f *markedFile) Sync() error     { return f.marked(f.File.Sync()) }
func (f *markedFile) SyncData() error { return f.marked(f.File.SyncData()) }

func (f *markedFile) marked(err error) error {
	if err == nil && f.written > 0 {
		f.mark.extend(f.name, f.written)
	}
	return err
}

// allocateStep is how many bytes of a write-ahead file are allocated at once: so it
// lies in few pieces. Its length still grows with what is written.
const allocateStep = 4 << 20

// steppedFile is allocated in steps. Pebble would allocate write-ahead files whole,
// 1.1 memtables each, whatever is written.
type steppedFile struct {
	markedFile
	allocated int64 // bytes
}

// Preallocate is pebble's wish for the whole file.
func (f *steppedFile) Preallocate(_, _ int64) error { return nil }

func (f *steppedFile) Write(p []byte) (int, error) {
	if end := f.written + int64(len(p)); end > f.allocated {
		length := (end - f.allocated + allocateStep - 1) / allocateStep * allocateStep
		_ = f.File.Preallocate(f.allocated, length) // the write itself will say if there is no space
		f.allocated += length
	}
	return f.markedFile.Write(p)
}
