package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// wals is a raft-wal directory for each group: segments for entries, a bbolt file
// for votes and for the list of segments.
type wals struct {
	dir   string
	size  int // bytes of a segment
	syncs atomic.Uint64
	open  []*wal.WAL
}

// segmentBytes is what the first segments of all groups of a node take together:
// raft-wal allocates them whole, by default 64 MiB for each group.
const segmentBytes = 256 << 20

func openWAL(dir string, groups int) (*wals, error) {
	return &wals{dir: dir, size: min(segmentBytes/groups, wal.DefaultSegmentSize)}, nil
}

func (w *wals) group(id int) (raft.LogStore, raft.StableStore, error) {
	dir := filepath.Join(w.dir, fmt.Sprint(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	log, err := wal.Open(dir,
		wal.WithLogger(hclog.NewNullLogger()), wal.WithSegmentSize(w.size),
		wal.WithSegmentFiler(segment.NewFiler(dir, countedFS{fs.New(), &w.syncs})),
		wal.WithMetaStore(countedMeta{&metadb.BoltMetaDB{}, &w.syncs}))
	if err != nil {
		return nil, nil, err
	}
	w.open = append(w.open, log)
	return log, log, nil
}

func (w *wals) fsyncs() uint64 { return w.syncs.Load() }

func (w *wals) close() error {
	var errs []error
	for _, log := range w.open {
		errs = append(errs, log.Close())
	}
	return errors.Join(errs...)
}

// countedFS counts the fsyncs of segments and of their directory.
type countedFS struct {
	types.VFS
	syncs *atomic.Uint64
}

func (f countedFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	file, err := f.VFS.Create(dir, name, size)
	f.syncs.Add(1) // of the directory, at the file's first fsync
	return countedFile{file, f.syncs}, err
}

func (f countedFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	file, err := f.VFS.OpenWriter(dir, name)
	return countedFile{file, f.syncs}, err
}

func (f countedFS) Delete(dir, name string) error {
	f.syncs.Add(1)
	return f.VFS.Delete(dir, name)
}

type countedFile struct {
	types.WritableFile
	syncs *atomic.Uint64
}

func (f countedFile) Sync() error {
	f.syncs.Add(1)
	return f.WritableFile.Sync()
}

// countedMeta counts the fsyncs of raft-wal's bbolt file.
type countedMeta struct {
	types.MetaStore
	syncs *atomic.Uint64
}

func (m countedMeta) CommitState(state types.PersistentState) error {
	m.syncs.Add(syncsPerCommit)
	return m.MetaStore.CommitState(state)
}

func (m countedMeta) SetStable(key, value []byte) error {
	m.syncs.Add(syncsPerCommit)
	return m.MetaStore.SetStable(key, value)
}
