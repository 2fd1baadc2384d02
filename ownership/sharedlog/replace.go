package sharedlog

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// A received state may end at an index where this log has another, uncommitted entry.
// Raft keeps such entries and remembers the last one: it would refuse what follows the
// state, and be sent the state for ever (hashicorp/raft#697). It forgets them when an
// entry is appended at that index, which Replace prepares the log for.

// Conflicts reports whether the log has an entry that cannot be in one log with the entry
// of an index and a term: then none from that index on has been committed.
func (g *Group) Conflicts(index, term uint64) bool {
	var log raft.Log
	if g.GetLog(index, &log) == nil {
		return log.Term != term
	}
	return g.GetLog(index+1, &log) == nil && log.Term < term
}

// Replace prepares for the append of one entry with this index and term, which says that
// a received state holds everything up to there: that append stores nothing and removes
// all entries. Until then GetLog returns an entry of term 0 at the index, which raft
// replaces.
func (g *Group) Replace(index, term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.replace = &raft.Log{Index: index, Term: term}
}

// replaced returns the entry that is to be replaced at an index, nil for none.
func (g *Group) replaced(index uint64) *raft.Log {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.replace == nil || g.mu.replace.Index != index {
		return nil
	}
	return g.mu.replace
}

// signs reports whether entries that are appended are the sign.
func (g *Group) signs(logs []*raft.Log) bool {
	sign := g.replaced(logs[0].Index)
	return sign != nil && len(logs) == 1 && logs[0].Term == sign.Term
}

// clear removes all entries. The next append makes it durable; without that the conflict
// would be found, and the state sent, once more.
func (g *Group) clear() error {
	if first, last := g.ends(); last > 0 {
		if err := g.DeleteRange(first, last); err != nil {
			return fmt.Errorf("clear log: %w", err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.replace = nil
	return nil
}
