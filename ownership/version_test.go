package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// programs are the versions that the programs of a town's nodes apply, by the node's name.
type programs struct {
	sync.Mutex
	of map[string]tables.Versions
}

func versions(oldest, newest uint32) tables.Versions {
	return tables.Versions{Oldest: oldest, Newest: newest}
}

func (p *programs) install(node string, v tables.Versions) {
	p.Lock()
	defer p.Unlock()
	p.of[node] = v
}

// tune has a node run its program, that of all others unless it has one of its own.
func (p *programs) tune(c *Config) {
	p.Lock()
	defer p.Unlock()
	c.versions = orDefault(p.of[c.Node], p.of[""])
}

// version wants nodes to be at a version of the state machine.
func (w *town) version(want uint32, nodes ...*townNode) {
	w.t.Helper()
	for _, n := range nodes {
		eventually(w.t, fmt.Sprintf("version %d at %s", want, n.name), func() error {
			if have := n.store.version.Load(); have != want {
				return fmt.Errorf("it is at %d", have)
			}
			return nil
		})
	}
}

// TestRollingUpgrade: nodes get a newer program one after the other, meanwhile the cluster
// stays at the older version, is written and read, and a node joins it; with the last one the
// version is raised, and from then on the older program neither starts nor joins.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	before, after := versions(4, 4), versions(4, 5)
	p := &programs{of: map[string]tables.Versions{"": before}}
	w := newTown(t, 3, 31, p.tune)
	w.version(4, w.nodes...)
	made := w.filled(10, "before")
	later := &wire.MetaCommand{Change: &wire.MetaCommand_RaiseVersion{RaiseVersion: &wire.RaiseVersion{Version: 5}}}
	for i, n := range w.nodes {
		n.stop()
		p.install(n.name, after)
		if err := n.open(0); err != nil {
			t.Fatal(err)
		}
		for id, ch := range w.filled(10, fmt.Sprint("with", i)) {
			made[id] = ch
		}
		if i == 1 { // one of the older program joins, and gets its part of the replicas
			if err := w.add("node-3").open(0); err != nil {
				t.Fatal(err)
			}
			w.settled(3, w.nodes...)
		}
		w.version(4, w.nodes...)
		if table, err := n.store.change(ctx, later); !errors.Is(err, ErrInvalid) {
			t.Errorf("a raise decided for another table, with %d newer programs: %v, table %v", i+1, err, table)
		}
		if err := n.store.do(ctx, 0, &wire.Command{}); !errors.Is(err, ErrRefused) {
			t.Errorf("a command of a later version: %v", err)
		}
	}
	last := w.nodes[3]
	last.stop()
	w.version(4, w.nodes[:3]...) // a node that is down holds the raise up
	p.install(last.name, after)
	if err := last.open(0); err != nil {
		t.Fatal(err)
	}
	w.version(5, w.nodes...)
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agreeEach()

	last.stop()
	p.install(last.name, before)
	if err := last.open(0); !errors.Is(err, ErrVersion) {
		t.Errorf("start of the older program: %v", err)
	}
	p.install(last.name, versions(6, 7))
	if err := last.open(0); !errors.Is(err, ErrVersion) {
		t.Errorf("start of a program that is too new: %v", err)
	}
	late := w.add("node-4")
	if err := late.open(0); !errors.Is(err, ErrVersion) { // its program is the one of before
		t.Errorf("joining of the older program: %v", err)
	}
	if n := len(w.nodes[0].store.Nodes()); n != 4 {
		t.Errorf("%d nodes after a refused one, want 4", n)
	}
	p.install(last.name, after)
	p.install(late.name, after)
	for _, n := range []*townNode{last, late} {
		if err := n.open(0); err != nil {
			t.Errorf("with the newer program again: %v", err)
		}
	}
	w.settled(3, w.nodes...)
}

// TestFoundersOfTwoVersions: a cluster is founded at the newest version that all founders apply.
func TestFoundersOfTwoVersions(t *testing.T) {
	t.Parallel()
	p := &programs{of: map[string]tables.Versions{"": versions(4, 5), "node-1": versions(4, 4)}}
	w := newTown(t, 3, 32, p.tune)
	w.version(4, w.nodes...)
	w.filled(5, "any")
}

// TestVersionAlone: a cluster of one is at the newest version of its program; an older one does
// not open its directory, neither alone nor as the first of several.
func TestVersionAlone(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.versions = versions(4, 4)
	s := open(t, cfg)
	made := subscribe(t, s, wish("http://example.com/", "", webhook))
	if v := s.version.Load(); v != 4 {
		t.Errorf("version %d, want 4", v)
	}
	shut(t, s)
	cfg.versions = versions(4, 5)
	s = open(t, cfg)
	if v := s.version.Load(); v != 5 {
		t.Errorf("version %d with the newer program, want 5", v)
	}
	if _, err := s.Subscription(made.ID); err != nil {
		t.Error(err)
	}
	shut(t, s)
	cfg.versions = versions(4, 4)
	wantError(t, refused(t, cfg), ErrVersion)
	if have, err := readFormat(cfg.Dir); err != nil || have != formatVersioned { // for programs without versions
		t.Errorf("format %d, %v; want %d", have, err, formatVersioned)
	}
	w := newTown(t, 0, 33, func(c *Config) { c.versions = versions(4, 4) })
	node := w.add(cfg.Node)
	node.dir = cfg.Dir
	if err := node.open(1); !errors.Is(err, ErrVersion) {
		t.Errorf("as the first of several: %v", err)
	}
}

// TestFencedFrom: a command of the meta group names its term from a version on, whatever it is.
func TestFencedFrom(t *testing.T) {
	plan := &wire.MetaCommand{Change: &wire.MetaCommand_PlanReplica{}}
	free := metaVersion(plan)
	plan.Term = 1
	if fenced := metaVersion(plan); free != 4 || fenced != 7 {
		t.Errorf("version %d, with a term %d; want 4 and 7", free, fenced)
	}
}

// TestAllow: what is new is proposed from its version on.
func TestAllow(t *testing.T) {
	unknown, tick := &wire.Command{}, &wire.Command{Change: &wire.Command_Tick{Tick: &wire.Tick{}}}
	compare := state.NewCompare(0)
	for _, test := range []struct {
		have uint32
		of   *wire.Command
		err  error
	}{{4, tick, nil}, {5, tick, nil}, {4, compare, ErrRefused}, {5, compare, nil}, {5, unknown, ErrRefused}, {6, unknown, nil}} {
		if err := allow(test.have, commandVersion(test.of)); !errors.Is(err, test.err) {
			t.Errorf("%v at version %d: %v, want %v", test.of, test.have, err, test.err)
		}
	}
}
