package sharedlog

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term})
	}
	return logs
}

func TestConflicts(t *testing.T) {
	shared := testLog(t)
	g, err := shared.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if g.Conflicts(7, 2) {
		t.Error("an empty log conflicts")
	}
	if err := g.StoreLogs(entries(5, 20, 3)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		index, term uint64
		want        bool
	}{
		{5, 3, false}, {20, 3, false}, {5, 4, true}, {20, 2, true}, // an entry in its place
		{4, 4, true}, {4, 3, false}, {4, 2, false}, // one behind it, of a term before
		{3, 4, false}, {21, 4, false}, {100, 4, false}, // none
	} {
		if got := g.Conflicts(test.index, test.term); got != test.want {
			t.Errorf("entry %d of term %d conflicts: %v, want %v", test.index, test.term, got, test.want)
		}
	}
}

// TestReplace: the entry that stands for a state empties the log, and is not kept. What
// comes behind it is.
func TestReplace(t *testing.T) {
	shared := testLog(t)
	for name, state := range map[string]uint64{"in the middle": 10, "at the end": 20, "before the first": 4} {
		t.Run(name, func(t *testing.T) {
			g, err := shared.Group(uint32(state))
			if err != nil {
				t.Fatal(err)
			}
			if err := g.StoreLogs(entries(5, 20, 3)); err != nil {
				t.Fatal(err)
			}
			g.Replace(state, 7)
			var log raft.Log
			if err := g.GetLog(state, &log); err != nil || log.Term != 0 {
				t.Errorf("entry %d: term %d, %v; want one of no term", state, log.Term, err)
			}
			if err := g.DeleteRange(state, 20); err != nil { // as raft does first
				t.Fatal(err)
			}
			if err := g.StoreLog(&raft.Log{Index: state, Term: 7}); err != nil {
				t.Fatal(err)
			}
			if first, last := g.ends(); first != 0 || last != 0 {
				t.Errorf("entries %d to %d, want none", first, last)
			}
			if err := g.GetLog(state, &log); !errors.Is(err, raft.ErrLogNotFound) {
				t.Errorf("entry %d: %v, want none", state, err)
			}
			if err := g.StoreLogs(entries(state, state+3, 7)); err != nil { // no sign any more
				t.Fatal(err)
			}
			if again, err := shared.Group(uint32(state)); err != nil {
				t.Error(err)
			} else if first, last := again.ends(); first != state || last != state+3 {
				t.Errorf("entries %d to %d on the disk, want %d to %d", first, last, state, state+3)
			}
		})
	}
}
