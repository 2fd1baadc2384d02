package volume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// class is what a file's writer does when there is no space.
type class uint8

const (
	// plain files: the writer is told.
	plain class = iota
	// essential files: pebble ends the process, or panics, when a write of its log or
	// its manifest fails. So the write waits.
	essential
	// table files: pebble deletes what it has written, and starts over at once. It is
	// told, but not sooner than after a pause.
	table
)

// classOf goes by the names that pebble gives its files, and the shared log its mark.
func classOf(path string) class {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name = name[strings.LastIndexByte(name, filepath.Separator)+1:]
	for _, prefix := range []string{"MANIFEST-", "OPTIONS-", "CURRENT", "marker.", "temporary.", "SYNCED"} {
		if strings.HasPrefix(name, prefix) {
			return essential
		}
	}
	switch {
	case strings.HasSuffix(name, ".log"):
		return essential
	case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"):
		return table
	}
	return plain
}

const (
	// retryEvery is the time between two attempts of a write that waits for space.
	retryEvery = 250 * time.Millisecond
	// tablePause is how long the writer of a table is kept from starting over.
	tablePause = 2 * time.Second
)

// again decides about the end of a write: whether it is to be tried once more. It
// ends the process if the disk failed.
func (v *Volume) again(doing, path string, class class, err error) bool {
	if err == nil {
		return false
	}
	if !IsFull(err) {
		v.Failed(doing, path, err)
		return false
	}
	hadBallast := v.ballast.held() > 0
	v.full(time.Now())
	if hadBallast && v.ballast.held() == 0 { // some file systems need space to delete
		return true
	}
	switch class {
	case essential:
		return v.await(doing, path, err)
	case table:
		v.pause()
	}
	return false
}

// pause keeps a writer for a while, of a node that does not stop.
func (v *Volume) pause() {
	timer := time.NewTimer(tablePause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.gaveUp:
		<-time.After(retryEvery)
	}
}

// await waits until it makes sense to try once more. After GiveUp there is nothing that
// the writer could go on with.
func (v *Volume) await(doing, path string, err error) bool {
	v.waiting.Add(1)
	defer v.waiting.Add(-1)
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.gaveUp:
		v.fail(fmt.Errorf("disk was full until the end: %s %s: %w", doing, path, err))
		return false
	}
}

// Failed is told of a write or an fsync that failed for another reason than lack of
// space: what the disk holds is not known. It ends the process.
func (v *Volume) Failed(doing, path string, err error) {
	v.fail(fmt.Errorf("disk failed: %s %s: %w", doing, path, err))
}

// Do runs something that writes to path, under the watchdog, once.
func (v *Volume) Do(doing, path string, write func() error) error {
	if v == nil {
		return write()
	}
	o := v.pending.add(path)
	defer v.pending.drop(o)
	o.begin(doing)
	defer o.end()
	return write()
}

// Transact runs a transaction that changes nothing when a write of it finds no
// space: then it is run again, until there is space. An error of another kind, and
// one of an fsync, is returned.
func (v *Volume) Transact(doing, path string, write func() error) error {
	for {
		err := v.Do(doing, path, write)
		wrote := (*fs.PathError)(nil) // an fsync returns the bare number
		if v == nil || !IsFull(err) || !errors.As(err, &wrote) || !v.again(doing, path, essential, err) {
			return err
		}
	}
}

// FS returns files with the rules of the volume.
func (v *Volume) FS(inner vfs.FS) vfs.FS {
	if v == nil {
		return inner
	}
	return &files{FS: inner, v: v}
}

type files struct {
	vfs.FS
	v *Volume
}

// Unwrap is part of what pebble's vfs.Root asks for.
func (f *files) Unwrap() vfs.FS { return f.FS }

// change runs an operation on a directory, again for as long as it is to wait for
// space.
func (f *files) change(doing, path string, class class, do func() error) error {
	for {
		err := f.v.Do(doing, path, do)
		if err == nil || !IsFull(err) && !broken(err) || !f.v.again(doing, path, class, err) {
			return err
		}
	}
}

