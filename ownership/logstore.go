package ownership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

// groupLog is one group's part of the shared log: raft's LogStore and
// StableStore. Its entries are contiguous.
type groupLog struct {
	shared *sharedLog
	group  uint32

	mu struct {
		sync.Mutex
		first, last uint64 // indexes, both 0 for an empty log
		stable      map[string][]byte
		damage      error // the first ErrCorrupt, since raft keeps only its text
	}
}

var (
	_ raft.LogStore    = (*groupLog)(nil)
	_ raft.StableStore = (*groupLog)(nil)
)

// openGroupLog finds the ends of the group's log.
func openGroupLog(shared *sharedLog, group uint32) (*groupLog, error) {
	done, err := shared.use()
	if err != nil {
		return nil, err
	}
	defer done()
	prefix := logKey(group, logEntry)
	iter, err := shared.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return nil, readError("read log", err)
	}
	l := &groupLog{shared: shared, group: group}
	l.mu.stable = make(map[string][]byte)
	if iter.First() {
		l.mu.first = lastItem(iter.Key())
	}
	if iter.Last() {
		l.mu.last = lastItem(iter.Key())
	}
	return l, readError("read log", iter.Close())
}

func (l *groupLog) FirstIndex() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.first, nil
}

func (l *groupLog) LastIndex() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.last, nil
}

// GetLog reads an entry and checks it. Its error is raft.ErrLogNotFound,
// ErrCorrupt, or a failed read.
func (l *groupLog) GetLog(index uint64, log *raft.Log) error {
	key := entryKey(l.group, index)
	content, err := l.shared.get(key)
	if err == nil && content == nil {
		return l.missing(index)
	}
	if err == nil {
		err = readEntry(content, index, log)
	}
	return l.note(err)
}

// missing tells an index outside the log from a hole in it.
func (l *groupLog) missing(index uint64) error {
	l.mu.Lock()
	inside := index >= l.mu.first && index <= l.mu.last && l.mu.last > 0
	l.mu.Unlock()
	if !inside {
		return raft.ErrLogNotFound
	}
	return l.note(corrupt("log of range %d: entry %d is missing", l.group, index))
}

// note keeps the cause of the first damage met.
func (l *groupLog) note(err error) error {
	if errors.Is(err, ErrCorrupt) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.mu.damage == nil {
			l.mu.damage = err
		}
	}
	return err
}

// damage returns the first ErrCorrupt that a read met.
func (l *groupLog) damage() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.damage
}

func (l *groupLog) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries and returns when they are on disk.
func (l *groupLog) StoreLogs(logs []*raft.Log) error {
	done, err := l.shared.use()
	if err != nil {
		return err
	}
	defer done()
	size := 0
	for _, log := range logs {
		size += entrySize(log) + 64
	}
	batch := l.shared.db.NewBatchWithSize(size)
	defer batch.Close()
	for _, log := range logs {
		setSealed(batch, entryKey(l.group, log.Index), entrySize(log), func(to []byte) { fillEntry(to, log) })
	}
	if err := l.shared.commit(batch, true); err != nil {
		return err
	}
	l.stored(logs)
	l.shared.grew(size)
	return nil
}

func (l *groupLog) stored(logs []*raft.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.first == 0 {
		l.mu.first = logs[0].Index
	}
	l.mu.last = logs[len(logs)-1].Index
}

// DeleteRange removes entries, both ends included, at one end of the log. It is
// one record however many they are; the next append makes it durable.
func (l *groupLog) DeleteRange(from, to uint64) error {
	done, err := l.shared.use()
	if err != nil {
		return err
	}
	defer done()
	batch := l.shared.db.NewBatch()
	defer batch.Close()
	if err := batch.DeleteRange(entryKey(l.group, from), entryKey(l.group, to+1), nil); err != nil {
		return fmt.Errorf("delete log entries: %w", err)
	}
	if err := l.shared.commit(batch, false); err != nil {
		return err
	}
	l.deleted(from, to)
	return nil
}

func (l *groupLog) deleted(from, to uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case from <= l.mu.first && to >= l.mu.last:
		l.mu.first, l.mu.last = 0, 0
	case from <= l.mu.first:
		l.mu.first = to + 1
	default:
		l.mu.last = from - 1
	}
}

// Set keeps a value of raft's: its term and its vote.
func (l *groupLog) Set(name, value []byte) error {
	current, err := l.Get(name)
	if err != nil {
		return err
	}
	if len(current) > 0 && string(current) == string(value) {
		return nil // raft writes its term again at every start: no reason to fsync
	}
	if err := l.shared.put(append(logKey(l.group, logStable), name...), value); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.stable[string(name)] = append([]byte{}, value...)
	return nil
}

// Get returns a value of raft's, empty if there is none.
func (l *groupLog) Get(name []byte) ([]byte, error) {
	l.mu.Lock()
	value, ok := l.mu.stable[string(name)]
	l.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := l.shared.get(append(logKey(l.group, logStable), name...))
	return value, l.note(err)
}

func (l *groupLog) SetUint64(name []byte, value uint64) error {
	return l.Set(name, binary.BigEndian.AppendUint64(nil, value))
}

func (l *groupLog) GetUint64(name []byte) (uint64, error) {
	value, err := l.Get(name)
	if err != nil || len(value) == 0 {
		return 0, err
	}
	if len(value) != 8 {
		return 0, l.note(corrupt("stable value %q of range %d has %d bytes", name, l.group, len(value)))
	}
	return binary.BigEndian.Uint64(value), nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
