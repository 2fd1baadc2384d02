package raftnet

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// Log is a replica's log that can drop what conflicts with a received state. Such a state
// may end at an index where the log has another, uncommitted entry. Raft keeps such
// entries and remembers the last one: it would refuse what follows the state, and be sent
// the state for ever (hashicorp/raft#697). It forgets them when an entry is appended at
// that index, which replace prepares the log for.
type Log struct {
	raft.LogStore
	sign atomic.Pointer[raft.Log] // that stands for a state; nil for none
}

// NewLog returns what raft and its transport use a log by.
func NewLog(store raft.LogStore) *Log { return &Log{LogStore: store} }

// conflicts reports whether the log has an entry that cannot be in one log with the entry
// of an index and a term: then none from that index on has been committed.
func (l *Log) conflicts(index, term uint64) bool {
	var log raft.Log
	if l.GetLog(index, &log) == nil {
		return log.Term != term
	}
	return l.GetLog(index+1, &log) == nil && log.Term < term
}

// replace prepares for the append of one entry with this index and term, which says that
// a received state holds everything up to there: that append stores nothing and removes
// all entries. Until then, or until it is known that there is no such append, GetLog returns an
// entry of term 0 at the index, which raft replaces.
func (l *Log) replace(index, term uint64) (over func()) {
	sign := &raft.Log{Index: index, Term: term}
	l.sign.Store(sign)
	return func() { l.sign.CompareAndSwap(sign, nil) }
}

// GetLog implements [raft.LogStore].
func (l *Log) GetLog(index uint64, log *raft.Log) error {
	if sign := l.sign.Load(); sign != nil && sign.Index == index {
		*log = raft.Log{Index: index}
		return nil
	}
	return l.LogStore.GetLog(index, log)
}

// DeleteRange implements [raft.LogStore]. Of the first entries, behind which others stay, the last
// one stays too: it is that of a snapshot, and without it raft would refuse what another leader
// sends in the place of those others.
func (l *Log) DeleteRange(first, last uint64) error {
	end, err := l.LastIndex()
	if err != nil {
		return err
	}
	if last < end {
		last--
	}
	if last < first {
		return nil
	}
	return l.LogStore.DeleteRange(first, last)
}

// StoreLog implements [raft.LogStore].
func (l *Log) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements [raft.LogStore].
func (l *Log) StoreLogs(logs []*raft.Log) error {
	sign := l.sign.Load()
	if sign == nil || len(logs) != 1 || logs[0].Index != sign.Index || logs[0].Term != sign.Term {
		return l.LogStore.StoreLogs(logs)
	}
	if err := l.clear(); err != nil {
		return fmt.Errorf("clear log: %w", err)
	}
	l.sign.Store(nil)
	return nil
}

// clear removes all entries. Where only the next append makes that durable, a crash before
// it has the conflict found, and the state sent, once more.
func (l *Log) clear() error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	return l.DeleteRange(first, last)
}
