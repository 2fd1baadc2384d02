//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// newTestNemesis draws from kinds for some nodes, none of which runs.
func newTestNemesis(nodes, most int, kinds ...string) *nemesis {
	r := &run{recorder: witness.NewRecorder(), kinds: kinds, cluster: new(cluster.Cluster)}
	for i := range nodes {
		r.cluster.Nodes = append(r.cluster.Nodes, &cluster.Node{Name: string(rune('a' + i)), Index: i})
	}
	r.fleet = newFleet(r.cluster.Nodes, "one", "two", false)
	n := newNemesis(r, &options{})
	n.random, n.most = rand.New(rand.NewPCG(1, 1)), most
	return n
}

// endTest ends a fault that was drawn and never begun.
func (n *nemesis) endTest(f *fault) {
	for _, node := range f.nodes {
		n.fleet.release(node)
	}
	delete(n.mu.slots, kindOf(f.kind).slot)
}

// A node's process suffers from one fault at a time, and so does each slot.
func TestFaultsHaveNodesForThemselves(t *testing.T) {
	n := newTestNemesis(3, 10, "kill", "isolate")
	taken, links := make(map[*cluster.Node]bool), 0
	for f := n.draw(); f != nil; f = n.draw() {
		for _, node := range f.nodes {
			if taken[node] {
				t.Errorf("%s has two faults", node.Name)
			}
			taken[node] = true
		}
		if f.kind == "isolate" {
			links++
		}
		n.mu.count++
	}
	if len(taken) != 3 || links != 1 {
		t.Errorf("%d nodes are taken, %d faults of links; want 3 and 1", len(taken), links)
	}
}

// The kill of all waits until no node suffers from anything, and no fault passes it.
func TestKillOfAllWaits(t *testing.T) {
	n := newTestNemesis(3, 10, "kill", "all")
	n.left = []string{"kill", "all", "kill"}
	first := n.draw()
	n.mu.count++
	if second := n.draw(); first == nil || second != nil {
		t.Fatalf("%v, then %v beside it", first, second)
	}
	n.endTest(first)
	n.mu.count--
	if all := n.draw(); all == nil || all.kind != "all" || len(all.nodes) != 3 {
		t.Errorf("%v, want all three nodes", all)
	}
}

// What costs a node its data needs a cluster that was whole at the look just before, and
// concerns the node whose disk may be damaged, if there is one.
func TestOneNodeLosesData(t *testing.T) {
	n := newTestNemesis(4, 10, "wipe")
	n.whole = n.recorder.Now() - 2*time.Second
	if f := n.draw(); f != nil {
		t.Fatalf("%v in a cluster that is not whole", f)
	}
	for _, hurt := range n.fleet.members() {
		n.whole = n.recorder.Now() + time.Hour // however slow the test is
		n.fleet.setHurt(hurt)
		f := n.draw()
		if f == nil || len(f.nodes) != 1 || f.nodes[0] != hurt {
			t.Fatalf("%v, want a fault of %s", f, hurt.Name)
		}
		if other := n.draw(); other != nil {
			t.Errorf("%v beside %v", other, f)
		}
		n.endTest(f)
	}
}

// Nodes join up to a number, and go down to as many as a range has replicas.
func TestNumberOfNodes(t *testing.T) {
	for nodes, want := range map[int][2]bool{3: {true, false}, 4: {true, true}, nodesMost: {false, true}} {
		n := newTestNemesis(nodes, 10)
		n.whole = n.recorder.Now() + time.Hour
		if got := [2]bool{n.mayJoin(), n.mayShrink()}; got != want {
			t.Errorf("%d nodes: join, shrink %v; want %v", nodes, got, want)
		}
	}
}

// Programs take turns; an upgrade has none after it.
func TestRoll(t *testing.T) {
	for oneWay, want := range map[bool][]string{false: {"new", "old", "new"}, true: {"new", "new", "new"}} {
		f := newFleet(nil, "old", "new", oneWay)
		if got := []string{f.roll(), f.roll(), f.roll()}; !slices.Equal(got, want) {
			t.Errorf("one way %t: %v, want %v", oneWay, got, want)
		}
	}
}
