package sharedlog

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// allocateStep is how many bytes of a write-ahead file are allocated at once: so it
// lies in few pieces. Its length still grows with what is written.
const allocateStep = 4 << 20

// frugal allocates write-ahead files in steps. Pebble would allocate them whole,
// 1.1 memtables each, whatever is written.
type frugal struct{ vfs.FS }

// Unwrap is part of what pebble's vfs.Root asks for.
func (f frugal) Unwrap() vfs.FS { return f.FS }

func (f frugal) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err != nil || !f.isWAL(name) {
		return file, err
	}
	return &steppedFile{File: file}, nil
}

func (f frugal) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldname, newname, category)
	if err != nil || !f.isWAL(newname) {
		return file, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &steppedFile{File: file, allocated: info.Size()}, nil
}

func (f frugal) isWAL(path string) bool {
	_, _, ok := wal.ParseLogFilename(f.PathBase(path))
	return ok
}

// steppedFile is written from its start to its end, by one goroutine.
type steppedFile struct {
	vfs.File
	written, allocated int64 // bytes
}

// Preallocate is pebble's wish for the whole file.
func (f *steppedFile) Preallocate(_, _ int64) error { return nil }

func (f *steppedFile) Write(p []byte) (int, error) {
	if end := f.written + int64(len(p)); end > f.allocated {
		length := (end - f.allocated + allocateStep - 1) / allocateStep * allocateStep
		_ = f.File.Preallocate(f.allocated, length) // the write itself will say if there is no space
		f.allocated += length
	}
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}
