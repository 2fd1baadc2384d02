package raftnet

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// logOf returns a log with the entries of a term, and the store below it.
func logOf(t *testing.T, from, to, term uint64) (*Log, *raft.InmemStore) {
	t.Helper()
	store := raft.NewInmemStore()
	log := NewLog(store)
	if err := log.StoreLogs(entries(from, to, term)); err != nil {
		t.Fatal(err)
	}
	return log, store
}

func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term})
	}
	return logs
}

func TestConflicts(t *testing.T) {
	if NewLog(raft.NewInmemStore()).conflicts(7, 2) {
		t.Error("an empty log conflicts")
	}
	log, _ := logOf(t, 5, 20, 3)
	for _, test := range []struct {
		index, term uint64
		want        bool
	}{
		{5, 3, false}, {20, 3, false}, {5, 4, true}, {20, 2, true}, // an entry in its place
		{4, 4, true}, {4, 3, false}, {4, 2, false}, // one behind it, of a term before
		{3, 4, false}, {21, 4, false}, {100, 4, false}, // none
	} {
		if got := log.conflicts(test.index, test.term); got != test.want {
			t.Errorf("entry %d of term %d conflicts: %v, want %v", test.index, test.term, got, test.want)
		}
	}
}

// TestSnapshotsEntryStays: of the entries that are truncated the last one stays as long as others
// are behind it.
func TestSnapshotsEntryStays(t *testing.T) {
	log, store := logOf(t, 5, 20, 3)
	for _, test := range []struct{ from, to, first, last uint64 }{
		{5, 10, 10, 20}, {10, 10, 10, 20}, // a prefix
		{15, 20, 10, 14}, // what conflicts
		{10, 14, 0, 0},   // all
	} {
		if err := log.DeleteRange(test.from, test.to); err != nil {
			t.Fatal(err)
		}
		wantEnds(t, store, test.first, test.last)
	}
}

// TestReplace: the entry that stands for a state empties the log, and is not kept. What
// comes behind it is.
func TestReplace(t *testing.T) {
	for name, state := range map[string]uint64{"in the middle": 10, "at the end": 20, "before the first": 4} {
		t.Run(name, func(t *testing.T) {
			log, store := logOf(t, 5, 20, 3)
			log.replace(state, 7)
			var have raft.Log
			if err := log.GetLog(state, &have); err != nil || have.Term != 0 {
				t.Errorf("entry %d: term %d, %v; want one of no term", state, have.Term, err)
			}
			if err := log.DeleteRange(state, 20); err != nil { // as raft does first
				t.Fatal(err)
			}
			if err := log.StoreLogs(entries(state, state, 7)); err != nil {
				t.Fatal(err)
			}
			wantEnds(t, store, 0, 0)
			if err := log.GetLog(state, &have); !errors.Is(err, raft.ErrLogNotFound) {
				t.Errorf("entry %d: %v, want none", state, err)
			}
			if err := log.StoreLogs(entries(state, state+3, 7)); err != nil { // stands for a state no more
				t.Fatal(err)
			}
			wantEnds(t, store, state, state+3)
		})
	}
}

// TestReplaceOther: only one entry with the index and the term of the state stands for it.
func TestReplaceOther(t *testing.T) {
	for name, logs := range map[string][]*raft.Log{
		"two entries": entries(10, 11, 7), "another term": entries(10, 10, 8), "another index": entries(11, 11, 7),
	} {
		log, store := logOf(t, 5, 9, 3)
		over := log.replace(10, 7)
		if err := log.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		wantEnds(t, store, 5, logs[len(logs)-1].Index)
		over()
		var have raft.Log
		if err := log.GetLog(10, &have); err == nil && have.Term == 0 {
			t.Error("what stands for a state stays, though it was never appended")
		}
	}
}

func wantEnds(t *testing.T, store *raft.InmemStore, first, last uint64) {
	t.Helper()
	haveFirst, _ := store.FirstIndex()
	haveLast, _ := store.LastIndex()
	if haveFirst != first || haveLast != last {
		t.Errorf("entries %d to %d, want %d to %d", haveFirst, haveLast, first, last)
	}
}
