package sharedlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// Group is one group's part of the shared log: raft's LogStore and StableStore,
// and a place for its newest snapshot. Its entries are contiguous.
type Group struct {
	shared *Log
	id     uint32

	mu struct {
		sync.Mutex
		first, last uint64 // indexes, both 0 for an empty log
		stable      map[string][]byte
		damage      error // the first ErrCorrupt, since raft keeps only its text
	}
}

var (
	_ raft.LogStore    = (*Group)(nil)
	_ raft.StableStore = (*Group)(nil)
)

// Group opens the part of a group, whose number is below 0xFFFFFFFF. One open
// part of each group is enough: a second one would not see the first's appends.
func (l *Log) Group(id uint32) (*Group, error) {
	if err := l.use(); err != nil {
		return nil, err
	}
	defer l.uses.Done()
	iter, err := l.db.NewIter(&pebble.IterOptions{LowerBound: groupKey(id, kindEntry), UpperBound: groupKey(id, kindEntry+1)})
	if err != nil {
		return nil, disk.ReadError("read log", err)
	}
	g := &Group{shared: l, id: id}
	g.mu.stable = make(map[string][]byte)
	if iter.First() {
		g.mu.first = entryIndex(iter.Key())
	}
	if iter.Last() {
		g.mu.last = entryIndex(iter.Key())
	}
	return g, disk.ReadError("read log", iter.Close())
}

// Drop durably forgets all that the log has of a group, which must not be open. A damaged
// part may be dropped too: it is cut out of the files without being read, so that no
// compaction meets it. The error is disk.ErrCorrupt if damage is where files are cut, in what
// the group shares with others; then nothing has changed.
func (l *Log) Drop(id uint32) error {
	if err := l.use(); err != nil {
		return err
	}
	defer l.uses.Done()
	return disk.Excise(l.db, pebble.KeyRange{Start: groupKey(id, 0), End: groupKey(id+1, 0)})
}

// Snapshot returns what SetSnapshot wrote last, nil if nothing.
func (g *Group) Snapshot() ([]byte, error) {
	content, err := g.shared.get(groupKey(g.id, kindSnapshot))
	return content, g.note(err)
}

// SetSnapshot durably replaces the record of the group's newest snapshot.
func (g *Group) SetSnapshot(content []byte) error {
	return g.shared.put(groupKey(g.id, kindSnapshot), content)
}

// FirstIndex returns the index of the oldest entry, 0 for an empty log.
func (g *Group) FirstIndex() (uint64, error) {
	first, _ := g.ends()
	return first, nil
}

// LastIndex returns the index of the newest entry, 0 for an empty log.
func (g *Group) LastIndex() (uint64, error) {
	_, last := g.ends()
	return last, nil
}

func (g *Group) ends() (first, last uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.first, g.mu.last
}

// GetLog reads an entry and checks it. Its error is raft.ErrLogNotFound, wraps
// disk.ErrCorrupt, or is of a failed read.
func (g *Group) GetLog(index uint64, log *raft.Log) error {
	key := entryKey(g.id, index)
	content, err := g.shared.get(key)
	if err == nil && content == nil {
		return g.missing(index)
	}
	if err == nil {
		err = readEntry(content, index, log)
	}
	return g.note(err)
}

// missing tells an index outside the log from a hole in it.
func (g *Group) missing(index uint64) error {
	if first, last := g.ends(); last == 0 || index < first || index > last {
		return raft.ErrLogNotFound
	}
	return g.note(disk.Corrupt("log of group %d: entry %d is missing", g.id, index))
}

// note keeps the first damage met, and returns err.
func (g *Group) note(err error) error {
	if errors.Is(err, disk.ErrCorrupt) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.mu.damage == nil {
			g.mu.damage = err
		}
	}
	return err
}

// Damage returns the first ErrCorrupt that was met, nil if none: raft keeps only
// the text of what its stores return.
func (g *Group) Damage() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.damage
}

// Tail returns how many of the newest entries take at most a number of bytes
// together, at most most.
func (g *Group) Tail(bytes, most int) (n int, err error) {
	first, last := g.ends()
	for index := last; n < most && index > 0 && index >= first; index-- {
		var log raft.Log
		if err := g.GetLog(index, &log); errors.Is(err, raft.ErrLogNotFound) {
			break // truncated meanwhile
		} else if err != nil {
			return 0, err
		}
		if bytes -= entrySize(&log); bytes < 0 {
			break
		}
		n++
	}
	return n, nil
}

