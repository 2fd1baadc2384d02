//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// found is what a run has seen, before it is judged.
type found struct {
	polls    []poll
	changes  []change
	versions map[version]telling
	wrong    []string // of streams
	owners   []string
	pollers  [][]string
	rates    []float64 // of channels, as planned while all is calm
	idle     spending  // before anything is subscribed to
	still    spending  // with polls, and no change
	calm     spending  // with changes
	liveIdle []live    // of each node, at the end of idle; with -beside
	live     []live    // at the end of still; with -beside
	phases   []phase
	ranges   int
	all      span // from when all is settled to the freeze
	size     float64
}

// phase is a part of a run.
type phase struct {
	name string
	span
	judged bool // waits must be as planned
}

const idleFor = 5 * time.Second

// together measures nodes that cooperate, and with -beside one that polls alone.
func (o *options) together(ctx context.Context, program, folder string) (*result, error) {
	places := o.layOut()
	res := newResult(o)
	if o.beside {
		if err := os.Setenv("GODEBUG", heapRate); err != nil {
			return res, err
		}
	}
	var several, one found
	var names []string
	err := o.with(ctx, o.nodes, places, program, folderOf(folder, o.nodes), func(ctx context.Context, r *run) (err error) {
		if several, err = r.measure(ctx, o.faults); err != nil {
			return err
		}
		names = r.names
		res.judge(r, &several)
		return several.note(o)
	})
	if err != nil || !o.beside {
		return res, err
	}
	logf("one node with the same channels")
	err = o.with(ctx, 1, places, program, folderOf(folder, 1), func(ctx context.Context, r *run) (err error) {
		one, err = r.measure(ctx, false)
		return err
	})
	if err == nil {
		res.compare(o, &several, &one)
		res.compareMemory(&several, &one, names)
	}
	return res, err
}

// measure goes through the phases.
func (r *run) measure(ctx context.Context, faults bool) (f found, err error) {
	logf("%d nodes are ready", len(r.cluster.Nodes))
	if f.idle, err = r.spent(ctx, idleFor); err != nil {
		return f, err
	}
	if f.liveIdle, err = r.live(ctx); err != nil {
		return f, err
	}
	status, err := r.clients[r.cluster.Nodes[0].Index].Status(ctx)
	if err != nil {
		return f, err
	}
	f.ranges = len(status.Cluster.Ranges)
	if err := r.fill(ctx); err != nil {
		return f, err
	}
	logf("each of %d channels has content; settling", len(r.places))
	pause(ctx, 2*r.maintenance)
	if f.still, err = r.spent(ctx, r.interval); err != nil { // nothing is asked for meanwhile
		return f, err
	}
	if f.live, err = r.live(ctx); err != nil {
		return f, err
	}
	watching, cease := context.WithCancel(ctx)
	defer cease()
	r.running.Go(func() { r.watch(watching) })
	f.all.from = r.origin.now()
	r.origin.freeze(false)
	r.running.Go(func() { r.origin.change(watching, r.changes, r.seed) })
	if err := r.calm(ctx, &f); err != nil {
		return f, err
	}
	if faults {
		if err := r.deaths(ctx, &f); err != nil {
			return f, err
		}
	}
	r.origin.freeze(true)
	f.all.to = r.origin.now()
	logf("no more changes; waiting for what is on its way")
	if err := r.last(ctx); err != nil {
		return f, err
	}
	cease()
	f.polls, f.size = r.origin.polled(), r.origin.size()
	f.versions, f.wrong = r.told.all()
	f.changes = follow(r.origin.changes(), f.polls, f.versions, r.origin.now())
	return f, nil
}

// calm measures nodes to which nothing happens.
func (r *run) calm(ctx context.Context, f *found) (err error) {
	all, err := r.list(ctx)
	if err != nil {
		return err
	}
	for _, ch := range all {
		f.owners, f.pollers, f.rates = append(f.owners, ch.Owner), append(f.pollers, ch.Pollers), append(f.rates, ch.Rate)
	}
	if f.calm, err = r.spent(ctx, r.window); err != nil {
		return err
	}
	f.phases = append(f.phases, phase{"before", f.calm.span, true})
	if r.faults {
		pause(ctx, r.interval) // changes until here are polled before anything happens
	}
	return ctx.Err()
}

// deaths kills two nodes, one after the other, and brings them back.
func (r *run) deaths(ctx context.Context, f *found) error {
	settle := 2 * r.maintenance
	order := rand.New(rand.NewPCG(r.seed, 2)).Perm(len(r.cluster.Nodes))
	for turn, i := range order[:2] {
		node := r.cluster.Nodes[i]
		logf("%s is killed", node.Name)
		down, err := r.kill(ctx, node, settle+r.interval)
		if err != nil {
			return err
		}
		logf("%s comes back", node.Name)
		up, err := r.revive(ctx, node, settle+r.interval)
		if err != nil {
			return err
		}
		if turn == 0 {
			pause(ctx, r.interval)
		}
		f.phases = append(f.phases,
			phase{node.Name + " dies", span{down.from, down.from + settle}, false},
			phase{"without " + node.Name, span{down.from + settle, down.to}, true},
			phase{node.Name + " returns", span{up.from, up.from + settle}, false},
			phase{"with " + node.Name, span{up.from + settle, up.to}, true})
	}
	return nil
}

// last waits until the latest revision of each channel has been told, or cannot be any more,
// and then until each channel was polled since the freeze.
func (r *run) last(ctx context.Context) error {
	longest := time.Duration(0)
	for n := range r.places {
		longest = max(longest, r.plan.gap(n))
	}
	since := r.origin.now()
	pause(ctx, longest+time.Second)
	for deadline := since + 4*longest + 20*time.Second; r.origin.now() < deadline && ctx.Err() == nil; pause(ctx, time.Second) {
		if r.untold() == 0 {
			break
		}
	}
	return ctx.Err()
}

// untold is how many changes have not been told.
func (r *run) untold() (n int) {
	versions, _ := r.told.all()
	for _, c := range follow(r.origin.changes(), nil, versions, 0) {
		if c.told == never {
			n++
		}
	}
	return n
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
