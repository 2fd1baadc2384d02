//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// fleet is the nodes that are of the cluster: those that have joined, and not those that
// were removed. A fault has a node's process for itself while it is taken.
type fleet struct {
	mu struct {
		sync.Mutex
		in       []*cluster.Node
		taken    map[*cluster.Node]bool
		newest   string                   // the program that the next fresh node runs
		other    string                   // that the next roll brings
		oneWay   bool                     // no roll brings back the program before
		programs map[*cluster.Node]string // that nodes run
		hurt     *cluster.Node            // what its disk holds may be damaged without a word; nil: none
	}
}

func newFleet(nodes []*cluster.Node, program, other string, oneWay bool) *fleet {
	f := new(fleet)
	f.mu.newest, f.mu.other, f.mu.oneWay = program, other, oneWay
	f.mu.taken, f.mu.programs = make(map[*cluster.Node]bool), make(map[*cluster.Node]string)
	for _, node := range nodes {
		f.add(node)
	}
	return f
}

// members returns all nodes.
func (f *fleet) members() []*cluster.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.mu.in)
}

// free returns the nodes that no fault has taken.
func (f *fleet) free() []*cluster.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.mu.in), func(n *cluster.Node) bool { return f.mu.taken[n] })
}

// add takes a node in, which runs the newest program.
func (f *fleet) add(node *cluster.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.in, f.mu.programs[node] = append(f.mu.in, node), f.mu.newest
}

// leave has a node be of the cluster no more.
func (f *fleet) leave(node *cluster.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.in = slices.DeleteFunc(f.mu.in, func(n *cluster.Node) bool { return n == node })
	if f.mu.hurt == node {
		f.mu.hurt = nil
	}
}

// take takes a node, unless it is taken or not of the cluster.
func (f *fleet) take(node *cluster.Node) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.taken[node] || !slices.Contains(f.mu.in, node) {
		return false
	}
	f.mu.taken[node] = true
	return true
}

// takenPause is the pause between two tries to take a node.
const takenPause = 50 * time.Millisecond

// takeSoon takes a node as soon as no other fault has it; false: it is not of the cluster,
// or the context has ended.
func (f *fleet) takeSoon(ctx context.Context, node *cluster.Node) bool {
	for !f.take(node) {
		if ctx.Err() != nil || !slices.Contains(f.members(), node) {
			return false
		}
		witness.Pause(ctx, takenPause)
	}
	return true
}

// release gives a node back; once more is no error.
func (f *fleet) release(node *cluster.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mu.taken, node)
}

// program returns what a node runs.
func (f *fleet) program(node *cluster.Node) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.programs[node]
}

// newest returns what the next fresh node runs.
func (f *fleet) newest() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.newest
}

// roll makes the other program the newest; after that of an upgrade there is no other.
func (f *fleet) roll() (newest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.newest, f.mu.other = f.mu.other, f.mu.newest
	if f.mu.oneWay {
		f.mu.other = f.mu.newest
	}
	return f.mu.newest
}

// upgrade has a node run the newest program from its next start on.
func (f *fleet) upgrade(node *cluster.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.programs[node] = f.mu.newest
}

// hurt returns the node whose disk may be damaged, nil for none.
func (f *fleet) hurt() *cluster.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.hurt
}

func (f *fleet) setHurt(node *cluster.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.hurt = node
}

// whole returns nil if every node knows that all nodes are of the cluster and alive, none
// else is, and each range has as many replicas as it should, none being made or left over:
// then the data of one node may be lost, since a majority has all that was acknowledged.
func (f *fleet) whole(ctx context.Context) error {
	members := f.members()
	found := make([]error, len(members))
	var asking sync.WaitGroup
	for i, node := range members {
		asking.Go(func() {
			if err := wholeAt(ctx, node, members); err != nil {
				found[i] = fmt.Errorf("at %s: %w", node.Name, err)
			}
		})
	}
	asking.Wait()
	return errors.Join(found...)
}

func wholeAt(ctx context.Context, node *cluster.Node, members []*cluster.Node) error {
	known, err := node.Nodes(ctx)
	if err != nil {
		return err
	}
	status, err := node.Status(ctx)
	if err != nil {
		return err
	}
	missing, replicas := make(map[string]bool), 0
	for _, m := range members {
		missing[m.Name] = true
	}
	for _, n := range known.Nodes {
		if n.State != "alive" || !missing[n.Name] {
			return fmt.Errorf("node %s is %s and has %d replicas", n.ID, n.State, n.Replicas)
		}
		delete(missing, n.Name)
		replicas += n.Replicas
	}
	if len(missing) > 0 {
		return fmt.Errorf("nodes %v are not of the cluster", slices.Sorted(maps.Keys(missing)))
	}
	if want := replicasOfRange * len(status.Cluster.Ranges); replicas != want {
		return fmt.Errorf("there are %d replicas, want %d", replicas, want)
	}
	for _, r := range status.Cluster.Ranges {
		if len(r.Replicas) != replicasOfRange || r.Leader == "" {
			return fmt.Errorf("range %d has replicas on %v, leader %q", r.ID, r.Replicas, r.Leader)
		}
	}
	return nil
}

// replicasOfRange is what a cluster founded without --replicas has.
const replicasOfRange = 3
