//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// How many nodes there are while they come and go: three at least, or a range would have
// fewer replicas than it should.
const nodesMost = 5

// How many ranges a split adds, and how many there are at most.
const (
	rangesMore = 4
	rangesMost = 32
)

// What a fault may do depends on the look at the cluster just before it.
//
// Data of one node alone may be lost, and only while the cluster is whole: what was
// acknowledged is on a majority of the voters of its range, so that of three that are whole
// any one may lose all that it has. Were another one still being filled, or damaged without
// a word, an acknowledged write could have been on these two alone.

func (n *nemesis) mayLose() bool { return n.isWhole() }

func (n *nemesis) mayJoin() bool {
	return len(n.fleet.members()) < nodesMost && len(n.cluster.Nodes) < cluster.NodesMost
}

func (n *nemesis) mayShrink() bool { return n.isWhole() && len(n.fleet.members()) > replicasOfRange }

func (n *nemesis) maySplit() bool { return n.ranges < rangesMost }

// join has a fresh node join, and waits until it has replicas.
func (n *nemesis) join(ctx context.Context, f *fault) error {
	node, err := n.cluster.Add(ctx)
	if err != nil {
		return err
	}
	f.tell(node)
	node.Run(n.fleet.newest(), n.fleet.members())
	if err := node.Start(); err != nil {
		return err
	}
	n.fleet.add(node)
	n.known()
	return n.awaitWhole(ctx, func(ctx context.Context) error {
		nodes, err := node.Nodes(ctx)
		if err == nil && replicasAt(nodes.Nodes, node.Name) == 0 {
			err = errors.New("it has no replica")
		}
		return err
	})
}

// drain drains a node, stops it, and removes it.
func (n *nemesis) drain(ctx context.Context, f *fault) error {
	node := f.others[0]
	f.tell(node)
	if err := n.corona(ctx, node, "nodes", "drain", node.Name); err != nil {
		return err
	}
	if !n.fleet.takeSoon(ctx, node) {
		return ctx.Err()
	}
	witness.Pause(ctx, deletesWithin) // it may have been cut off from the others when they forgot its last replica
	n.leave(node)
	if err := n.stop(node); err != nil {
		return err
	}
	if err := n.corona(ctx, node, "nodes", "remove", node.Name); err != nil {
		return err
	}
	if err := n.holdsNothing(node); err != nil {
		return err
	}
	return errors.Join(node.Wipe(), n.awaitWhole(ctx, nil))
}

// remove kills a node and removes it. Half of the time it comes back.
func (n *nemesis) remove(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	if err := n.end(node, node.Kill); err != nil {
		return err
	}
	n.leave(node)
	if err := n.corona(ctx, node, "nodes", "remove", node.Name); err != nil {
		return err
	}
	if f.random.IntN(2) == 0 {
		f.what += ", which came back"
		if err := n.comeBack(ctx, node); err != nil {
			return err
		}
	}
	return errors.Join(node.Wipe(), n.awaitWhole(ctx, nil))
}

// comeBack starts a node that was removed, until it has learned that; it must have deleted
// what it had.
func (n *nemesis) comeBack(ctx context.Context, node *cluster.Node) error {
	if err := n.start(node); err != nil {
		return err
	}
	for begun := n.recorder.Now(); !saysRemoved(ctx, node); witness.Pause(ctx, witness.RetryPause) {
		if err := errors.Join(ctx.Err(), node.Alive()); err != nil {
			return err
		}
		if n.recorder.Now()-begun > wholeWithin {
			return fmt.Errorf("%w: %s: %s was removed, came back, and has not learned that in %s", errViolated, ruleRemoved, node.Name, wholeWithin)
		}
	}
	witness.Pause(ctx, deletesWithin)
	if err := n.stop(node); err != nil {
		return err
	}
	return n.holdsNothing(node)
}

// deletesWithin is how long a node that knows of its removal has to delete what it had.
const deletesWithin = 3 * time.Second

// saysRemoved reports whether a node says that it was removed.
func saysRemoved(ctx context.Context, node *cluster.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, node.API+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(http.MaxBytesReader(nil, response.Body, 1<<16))
	return err == nil && bytes.Contains(body.Bytes(), []byte("removed from the cluster"))
}

