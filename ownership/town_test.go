package ownership

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// town is several nodes in this process: real code on a network in memory, on disks
// that lose what was not synced, each with a clock of its own.
type town struct {
	t     *testing.T
	net   *memnet.Network
	began time.Time
	tune  func(*Config) // of every node
	nodes []*townNode

	mu       sync.Mutex
	seen     map[string]Candidate // by node ID
	timeline []string
	states   int // that nodes which are stopped had received
}

type townNode struct {
	town  *town
	name  string
	dir   string
	skew  atomic.Int64 // of the clock, in nanoseconds
	slow  atomic.Int64 // what each sync of the disk takes, in nanoseconds
	disk  *vfs.MemFS
	store *Store                // nil while the node is down
	live  atomic.Pointer[Store] // the same, for goroutines beside the one that opens and stops it
}

// newTown opens nodes whose configuration tune, unless it is nil, has changed.
func newTown(t *testing.T, n int, seed uint64, tune func(*Config)) *town {
	t.Helper()
	w := &town{t: t, net: memnet.New(seed), began: time.Now(), tune: tune, seen: make(map[string]Candidate)}
	t.Cleanup(w.net.Close)
	for i := range n {
		w.add(fmt.Sprintf("node-%d", i))
	}
	w.open(w.nodes...)
	return w
}

// add makes a node with an empty disk.
func (w *town) add(name string) *townNode {
	node := &townNode{town: w, name: name, dir: filepath.Join(w.t.TempDir(), name), disk: vfs.NewCrashableMem()}
	w.nodes = append(w.nodes, node)
	w.t.Cleanup(node.stop)
	return node
}

// open opens nodes at the same time, as those that found a cluster have to.
func (w *town) open(nodes ...*townNode) {
	w.t.Helper()
	defer w.expect(2*time.Minute, "nodes open")()
	var opening sync.WaitGroup
	for _, n := range nodes {
		opening.Go(func() {
			if err := n.open(len(w.nodes)); err != nil {
				w.t.Errorf("%s: %v", n.name, err)
			}
		})
	}
	opening.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

const townPort = ":1"

func (n *townNode) open(expect int) error {
	config, err := n.config(expect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if n.store, err = Open(ctx, config); err != nil {
		_ = config.Cluster.Listener.Close() // Open may not have got as far as to serve it
		return err
	}
	n.live.Store(n.store)
	return nil
}

// config is that of the node, with a listener of its own.
func (n *townNode) config(expect int) (Config, error) {
	host := n.town.net.Host(n.name)
	listener, err := host.Listen(n.name + townPort)
	if err != nil {
		return Config{}, err
	}
	connect := func(self peer.Identity, admit func(peer.Identity) error) (*peer.Node, error) {
		n.town.mu.Lock()
		defer n.town.mu.Unlock()
		n.town.seen[self.ID] = Candidate{ID: self.ID, Name: self.Name, Address: n.name + townPort, Cluster: self.Cluster}
		return peer.New(peer.Config{Self: self, Admit: admit, Network: host, Now: n.now})
	}
	config := Config{
		Dir: n.dir, Node: n.name, Ranges: 4, SweepInterval: time.Hour, Now: n.now, files: n.files(),
		Fatal: func(err error) { n.town.t.Errorf("%s: %v", n.name, err) },
		Cluster: &Cluster{
			Connect: connect, Listener: listener, Address: n.name + townPort, Expect: expect,
			Seen: n.see, Joined: n.joined,
		},
	}
	if n.town.tune != nil {
		n.town.tune(&config)
	}
	return config, nil
}

// files is the node's disk, as slow as it is then.
func (n *townNode) files() vfs.FS {
	return errorfs.Wrap(n.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			time.Sleep(time.Duration(n.slow.Load()))
		}
		return nil
	}))
}

func (n *townNode) now() time.Time { return time.Now().Add(time.Duration(n.skew.Load())) }

func (n *townNode) see() (others []Candidate) {
	n.town.mu.Lock()
	defer n.town.mu.Unlock()
	for _, c := range n.town.seen {
		if c.Name != n.name {
			others = append(others, c)
		}
	}
	return others
}

// joined has the others see of which cluster the node is.
func (n *townNode) joined(cluster string) error {
	n.town.mu.Lock()
	defer n.town.mu.Unlock()
	for id, c := range n.town.seen {
		if c.Name == n.name {
			c.Cluster = cluster
			n.town.seen[id] = c
		}
	}
	return nil
}

// stop closes the node's store in order.
func (n *townNode) stop() {
	n.live.Store(nil)
	if n.store == nil {
		return
	}
	defer n.town.expect(time.Minute, n.name+" stops")()
	shut(n.town.t, n.store)
	n.town.mu.Lock()
	n.town.states += n.received()
	n.town.mu.Unlock()
	n.store = nil
}

// received returns how many states the node has received since it was opened.
func (n *townNode) received() int {
	return int(counted(n.town.t, n.store.tools.metrics.transfersReceived))
}

// losePower cuts nodes off from all others and from their power at the same instant: of
// their disks remains what was synced. What they do after that has no effect.
func (w *town) losePower(nodes ...*townNode) {
	w.t.Helper()
	for _, n := range nodes {
		n.each(w.net.Cut)
	}
	for _, n := range nodes {
		w.net.ResetHost(n.name)
		n.disk = n.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 2))})
	}
	var stopping sync.WaitGroup
	for _, n := range nodes {
		for _, g := range n.store.groups() {
			g.serving.Store(false) // or it would try to hand over
		}
		stopping.Go(n.stop)
	}
	stopping.Wait()
	for _, n := range nodes {
		n.each(w.net.Heal)
	}
}

