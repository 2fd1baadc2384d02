//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// turn notes that leaders may change from now on.
func (r *run) turn() {
	r.recorder.With(func(h *witness.History) { h.Turns = append(h.Turns, r.recorder.Now()) })
}

// start starts the next process of a node that is taken.
func (n *nemesis) start(node *cluster.Node) error {
	node.Run(n.fleet.program(node), n.fleet.members())
	n.recorder.With(func(h *witness.History) {
		h.Processes = append(h.Processes, witness.Process{At: n.recorder.Now(), From: node.Address})
	})
	return node.Start()
}

func (n *nemesis) kill(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	if err := n.end(node, node.Kill); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return n.start(node)
}

func (n *nemesis) killAll(ctx context.Context, f *fault) error {
	for _, node := range f.nodes {
		if err := n.end(node, node.Kill); err != nil {
			return err
		}
	}
	witness.Pause(ctx, f.length)
	for _, node := range f.nodes {
		if err := n.start(node); err != nil {
			return err
		}
	}
	return nil
}

func (n *nemesis) handOver(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	if err := n.stop(node); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return n.start(node)
}

// stop ends a process in order: with SIGTERM, once it listens. One that was started just
// now would end as if it had no order to end in.
func (n *nemesis) stop(node *cluster.Node) error {
	for begun := n.recorder.Now(); !node.Listens() && n.recorder.Now()-begun < listensWithin; {
		time.Sleep(witness.RetryPause)
	}
	pid := node.PID()
	defer time.AfterFunc(dumpAfter, func() { _ = syscall.Kill(pid, syscall.SIGQUIT) }).Stop() // it prints what it waits for
	if err := n.end(node, node.Stop); err != nil {
		return fmt.Errorf("%w: %w", errViolated, err)
	}
	return nil
}

// dumpAfter is how long after SIGTERM a process has to print its stacks: just before it gives
// up by itself, at 18 s, so that it is a violation either way.
const dumpAfter = 17 * time.Second

// listensWithin is how long a process that does not listen yet is left alone: without a
// majority it may never.
const listensWithin = 5 * time.Second

// end ends a process and notes that.
func (n *nemesis) end(node *cluster.Node, by func() error) error {
	if err := by(); err != nil {
		return err
	}
	return n.ended(node)
}

func (n *nemesis) pause(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	if err := node.Pause(); err != nil {
		return err
	}
	witness.Pause(ctx, f.length)
	return node.Resume()
}

// disk makes a node's disk fail or wait, and starts the node again if that ended it.
func (n *nemesis) disk(ctx context.Context, f *fault) error {
	node := f.nodes[0]
	d := &witness.Fault{Kind: f.kind, From: f.from}
	n.recorder.With(func(h *witness.History) { h.Faults = append(h.Faults, d) })
	log := filepath.Join(n.folder, node.Name+".strace.log")
	tracer, err := diskfault.Attach(ctx, node.PID(), node.Data, log, witness.Injection(f.kind, f.random))
	if err != nil {
		return errors.Join(err, node.Alive())
	}
	node.AwaitEnd(ctx, witness.Hold(f.kind, f.random))
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
