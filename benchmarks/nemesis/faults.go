//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// kind is a way in which something goes wrong.
type kind struct {
	name    string
	says    string
	inDeck  int // how many of a deck
	least   time.Duration
	most    time.Duration // how long it lasts; 0: an instant
	inflict func(n *nemesis, ctx context.Context, f *fault) error
}

// kinds are all of them, in the order in which they are told of.
var kinds = []kind{
	{"kill", "SIGKILL of a node; a new process follows", 3, 0, 4 * time.Second, (*nemesis).kill},
	{"all", "SIGKILL of all nodes at once", 1, 0, 2 * time.Second, (*nemesis).killAll},
	{"handover", "SIGTERM of a node, which hands its ranges over; a new process follows", 2, 0, 2 * time.Second, (*nemesis).handOver},
	{"pause", "SIGSTOP of a node, then SIGCONT", 2, 2 * time.Second, 6 * time.Second, (*nemesis).pause},
	{"oneway", "what a node sends to one other, or to all others, is dropped", 2, 2 * time.Second, 6 * time.Second, (*nemesis).oneWay},
	{"cut", "what two nodes send each other is dropped; both reach the third", 1, 2 * time.Second, 6 * time.Second, (*nemesis).cut},
	{"isolate", "a node is cut off from all others, not from its clients", 2, 2 * time.Second, 7 * time.Second, (*nemesis).isolate},
	{"slow", "each sync of a node takes 2 s", 1, 0, 0, (*nemesis).disk},
	{"eio", "a sync of a node fails, which ends its process; a new one follows", 1, 0, 0, (*nemesis).disk},
	{"enospc", "writes of a node fail for want of space", 1, 0, 0, (*nemesis).disk},
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func describeKinds() string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-9s %d  %s\n", k.name, k.inDeck, k.says)
	}
	return b.String()
}

func ofDisk(name string) bool { return slices.Contains([]string{"slow", "eio", "enospc"}, name) }

func ofNetwork(name string) bool { return slices.Contains([]string{"oneway", "cut", "isolate"}, name) }

// deckOf returns as many names of each kind as a deck holds.
func deckOf(names []string) (deck []string) {
	for _, k := range kinds {
		if slices.Contains(names, k.name) {
			deck = append(deck, slices.Repeat([]string{k.name}, k.inDeck)...)
		}
	}
	return deck
}

// fault is something that went wrong, for a time.
type fault struct {
	kind     string
	what     string // the nodes concerned
	from, to witness.Instant
	length   time.Duration // that was drawn
	stops    bool          // its process ends, or may be silent
}

func (f *fault) String() string {
	return fmt.Sprintf("%-8s %s, until %s", f.kind, f.what, f.to.Round(time.Millisecond))
}

// nemesis inflicts faults, one at a time; a fault may come while the cluster still
// recovers from the one before.
type nemesis struct {
	*run
	random *rand.Rand
	left   []string
}

// next draws a fault, inflicts it, and ends it.
func (n *nemesis) next(ctx context.Context) error {
	if len(n.left) == 0 {
		n.left = deckOf(n.kinds)
		n.random.Shuffle(len(n.left), func(i, j int) { n.left[i], n.left[j] = n.left[j], n.left[i] })
	}
	name := n.left[0]
	n.left = n.left[1:]
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
	f := &fault{kind: name, from: n.recorder.Now(), length: k.least, stops: !ofNetwork(name)}
	if k.most > k.least {
		f.length += time.Duration(n.random.Int64N(int64(k.most - k.least)))
	}
	n.faults = append(n.faults, f)
	n.turn()
	err := k.inflict(n, ctx, f)
	n.turn()
	f.to = n.recorder.Now()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s of %s: %w", f.kind, f.what, err)
	}
	fmt.Fprintf(n.out, "%8s  %s\n", f.from.Round(10*time.Millisecond), f)
	return nil
}

// turn notes that leaders may change from now on.
func (n *nemesis) turn() {
	n.recorder.With(func(h *witness.History) { h.Turns = append(h.Turns, n.recorder.Now()) })
}

// start starts a node's next process.
func (n *nemesis) start(node *cluster.Node) error {
	n.recorder.With(func(h *witness.History) {
		h.Processes = append(h.Processes, witness.Process{At: n.recorder.Now(), From: node.Address})
	})
	return node.Start()
}

// some returns the nodes in an order by chance, and puts the first ones down as the
// fault's.
func (n *nemesis) some(f *fault, concerned int) []*cluster.Node {
	nodes := slices.Clone(n.cluster.Nodes)
	n.random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	for _, node := range nodes[:concerned] {
		f.what = strings.TrimSpace(f.what + " " + node.Name)
	}
	return nodes
}

func (n *nemesis) kill(ctx context.Context, f *fault) error {
	node := n.some(f, 1)[0]
	if err := n.end(node, node.Kill); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return n.start(node)
}

