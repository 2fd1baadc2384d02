package sharedlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// TestPowerLoss: bad-input.md, row 59. Power fails before any operation on a file,
// and what was not synced is there or not, block by block. The log opens as it was
// after some operation, and not before the last synced one.
func TestPowerLoss(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &crashModel{t: t, state: make(map[uint32]*logState)}
		for id := range uint32(3) {
			m.state[id] = &logState{next: 1}
		}
		m.survive(rt)
	})
}

// crashModel is a log of three groups with small tables, and what it may hold after
// a power loss.
type crashModel struct {
	t      *testing.T
	disk   *vfs.MemFS
	log    *Log
	groups []*Group
	state  map[uint32]*logState

	crash struct {
		sync.Mutex
		left   int // file operations until the power fails
		rng    *rand.Rand
		keep   int // percent of unsynced blocks and names that survive
		opened bool
		after  *vfs.MemFS // what is left; nil until then
		may    []string   // the states that the log may be in, the last one under way
		frozen []string   // may, when the power failed
	}
}

// logState is a group's log: terms[i] is of entry next-len(terms)+i.
type logState struct {
	next  uint64
	terms []uint64
	vote  uint64
}

func (m *crashModel) survive(rt *rapid.T) {
	m.disk = vfs.NewCrashableMem()
	m.crash.left = rapid.IntRange(0, 300).Draw(rt, "crash at")
	m.crash.keep = rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "kept")
	m.crash.rng = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	m.crash.may = []string{m.describe()}
	m.open(rt, errorfs.Wrap(m.disk, errorfs.InjectorFunc(m.operation)))
	m.crash.Lock()
	m.crash.opened = true
	m.crash.Unlock()
	for range rapid.IntRange(1, 60).Draw(rt, "steps") {
		m.step(rt)
	}
	m.powerLoss()
	if err := m.log.Close(); err != nil {
		rt.Fatal(err)
	}
	m.open(rt, m.crash.after)
	if got := m.read(rt); !slices.Contains(m.crash.frozen, got) {
		rt.Fatalf("log is\n%s\nwant one of\n%s", got, strings.Join(m.crash.frozen, "\n"))
	}
	for _, g := range m.groups {
		_, last := g.ends()
		if err := g.StoreLog(&raft.Log{Index: last + 1}); err != nil {
			rt.Fatal(err)
		}
	}
	if err := m.log.Close(); err != nil {
		rt.Fatal(err)
	}
}

func (m *crashModel) open(rt *rapid.T, files vfs.FS) {
	var err error
	if m.log, err = Open(Config{Dir: "log", Files: files, MemTable: 32 << 10, Logger: quiet{m.t}}); err != nil {
		rt.Fatal(err)
	}
	m.groups = m.groups[:0]
	for id := range uint32(len(m.state)) {
		g, err := m.log.Group(id)
		if err != nil {
			rt.Fatal(err)
		}
		m.groups = append(m.groups, g)
	}
}

// operation is called before each operation on a file.
func (m *crashModel) operation(errorfs.Op) error {
	m.crash.Lock()
	m.crash.left--
	now := m.crash.left == 0
	m.crash.Unlock()
	if now {
		m.powerLoss()
	}
	return nil
}

func (m *crashModel) powerLoss() {
	m.crash.Lock()
	defer m.crash.Unlock()
	if m.crash.after == nil {
		if !m.crash.opened {
			// Where pebble names a new manifest it relies on a file system that keeps the
			// order of names in a directory, as those with a journal do.
			m.crash.keep = 0
		}
		m.crash.frozen = slices.Clone(m.crash.may)
		m.crash.after = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: m.crash.keep, RNG: m.crash.rng})
	}
}

// step changes a group. The state that it leads to is one of those that may be from
// its beginning on, and the only one when it is synced.
func (m *crashModel) step(rt *rapid.T) {
	id := uint32(rapid.IntRange(0, len(m.state)-1).Draw(rt, "group"))
	s, g := m.state[id], m.groups[id]
	change, synced := m.change(rt, s, g)
	m.crash.Lock()
	m.crash.may = append(m.crash.may, m.describe())
	m.crash.Unlock()
	if err := change(); err != nil {
		rt.Fatal(err)
	}
	if synced {
		m.crash.Lock()
		m.crash.may = m.crash.may[len(m.crash.may)-1:]
		m.crash.Unlock()
	}
}

// change changes the state, and returns what does the same to the log.
func (m *crashModel) change(rt *rapid.T, s *logState, g *Group) (do func() error, synced bool) {
	oldest := s.next - uint64(len(s.terms))
	kind := rapid.SampledFrom([]string{"append", "append", "append", "gap", "truncate", "drop end", "vote", "flush", "mark"}).Draw(rt, "kind")
	switch {
	case kind == "vote":
		s.vote++
		return func() error { return g.SetUint64([]byte("vote"), s.vote) }, true
	case kind == "flush":
		return m.log.Truncated, false
	case kind == "mark":
		return m.log.mark.write, false
	case kind == "truncate" && len(s.terms) > 0:
		n := rapid.IntRange(1, len(s.terms)).Draw(rt, "n")
		s.terms = s.terms[n:]
		return func() error { return g.DeleteRange(oldest, oldest+uint64(n)-1) }, false
	case kind == "drop end" && len(s.terms) > 0:
		n, last := uint64(rapid.IntRange(1, len(s.terms)).Draw(rt, "n")), s.next-1
		s.next, s.terms = s.next-n, s.terms[:len(s.terms)-int(n)]
		return func() error { return g.DeleteRange(last-n+1, last) }, false
	case kind == "gap" && len(s.terms) > 0:
		s.next, s.terms = s.next+5, nil
	}
	var logs []*raft.Log
	for range rapid.IntRange(1, 4).Draw(rt, "n") {
		term := rapid.Uint64Range(1, 99).Draw(rt, "term")
		logs = append(logs, &raft.Log{Index: s.next, Term: term, Data: make([]byte, rapid.IntRange(0, 6000).Draw(rt, "bytes"))})
		s.next, s.terms = s.next+1, append(slices.Clip(s.terms), term)
	}
	return func() error { return g.StoreLogs(logs) }, true
}

// describe is what read returns of a log in this state.
func (m *crashModel) describe() string {
	var b strings.Builder
	for id := range uint32(len(m.state)) {
		s := m.state[id]
		first, last := s.next-uint64(len(s.terms)), s.next-1
		if len(s.terms) == 0 {
			first, last = 0, 0
		}
		fmt.Fprintln(&b, id, first, last, s.terms, s.vote)
	}
	return b.String()
}

func (m *crashModel) read(rt *rapid.T) string {
	var b strings.Builder
	for id, g := range m.groups {
		first, last := g.ends()
		terms := []uint64{}
		for index := first; index > 0 && index <= last; index++ {
			var log raft.Log
			if err := g.GetLog(index, &log); err != nil {
				rt.Fatal(err)
			}
			terms = append(terms, log.Term)
		}
		vote, err := g.GetUint64([]byte("vote"))
		if err != nil {
			rt.Fatal(err)
		}
		fmt.Fprintln(&b, id, first, last, terms, vote)
	}
	return b.String()
}