// each does something to both directions between the node and every other.
func (n *townNode) each(do func(from, to string)) {
	for _, other := range n.town.nodes {
		if other != n {
			do(other.name, n.name)
			do(n.name, other.name)
		}
	}
}

// deafen cuts the node off from what others send, but lets them hear it, until the
// function that it returns is called.
func (n *townNode) deafen() (heal func()) {
	set := func(do func(from, to string)) {
		for _, other := range n.town.nodes {
			if other != n {
				do(other.name, n.name)
			}
		}
	}
	set(n.town.net.Cut)
	return func() { set(n.town.net.Heal) }
}

// leading returns the node that serves the range with a bucket, nil for none.
func (w *town) leading(b channel.Bucket) *townNode {
	for _, n := range w.nodes {
		if s := n.live.Load(); s != nil && s.of(b).serves() {
			return n
		}
	}
	return nil
}

// lead waits until a node serves the range with a bucket, which others hand over to it.
func (w *town) lead(n *townNode, b channel.Bucket) {
	w.t.Helper()
	eventually(w.t, "leadership of "+n.name, func() error {
		leader := w.leading(b)
		switch leader {
		case n:
			return nil
		case nil:
			return errors.New("none leads")
		default:
			return fmt.Errorf("%s leads: %w", leader.name, errors.Join(errors.New("not yet"), leader.handOver(n, b)))
		}
	})
}

// handOver gives the leadership of the range with a bucket to another node.
func (n *townNode) handOver(to *townNode, b channel.Bucket) error {
	from, target := n.live.Load(), to.live.Load()
	if from == nil || target == nil {
		return errors.New("a node is down")
	}
	server, _ := from.of(b).server(string(target.meta.raftID))
	return from.of(b).local().transfer(server.ID, server.Address)
}

// subscribe makes a subscription at a node, again if the outcome is unknown: on a machine
// with other work leadership may be lost.
func (w *town) subscribe(n *townNode, x NewSubscription) (made channel.Subscription) {
	w.t.Helper()
	eventually(w.t, "subscribe at "+n.name, func() error {
		ctx, cancel := soon()
		defer cancel()
		r := n.store.Subscribe(ctx, []NewSubscription{x})[0]
		made = r.Subscription
		return r.Err
	})
	return made
}

// logf adds to the timeline, which a failed test prints.
func (w *town) logf(format string, args ...any) {
	w.t.Helper()
	line := fmt.Sprintf("%7.3f s  ", time.Since(w.began).Seconds()) + fmt.Sprintf(format, args...)
	w.mu.Lock()
	w.timeline = append(w.timeline, line)
	w.mu.Unlock()
	w.t.Log(line)
}

// expect ends the test's process, with the timeline and all goroutines, unless the
// function that it returns is called in time: a wait without an end would say nothing.
func (w *town) expect(limit time.Duration, what string) (done func()) {
	timer := time.AfterFunc(limit, func() {
		w.mu.Lock()
		timeline := strings.Join(w.timeline, "\n")
		w.mu.Unlock()
		stacks := make([]byte, 4<<20)
		panic(fmt.Sprintf("%s: %s: not done within %s\n%s\n%s", w.t.Name(), what, limit, timeline, stacks[:runtime.Stack(stacks, true)]))
	})
	return func() { timer.Stop() }
}

// soon bounds one call of a node.
func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	eventuallyWithin(t, 30*time.Second, what, holds)
}

func eventuallyWithin(t *testing.T, limit time.Duration, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// digest is a hash of a range's state without how far it is in the log, and how far.
func (g *group) digest() (sum [sha256.Size]byte, index uint64, err error) {
	g.fsm.gate.Lock() // no state is put in place meanwhile
	defer g.fsm.gate.Unlock()
	view := g.fsm.transfer.db.NewSnapshot()
	defer view.Close()
	applied := &wire.Applied{}
	if err := state.Get(view, state.AppliedKey(g.id), applied); err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return sum, 0, err
	}
	h := sha256.New()
	iter, err := view.NewIter(&pebble.IterOptions{LowerBound: g.fsm.transfer.start(), UpperBound: g.fsm.transfer.end()})
	if err != nil {
		return sum, 0, err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		fmt.Fprintf(h, "%q=%q\n", iter.Key(), iter.Value())
	}
	return [sha256.Size]byte(h.Sum(nil)), applied.Index, iter.Close()
}

// agree waits until all replicas of each range are at the same entry, and wants them to
// have the same state there.
func (w *town) agree() {
	w.t.Helper()
	defer w.expect(time.Minute, "replicas at the same entry")()
	eventually(w.t, "replicas at the same entry", func() error {
		for i := range w.nodes[0].store.groups() {
			first, at, err := w.nodes[0].store.groups()[i].digest()
			if err != nil {
				return err
			}
			for _, n := range w.nodes[1:] {
				sum, index, err := n.store.groups()[i].digest()
				if err == nil && index != at {
					err = fmt.Errorf("range %d: %s at entry %d, %s at %d", i, w.nodes[0].name, at, n.name, index)
				}
				if err != nil {
					return err
				}
				if sum != first {
					w.t.Fatalf("replicas differ: range %d, entry %d: %s has %x, %s %x", i, at, w.nodes[0].name, first[:4], n.name, sum[:4])
				}
			}
		}
		return nil
	})
}
