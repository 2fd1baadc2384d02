package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/raft"
)

// journal is the least that can be durable: entries of all groups with checksums,
// one file, one write and one fsync for all that wait, and everything else in
// memory. It neither truncates the file nor reads it, and votes stay in memory: it
// bounds what a log of one's own could be, and is none.
type journal struct {
	file  *os.File
	syncs atomic.Uint64
	done  chan struct{} // closed when the writer has ended

	mu struct {
		sync.Mutex
		next   *write // what gathers
		closed bool
	}
	some sync.Cond // next has something, or closed
}

// write is what goes to the file at once.
type write struct {
	content []byte
	done    chan struct{} // closed when it is on disk, or err is set
	err     error
}

func newWrite() *write { return &write{done: make(chan struct{})} }

func openJournal(dir string) (*journal, error) {
	file, err := os.Create(filepath.Join(dir, "journal"))
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, done: make(chan struct{})}
	j.some.L = &j.mu
	j.mu.next = newWrite()
	go j.write()
	return j, nil
}

// allocated bytes at a time keep the file's length out of most fsyncs.
const allocated = 64 << 20

func (j *journal) write() {
	defer close(j.done)
	for at, end := int64(0), int64(0); ; {
		w := j.take()
		if w == nil {
			return
		}
		if at+int64(len(w.content)) > end {
			const keepSize = 1
			w.err = syscall.Fallocate(int(j.file.Fd()), keepSize, end, allocated)
			end += allocated
		}
		n, err := j.file.WriteAt(w.content, at)
		at += int64(n)
		w.err = errors.Join(w.err, err, syscall.Fdatasync(int(j.file.Fd())))
		j.syncs.Add(1)
		close(w.done)
	}
}

// take waits for something to write, and returns nil at the end.
func (j *journal) take() *write {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.mu.next.content) == 0 {
		if j.mu.closed {
			return nil
		}
		j.some.Wait()
	}
	w := j.mu.next
	j.mu.next = newWrite()
	return w
}

// add puts entries into the next write and returns when it is done.
func (j *journal) add(group uint32, logs []*raft.Log) error {
	j.mu.Lock()
	w := j.mu.next
	for _, log := range logs {
		w.content = appendRecord(w.content, group, log)
	}
	j.some.Signal()
	j.mu.Unlock()
	<-w.done
	return w.err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends CRC-32C(4) of what follows, length(4), group(4), index(8),
// term(8), appended at(8), type(1), data.
func appendRecord(to []byte, group uint32, log *raft.Log) []byte {
	at := len(to)
	to = binary.BigEndian.AppendUint32(to, 0)
	to = binary.BigEndian.AppendUint32(to, uint32(len(log.Data)))
	to = binary.BigEndian.AppendUint32(to, group)
	to = binary.BigEndian.AppendUint64(to, log.Index)
	to = binary.BigEndian.AppendUint64(to, log.Term)
	to = binary.BigEndian.AppendUint64(to, uint64(log.AppendedAt.UnixNano()))
	to = append(append(to, byte(log.Type)), log.Data...)
	binary.BigEndian.PutUint32(to[at:], crc32.Checksum(to[at+4:], castagnoli))
	return to
}

func (j *journal) group(id int) (raft.LogStore, raft.StableStore, error) {
	store := raft.NewInmemStore()
	return &journalGroup{store, j, uint32(id)}, unset{store}, nil
}

func (j *journal) fsyncs() uint64 { return j.syncs.Load() }

func (j *journal) close() error {
	j.mu.Lock()
	j.mu.closed = true
	j.some.Signal()
	j.mu.Unlock()
	<-j.done
	return j.file.Close()
}

type journalGroup struct {
	*raft.InmemStore
	journal *journal
	id      uint32
}

func (g *journalGroup) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

func (g *journalGroup) StoreLogs(logs []*raft.Log) error {
	if err := g.journal.add(g.id, logs); err != nil {
		return err
	}
	return g.InmemStore.StoreLogs(logs)
}
