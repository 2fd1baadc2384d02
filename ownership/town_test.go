package ownership

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
)

// town is several nodes in this process: real code on a network in memory, on disks
// that lose what was not synced, each with a clock of its own.
type town struct {
	t     *testing.T
	net   *memnet.Network
	mu    sync.Mutex
	seen  map[string]Candidate // by node ID
	nodes []*townNode
	using sync.RWMutex // held for writing while nodes go and come
}

type townNode struct {
	town  *town
	name  string
	dir   string
	skew  atomic.Int64 // of the clock, in nanoseconds
	disk  *vfs.MemFS
	store *Store // nil while the node is down
}

func newTown(t *testing.T, n int, seed uint64) *town {
	t.Helper()
	w := &town{t: t, net: memnet.New(seed), seen: make(map[string]Candidate)}
	t.Cleanup(w.net.Close)
	for i := range n {
		name := fmt.Sprintf("node-%d", i)
		node := &townNode{town: w, name: name, dir: filepath.Join(t.TempDir(), name), disk: vfs.NewCrashableMem()}
		w.nodes = append(w.nodes, node)
		t.Cleanup(node.stop)
	}
	w.open(w.nodes...)
	return w
}

// open opens nodes at the same time, as those that found a cluster have to.
func (w *town) open(nodes ...*townNode) {
	w.t.Helper()
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
	host := n.town.net.Host(n.name)
	listener, err := host.Listen(n.name + townPort)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connect := func(self peer.Identity, admit func(peer.Identity) error) (*peer.Node, error) {
		n.town.mu.Lock()
		defer n.town.mu.Unlock()
		n.town.seen[self.ID] = Candidate{ID: self.ID, Name: self.Name, Address: n.name + townPort, Cluster: self.Cluster}
		return peer.New(peer.Config{Self: self, Admit: admit, Network: host, Now: n.now})
	}
	n.store, err = Open(ctx, Config{
		Dir: n.dir, Node: n.name, Ranges: 4, SweepInterval: time.Hour, Now: n.now, files: n.disk,
		Fatal: func(err error) { n.town.t.Errorf("%s: %v", n.name, err) },
		Cluster: &Cluster{
			Connect: connect, Listener: listener, Address: n.name + townPort, Expect: expect,
			Seen: n.see, Joined: func(string) error { return nil },
		},
	})
	return err
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

// stop closes the node's store in order.
func (n *townNode) stop() {
	if n.store != nil {
		shut(n.town.t, n.store)
		n.store = nil
	}
}

// losePower cuts nodes off all others and from their power at the same instant: of their
// disks remains what was synced.
func (w *town) losePower(nodes ...*townNode) {
	w.t.Helper()
	for _, n := range nodes {
		w.net.ResetHost(n.name)
		n.disk = n.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 2))})
	}
	for _, n := range nodes {
		n.stop() // onto the disk of before, which is no more
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
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
	before := g.fsm.hot.index.Load()
	h := sha256.New()
	iter, err := g.fsm.db.NewIter(&pebble.IterOptions{LowerBound: g.fsm.transfer.start(), UpperBound: g.fsm.transfer.end()})
	if err != nil {
		return sum, 0, err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		fmt.Fprintf(h, "%q=%q\n", iter.Key(), iter.Value())
	}
	if err := iter.Close(); err != nil {
		return sum, 0, err
	}
	if index = g.fsm.hot.index.Load(); index != before {
		return sum, 0, fmt.Errorf("range %d moved on from entry %d to %d", g.id, before, index)
	}
	return [sha256.Size]byte(h.Sum(nil)), index, nil
}

// agree waits until all replicas of each range have the same state at the same entry.
func (w *town) agree() {
	w.t.Helper()
	eventually(w.t, "replicas with the same state", func() error {
		for i := range w.nodes[0].store.groups {
			first, at, err := w.nodes[0].store.groups[i].digest()
			if err != nil {
				return err
			}
			for _, n := range w.nodes[1:] {
				sum, index, err := n.store.groups[i].digest()
				if err != nil {
					return err
				}
				if sum != first || index != at {
					return fmt.Errorf("range %d: %s at entry %d %x, %s at %d %x", i, w.nodes[0].name, at, first[:4], n.name, index, sum[:4])
				}
			}
		}
		return nil
	})
}
