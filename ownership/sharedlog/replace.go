package sharedlog

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// A state that comes from elsewhere may end at an entry in whose place this log has
// another one, that was never committed. Raft keeps such entries, and remembers the last
// one: it would refuse what follows the state, and be sent the state for ever
// (hashicorp/raft#697). It forgets them when an entry is appended in that place: Replace
// prepares the log for that.

// Conflicts reports whether the log has an entry that cannot be in one log with the entry
// of an index and a term: then none from that index on has been committed.
func (g *Group) Conflicts(index, term uint64) bool {
	var log raft.Log
	if g.GetLog(index, &log) == nil {
		return log.Term != term
	}
	return g.GetLog(index+1, &log) == nil && log.Term < term
}

// Replace has the log take the next entry that is appended with an index and a term for a
// sign that a state holds everything up to there: it is not kept, and neither is any other
// entry. Until then the log shows one of no term in its place, which raft replaces.
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