func (n *nemesis) killAll(ctx context.Context, f *fault) error {
	nodes := n.some(f, len(n.cluster.Nodes))
	for _, node := range nodes {
		if err := n.end(node, node.Kill); err != nil {
			return err
		}
	}
	witness.Pause(ctx, f.length)
	for _, node := range nodes {
		if err := n.start(node); err != nil {
			return err
		}
	}
	return nil
}

func (n *nemesis) handOver(ctx context.Context, f *fault) error {
	node := n.some(f, 1)[0]
	if err := n.end(node, node.Stop); err != nil {
		return fmt.Errorf("%w: %w", errViolated, err)
	}
	witness.Pause(ctx, f.length)
	return n.start(node)
}

// end ends a process and notes that.
func (n *nemesis) end(node *cluster.Node, by func() error) error {
	if err := by(); err != nil {
		return err
	}
	return n.ended(node)
}

func (n *nemesis) pause(ctx context.Context, f *fault) error {
	node := n.some(f, 1)[0]
	if err := node.Pause(); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return node.Resume()
}

func (n *nemesis) oneWay(ctx context.Context, f *fault) error {
	nodes := n.some(f, 1)
	to := nodes[1:]
	if n.random.IntN(2) == 0 {
		to = nodes[1:2]
	}
	f.what += " to"
	for _, node := range to {
		f.what += " " + node.Name
	}
	return n.dropped(ctx, f, nodes[:1], to)
}

func (n *nemesis) cut(ctx context.Context, f *fault) error {
	nodes := n.some(f, 2)
	return n.dropped(ctx, f, nodes[:2], nodes[:2])
}

func (n *nemesis) isolate(ctx context.Context, f *fault) error {
	nodes := n.some(f, 1)
	for _, node := range nodes[1:] {
		if err := n.cluster.Cut(node, nodes[0]); err != nil {
			return err
		}
	}
	return n.dropped(ctx, f, nodes[:1], nodes[1:])
}

// dropped drops what some nodes send to others, and heals all cuts after the fault's time.
func (n *nemesis) dropped(ctx context.Context, f *fault, from, to []*cluster.Node) error {
	for _, a := range from {
		for _, b := range to {
			if a == b {
				continue
			}
			if err := n.cluster.Cut(a, b); err != nil {
				return err
			}
		}
	}
	witness.Pause(ctx, f.length)
	return n.cluster.HealAll()
}

// disk makes a node's disk fail or wait, and starts the node again if that ended it.
func (n *nemesis) disk(ctx context.Context, f *fault) error {
	node := n.some(f, 1)[0]
	d := &witness.Fault{Kind: f.kind, From: f.from}
	n.recorder.With(func(h *witness.History) { h.Faults = append(h.Faults, d) })
	log := filepath.Join(n.folder, node.Name+".strace.log")
	tracer, err := diskfault.Attach(ctx, node.PID(), node.Data, log, witness.Injection(f.kind, n.random))
	if err != nil {
		return errors.Join(err, node.Alive())
	}
	node.AwaitEnd(ctx, witness.Hold(f.kind, n.random))
	at := n.recorder.Now()
	trace, err := tracer.Detach()
	if err != nil {
		return err
	}
	n.recorder.With(func(h *witness.History) {
		d.To = n.recorder.Now()
		for _, hit := range trace.Hits {
			d.Hits = append(d.Hits, witness.Hit{At: hit.At.Sub(h.Began), Call: hit.Call, Path: hit.Path})
		}
	})
	if !trace.Exited.IsZero() {
		at = trace.Exited.Sub(n.recorder.Began)
	}
	witness.Pause(ctx, afterDisk) // what the disk did may end the process a little later
	if _, ended := node.Ended(); !ended {
		return nil
	}
	f.what += ", which ended"
	return n.restart(node, d, at)
}

// afterDisk is how much later than its cause the end of a process is waited for.
const afterDisk = time.Second

// restart starts a node that its disk has ended.
func (n *nemesis) restart(node *cluster.Node, d *witness.Fault, at witness.Instant) error {
	said, err := witness.LastWords(node.Process)
	if err != nil {
		return err
	}
	code, _ := node.Ended()
	n.recorder.With(func(*witness.History) { d.Ended, d.To, d.Code, d.Said = at, min(d.To, at), code, said })
	if err := n.ended(node); err != nil {
		return err
	}
	return n.start(node)
}

// ended notes that a node's process has ended, and whether it printed a stack.
func (n *nemesis) ended(node *cluster.Node) error {
	at := n.recorder.Now()
	stacks, err := witness.Stacks(node.Process)
	if err != nil {
		return err
	}
	n.recorder.With(func(h *witness.History) { h.Ends, h.Stacks = append(h.Ends, at), append(h.Stacks, stacks...) })
	return nil
}

// alive returns an error that says which node has ended by itself.
func (r *run) alive() error {
	for _, node := range r.cluster.Nodes {
		if err := node.Alive(); errors.Is(err, child.ErrEnded) {
			return fmt.Errorf("%w: %s: %w", errViolated, node.Name, err)
		}
	}
	return nil
}