// holdsNothing holds that a node that was stopped has no data of any range.
func (n *nemesis) holdsNothing(node *cluster.Node) error {
	states, err := readStates(filepath.Join(node.Data, statesPath), []span{{to: buckets - 1}})
	if err != nil {
		return err
	}
	if records := states[0].records; records > 0 {
		return fmt.Errorf("%w: %s: %s has %d records", errViolated, ruleRemoved, node.Name, records)
	}
	return nil
}

// wipe kills a node and starts it with an empty directory: another node of its name.
func (n *nemesis) wipe(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	if err := n.end(node, node.Kill); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return n.replace(ctx, node)
}

// replace starts a node that has ended with an empty directory, gives it back, and waits
// until it has replicas.
func (n *nemesis) replace(ctx context.Context, node *cluster.Node) error {
	if err := node.Wipe(); err != nil {
		return err
	}
	if n.fleet.hurt() == node {
		n.fleet.setHurt(nil)
	}
	if err := n.start(node); err != nil {
		return err
	}
	n.fleet.release(node)
	return n.awaitWhole(ctx, nil)
}

// leave has a node be of the cluster no more: clients do not ask it.
func (n *nemesis) leave(node *cluster.Node) {
	n.fleet.leave(node)
	n.known()
}

// corona runs a command of the program against any node but one, again until it succeeds or
// the cluster has had long enough: faults may keep it from that.
func (n *nemesis) corona(ctx context.Context, not *cluster.Node, args ...string) error {
	var said error
	for begun := n.recorder.Now(); n.recorder.Now()-begun < calmAfter+wholeWithin; witness.Pause(ctx, time.Second) {
		for _, node := range n.fleet.members() {
			if node == not {
				continue
			}
			out, err := exec.CommandContext(ctx, n.fleet.newest(), append(args, "--server", node.API)...).CombinedOutput()
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			said = fmt.Errorf("corona %v at %s: %w: %s", args, node.Name, err, bytes.TrimSpace(out))
		}
	}
	return fmt.Errorf("%w: %s: %w", errViolated, rulePlaced, said)
}

// awaitWhole waits until the cluster is whole, and something else holds, if it is not nil.
func (n *nemesis) awaitWhole(ctx context.Context, also func(context.Context) error) error {
	for begun := n.recorder.Now(); ; witness.Pause(ctx, wholePause) {
		err := n.fleet.whole(ctx)
		if err == nil && also != nil {
			err = also(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if n.recorder.Now()-begun > calmAfter+wholeWithin {
			return fmt.Errorf("%w: %s: not in %s: %w", errViolated, rulePlaced, calmAfter+wholeWithin, err)
		}
	}
}

func replicasAt(nodes []api.ClusterNode, name string) (count int) {
	for _, n := range nodes {
		if n.Name == name {
			count += n.Replicas
		}
	}
	return count
}

// wholePause is the pause between two looks at where the replicas are.
const wholePause = 500 * time.Millisecond

// roll stops one node after the other and starts it with the other program.
func (n *nemesis) roll(ctx context.Context, f *fault) error {
	program := n.fleet.roll()
	for _, node := range n.fleet.members() {
		if !n.fleet.takeSoon(ctx, node) {
			continue
		}
		err := n.stop(node)
		if err == nil {
			n.fleet.upgrade(node)
			err = n.start(node)
		}
		n.fleet.release(node)
		if err != nil {
			return err
		}
		f.tell(node)
		for begun := n.recorder.Now(); !node.Ready(ctx) && n.recorder.Now()-begun < readyWithin; {
			witness.Pause(ctx, witness.RetryPause)
		}
	}
	f.what += ", to " + filepath.Base(program)
	return nil
}

// readyWithin is how long the next node of a roll waits for the one before: other faults may
// keep that from being ready.
const readyWithin = 20 * time.Second

// split has ranges split, and waits until the new ones have all replicas.
func (n *nemesis) split(ctx context.Context, f *fault) error {
	n.ranges += rangesMore
	f.what = fmt.Sprintf("to %d", n.ranges)
	if err := n.corona(ctx, nil, "nodes", "split", strconv.Itoa(n.ranges)); err != nil {
		return err
	}
	return n.awaitWhole(ctx, nil)
}