// StoreLog appends an entry and returns when it is on disk.
func (g *Group) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries and returns when they are on disk. Entries that leave
// a gap follow a snapshot from elsewhere: they replace the log.
func (g *Group) StoreLogs(logs []*raft.Log) error {
	if err := g.shared.use(); err != nil {
		return err
	}
	defer g.shared.uses.Done()
	size := 0
	for _, log := range logs {
		size += entrySize(log) + 64
	}
	batch := g.shared.db.NewBatchWithSize(size)
	defer batch.Close()
	first, last := g.ends()
	gap := last > 0 && logs[0].Index > last+1
	if gap {
		if err := batch.DeleteRange(entryKey(g.id, first), entryKey(g.id, last+1), nil); err != nil {
			return fmt.Errorf("replace log: %w", err)
		}
		g.deleted(first, last) // before the commit, whose fsync may take long: see DeleteRange
	}
	for _, log := range logs {
		setSealed(batch, entryKey(g.id, log.Index), entrySize(log), func(to []byte) { fillEntry(to, log) })
	}
	if err := g.shared.commit(batch, !planted.Bug(1)); err != nil {
		return err
	}
	g.stored(logs)
	g.shared.grew(size)
	return nil
}

func (g *Group) stored(logs []*raft.Log) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.first == 0 {
		g.mu.first = logs[0].Index
	}
	g.mu.last = logs[len(logs)-1].Index
}

// DeleteRange removes entries, both ends included, at one end of the log. It is
// one record however many they are; the next append makes it durable.
func (g *Group) DeleteRange(from, to uint64) error {
	if err := g.shared.use(); err != nil {
		return err
	}
	defer g.shared.uses.Done()
	batch := g.shared.db.NewBatch()
	defer batch.Close()
	if err := batch.DeleteRange(entryKey(g.id, from), entryKey(g.id, to+1), nil); err != nil {
		return fmt.Errorf("delete log entries: %w", err)
	}
	g.deleted(from, to) // first: a reader that finds an entry gone must not take it for lost
	return g.shared.commit(batch, false)
}

// deleted may run beside stored: raft truncates while it appends.
func (g *Group) deleted(from, to uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.mu.last == 0: // there is none
	case from <= g.mu.first && to >= g.mu.last:
		g.mu.first, g.mu.last = 0, 0
	case from <= g.mu.first: // or before it, if the log was replaced meanwhile
		g.mu.first = max(g.mu.first, to+1)
	default:
		g.mu.last = from - 1
	}
}

// Set durably keeps a value of raft's: its term or its vote.
func (g *Group) Set(name, value []byte) error {
	current, err := g.Get(name)
	if err != nil {
		return err
	}
	if len(current) > 0 && string(current) == string(value) {
		return nil // raft writes its term again at every start: no reason to fsync
	}
	if !planted.Bug(2) || !bytes.HasPrefix(name, []byte("LastVote")) {
		err = g.shared.put(append(groupKey(g.id, kindStable), name...), value)
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.stable[string(name)] = append([]byte{}, value...)
	return nil
}

// Get returns a value of raft's, empty if there is none.
func (g *Group) Get(name []byte) ([]byte, error) {
	g.mu.Lock()
	value, ok := g.mu.stable[string(name)]
	g.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := g.shared.get(append(groupKey(g.id, kindStable), name...))
	return value, g.note(err)
}

// SetUint64 is Set of a number.
func (g *Group) SetUint64(name []byte, value uint64) error {
	return g.Set(name, binary.BigEndian.AppendUint64(nil, value))
}

// GetUint64 returns a number of raft's, 0 if there is none.
func (g *Group) GetUint64(name []byte) (uint64, error) {
	value, err := g.Get(name)
	if err != nil || len(value) == 0 {
		return 0, err
	}
	if len(value) != 8 {
		return 0, g.note(disk.Corrupt("stable value %q of group %d has %d bytes", name, g.id, len(value)))
	}
	return binary.BigEndian.Uint64(value), nil
}
