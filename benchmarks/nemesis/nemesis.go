//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// fault is something that went wrong, for a time.
type fault struct {
	kind     string
	what     string // the nodes concerned
	from, to witness.Instant
	length   time.Duration // that was drawn
	stops    bool          // its process ends, or may be silent
	random   *rand.Rand
	nodes    []*cluster.Node // that it has taken at its beginning
	others   []*cluster.Node // all that are left of the cluster then, by chance
}

// tell puts nodes down as the fault's.
func (f *fault) tell(nodes ...*cluster.Node) {
	for _, node := range nodes {
		f.what = strings.TrimSpace(f.what + " " + node.Name)
	}
}

// concerns reports whether the fault has to do with a node's process.
func (f *fault) concerns(name string) bool {
	return f.stops && slices.Contains(strings.FieldsFunc(f.what, func(r rune) bool { return r == ' ' || r == ',' }), name)
}

func (f *fault) String() string {
	return fmt.Sprintf("%-8s %s, until %s", f.kind, f.what, f.to.Round(time.Millisecond))
}

// nemesis inflicts faults, several at a time in long runs, else one; a fault may come while
// the cluster still recovers from those before. A node's process suffers from one at a time.
type nemesis struct {
	*run
	random  *rand.Rand
	left    []string // of the deck
	most    int      // faults at a time
	between time.Duration
	whole   witness.Instant // when the cluster was seen to be whole last
	ranges  int             // that there are, or will be when the split that lasts is over
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		slots map[slot]bool // that are taken
		count int           // faults that last
		err   error         // the first one
	}
}

func newNemesis(r *run, o *options) *nemesis {
	n := &nemesis{run: r, random: rand.New(rand.NewPCG(r.seed, 0)), most: 1, between: betweenMost, ranges: ranges}
	if o.long > 0 {
		n.most, n.between = faultsAtOnce, betweenLong
	}
	n.mu.slots = make(map[slot]bool)
	return n
}

// What a cluster may take until it has all replicas again: so long after it was whole last
// no further fault begins until it is, and so long after that it has failed.
const (
	calmAfter   = 2 * time.Minute
	wholeWithin = 3 * time.Minute
)

// inflict lets faults happen until there were enough or the time is over, and waits for
// those that last.
func (n *nemesis) inflict(ctx context.Context, o *options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
		n.running.Wait()
		cancel()
		if first := n.failed(); first != nil {
			err = first
		}
	}()
	for len(n.faults) < o.faults && n.recorder.Now() < o.time {
		witness.Pause(ctx, time.Second+witness.UpTo(n.random, n.between-time.Second))
		if err := errors.Join(n.failed(), ctx.Err(), n.replaceHurt(ctx), n.alive()); err != nil {
			return err
		}
		calm, err := n.look(ctx)
		if err != nil {
			return err
		}
		if calm {
			continue
		}
		if f := n.draw(); f != nil {
			n.begin(ctx, f)
		}
	}
	return nil
}

// look looks whether the cluster is whole, where nodes come and go, and reports whether it
// has to be left alone until it is.
func (n *nemesis) look(ctx context.Context) (calm bool, err error) {
	if !slices.ContainsFunc(n.kinds, ofPlacement) {
		return false, nil
	}
	lacks := errors.New("faults last")
	if !n.has(placement) && len(n.fleet.free()) == len(n.fleet.members()) {
		if lacks = n.fleet.whole(ctx); lacks == nil {
			n.whole = n.recorder.Now()
		}
	}
	since := n.recorder.Now() - n.whole
	if since > calmAfter+wholeWithin {
		return true, fmt.Errorf("%w: %s: not for %s: %w", errViolated, rulePlaced, since.Round(time.Second), lacks)
	}
	return since > calmAfter, nil
}

// isWhole reports whether the last look, which was just now, found the cluster whole.
func (n *nemesis) isWhole() bool { return n.recorder.Now()-n.whole < time.Second }

func (n *nemesis) has(s slot) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.slots[s]
}

func (n *nemesis) failed() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.err
}

// draw takes the first fault of the deck that may begin now, nil if none may. One that wants
// all nodes waits for them, and no other begins before.
func (n *nemesis) draw() *fault {
	for range 2 {
		for i, name := range n.left {
			k := kindOf(name)
			if f := n.prepare(k); f != nil {
				n.left = slices.Delete(n.left, i, i+1)
				return f
			}
			if k.nodes == everyNode {
				return nil
			}
		}
		if n.lasting() > 0 && len(n.left) > 0 {
			return nil // what none may follow now it may later
		}
		deck := deckOf(n.kinds)
		n.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		n.left = append(n.left, deck...)
	}
	return nil
}

func (n *nemesis) lasting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.count
}

// prepare takes what a fault of a kind needs for itself; nil: it cannot have that now.
func (n *nemesis) prepare(k *kind) *fault {
	if n.lasting() >= n.most || n.has(k.slot) || k.may != nil && !k.may(n) {
		return nil
	}
	free, others := n.fleet.free(), n.fleet.members()
	wanted := k.nodes
	if wanted == everyNode {
		wanted = len(others)
	}
	if len(free) < wanted {
		return nil
	}
	f := &fault{kind: k.name, length: k.least, stops: k.slot != links && k.slot != splits, random: rand.New(rand.NewPCG(n.random.Uint64(), n.random.Uint64()))}
	for _, nodes := range [][]*cluster.Node{free, others} {
		n.random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
	if hurt := n.fleet.hurt(); hurt != nil && k.slot == placement && wanted == 1 {
		if free = slices.DeleteFunc(free, func(node *cluster.Node) bool { return node != hurt }); len(free) == 0 {
			return nil
		}
	}
	for _, node := range free[:wanted] {
		n.fleet.take(node)
		f.nodes = append(f.nodes, node)
	}
	f.tell(f.nodes...)
	f.others = slices.DeleteFunc(others, func(node *cluster.Node) bool { return slices.Contains(f.nodes, node) })
	if k.most > k.least {
		f.length += time.Duration(n.random.Int64N(int64(k.most - k.least)))
	}
	if k.slot != "" {
		n.mu.Lock()
		n.mu.slots[k.slot] = true
		n.mu.Unlock()
	}
	return f
}

// begin begins a fault; alone, it waits for its end.
func (n *nemesis) begin(ctx context.Context, f *fault) {
	f.from = n.recorder.Now()
	n.faults = append(n.faults, f)
	n.mu.Lock()
	n.mu.count++
	n.mu.Unlock()
	n.running.Go(func() {
		err := n.do(ctx, f)
		k := kindOf(f.kind)
		for _, node := range f.nodes {
			n.fleet.release(node)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.mu.count--
		delete(n.mu.slots, k.slot)
		if n.mu.err == nil {
			n.mu.err = err
		}
	})
	if n.most == 1 {
		n.running.Wait()
	}
}

func (n *nemesis) do(ctx context.Context, f *fault) error {
	n.turn()
	err := kindOf(f.kind).inflict(n, ctx, f)
	n.turn()
	f.to = n.recorder.Now()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s of %s: %w", f.kind, f.what, err)
	}
	fmt.Fprintf(n.out, "%8s  %s\n", f.from.Round(10*time.Millisecond), f)
	return nil
}

// alive returns an error that says which node has ended by itself, of those that no fault
// has taken.
func (r *run) alive() error {
	for _, node := range r.fleet.free() {
		if !r.fleet.take(node) {
			continue
		}
		err := node.Alive()
		r.fleet.release(node)
		if errors.Is(err, child.ErrEnded) {
			return fmt.Errorf("%w: %s: %w", errViolated, node.Name, err)
		}
	}
	return nil
}