// broken tells errors of the disk from those that say what a directory holds.
func broken(err error) bool { return isAny(err, diskErrors) }

func (f *files) open(doing, path string, do func() (vfs.File, error)) (file vfs.File, err error) {
	class := classOf(path)
	err = f.change(doing, path, class, func() (err error) {
		file, err = do()
		return err
	})
	if err != nil {
		return nil, err
	}
	return f.watched(file, path, class), nil
}

func (f *files) watched(inner vfs.File, path string, class class) *file {
	return &file{File: inner, v: f.v, class: class, op: f.v.pending.add(path)}
}

func (f *files) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open("create", name, func() (vfs.File, error) { return f.FS.Create(name, category) })
}

func (f *files) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open("open", name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

func (f *files) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open("reuse", newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
}

func (f *files) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return f.watched(dir, name, essential), nil
}

func (f *files) Link(oldname, newname string) error {
	return f.change("link", newname, classOf(newname), func() error { return f.FS.Link(oldname, newname) })
}

func (f *files) Rename(oldname, newname string) error {
	return f.change("rename", newname, classOf(newname), func() error { return f.FS.Rename(oldname, newname) })
}

func (f *files) Remove(name string) error {
	return f.change("remove", name, classOf(name), func() error { return f.FS.Remove(name) })
}

func (f *files) RemoveAll(name string) error {
	return f.change("remove", name, classOf(name), func() error { return f.FS.RemoveAll(name) })
}

func (f *files) MkdirAll(dir string, perm os.FileMode) error {
	return f.change("make directory", dir, essential, func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *files) Lock(name string) (lock io.Closer, err error) {
	err = f.change("lock", name, essential, func() (err error) {
		lock, err = f.FS.Lock(name)
		return err
	})
	return lock, err
}

// file is a file, or a directory, that is open for writing.
type file struct {
	vfs.File
	v     *Volume
	class class
	op    *op
}

// Write writes all of p, in as many pieces as there is space for at a time.
func (f *file) Write(p []byte) (written int, err error) {
	for {
		f.op.begin("write")
		n, err := f.File.Write(p[written:])
		f.op.end()
		written += n
		if !f.v.again("write", f.op.path, f.class, err) {
			return written, err
		}
	}
}

func (f *file) WriteAt(p []byte, at int64) (written int, err error) {
	for {
		f.op.begin("write")
		n, err := f.File.WriteAt(p[written:], at+int64(written))
		f.op.end()
		written += n
		if !f.v.again("write", f.op.path, f.class, err) {
			return written, err
		}
	}
}

// Preallocate does nothing while room is short: it is done for speed, and where
// there is not enough, some file systems take all that is left and still fail.
func (f *file) Preallocate(offset, length int64) error {
	if f.v.Level() != OK || f.v.free.Load() < f.v.reserve+uint64(length) {
		return nil
	}
	f.op.begin("allocate")
	defer f.op.end()
	return f.File.Preallocate(offset, length)
}

// A sync is never repeated: what a failed one left out, a later one would not know.

func (f *file) Sync() error     { return f.synced(f.File.Sync) }
func (f *file) SyncData() error { return f.synced(f.File.SyncData) }

func (f *file) SyncTo(length int64) (all bool, err error) {
	err = f.synced(func() (err error) {
		all, err = f.File.SyncTo(length)
		return err
	})
	return all, err
}

func (f *file) synced(sync func() error) error {
	f.op.begin("sync")
	err := sync()
	f.op.end()
	if err != nil {
		f.v.Failed("sync", f.op.path, err)
	}
	return err
}

// Close may have to write, too, on some file systems.
func (f *file) Close() error {
	f.op.begin("close")
	err := f.File.Close()
	f.op.end()
	f.v.pending.drop(f.op)
	if err != nil {
		f.v.Failed("close", f.op.path, err)
	}
	return err
}
