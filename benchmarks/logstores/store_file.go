package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// files is a raft-boltdb file for each group: what hashicorp/raft comes with.
type files struct {
	dir   string
	syncs atomic.Uint64
	open  []*raftboltdb.BoltStore
}

func openFiles(dir string, groups int) (*files, error) {
	return &files{dir: dir, open: make([]*raftboltdb.BoltStore, 0, groups)}, nil
}

func (f *files) group(id int) (raft.LogStore, raft.StableStore, error) {
	store, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(f.dir, fmt.Sprintf("%d.db", id)), BoltOptions: boltOptions(),
	})
	if err != nil {
		return nil, nil, err
	}
	f.open = append(f.open, store)
	counted := &countedBolt{BoltStore: store, syncs: &f.syncs}
	return counted, counted, nil
}

// boltOptions are bbolt's fastest that lose nothing: the list of free pages is
// found again at start.
func boltOptions() *bbolt.Options {
	return &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}
}

func (f *files) fsyncs() uint64 { return f.syncs.Load() }

func (f *files) close() error {
	var errs []error
	for _, store := range f.open {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// syncsPerCommit is what a bbolt transaction costs: one for the pages, one for
// the page that makes them count. A third follows where the file grows.
const syncsPerCommit = 2

// countedBolt counts the fsyncs of its transactions: bbolt has no place to count
// them itself.
type countedBolt struct {
	*raftboltdb.BoltStore
	syncs *atomic.Uint64
}

func (b *countedBolt) StoreLog(log *raft.Log) error { return b.StoreLogs([]*raft.Log{log}) }

func (b *countedBolt) StoreLogs(logs []*raft.Log) error {
	b.syncs.Add(syncsPerCommit)
	return b.BoltStore.StoreLogs(logs)
}

func (b *countedBolt) DeleteRange(from, to uint64) error {
	b.syncs.Add(syncsPerCommit)
	return b.BoltStore.DeleteRange(from, to)
}

func (b *countedBolt) Set(key, value []byte) error {
	b.syncs.Add(syncsPerCommit)
	return b.BoltStore.Set(key, value)
}

func (b *countedBolt) SetUint64(key []byte, value uint64) error {
	b.syncs.Add(syncsPerCommit)
	return b.BoltStore.SetUint64(key, value)
}
