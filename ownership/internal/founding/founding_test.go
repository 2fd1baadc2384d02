package founding

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// record is what a node keeps; it outlives the node's process.
type record struct {
	mu      sync.Mutex
	promise string
	table   *wire.Meta
}

func (r *record) Promise() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.promise, nil
}

func (r *record) SetPromise(node string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promise = node
	return nil
}

func (r *record) Table() (*wire.Meta, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table, nil
}

func (r *record) SetTable(table *wire.Meta) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table = proto.CloneOf(table)
	return nil
}

// founder is a node that comes and goes.
type founder struct {
	name   string
	record record
	host   *memnet.Host
	stop   func() // ends its process; nil while it is down
	done   chan *wire.Meta
}

const port = ":1"

// start runs the node. Draw says which of the others it has heard of, at each look.
func (f *founder) start(t *testing.T, expect int, all []*founder, draw func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	peers, err := peer.New(peer.Config{Self: peer.Identity{Name: f.name, ID: f.name + ".x"}, Network: f.host})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := f.host.Listen(f.name + port)
	if err != nil {
		t.Fatal(err)
	}
	founding, err := New(Config{
		Self: &wire.Node{Id: f.name + ".x", Name: f.name, Address: f.name + port}, Expect: expect,
		Seen: func() (seen []Candidate) {
			for _, other := range all {
				if other == f || !draw() {
					continue
				}
				c := Candidate{ID: other.name + ".x", Name: other.name, Address: other.name + port}
				if table, _ := other.record.Table(); table != nil {
					c.Cluster = string(table.Cluster)
				}
				seen = append(seen, c)
			}
			return seen
		},
		Peers: peers, Kind: peer.FirstKind, Record: &f.record,
		Decide: func(promises []*wire.Promise) *wire.Meta {
			table := &wire.Meta{Cluster: fmt.Append(nil, "of ", f.name)}
			for _, p := range promises {
				table.Nodes = append(table.Nodes, p.Node)
			}
			return table
		},
		Fits:   func(*wire.Meta) error { return nil },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := peers.Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if table, err := founding.Await(ctx); err == nil {
			f.done <- table
		}
	})
	f.stop = func() {
		cancel()
		peers.Close()
		running.Wait()
		f.stop = nil
	}
}

// TestOneCluster: however nodes hear of each other, stop and start again, they found one
// cluster, of all of them.
func TestOneCluster(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				random, views := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
				draw := func() bool { // of any founder
					mu.Lock()
					defer mu.Unlock()
					return views.IntN(4) > 0
				}
				network := memnet.New(seed)
				n := 1 + int(seed)%5
				var all []*founder
				for i := range n {
					name := fmt.Sprint("n", i)
					all = append(all, &founder{name: name, host: network.Host(name), done: make(chan *wire.Meta, 100)})
				}
				for range 30 {
					f := all[random.IntN(n)]
					if f.stop != nil {
						f.stop()
					} else {
						f.start(t, n, all, draw)
					}
					time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
				}
				for _, f := range all {
					if f.stop == nil {
						f.start(t, n, all, draw)
					}
				}
				for _, f := range all {
					select {
					case table := <-f.done:
						if string(table.Cluster) != "of n0" || len(table.Nodes) != n {
							t.Errorf("%s is of cluster %q with %d nodes, want that of n0 with %d", f.name, table.Cluster, len(table.Nodes), n)
						}
					case <-time.After(5 * time.Minute):
						t.Errorf("%s is of no cluster", f.name)
					}
				}
				for _, f := range all {
					f.stop()
				}
				network.Close()
			})
		})
	}
}

// TestTooMany: with more fresh nodes than were expected none promises anything, so that
// they cannot split into parts that wait for each other.
func TestTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		var all []*founder
		for i := range 4 {
			name := fmt.Sprint("n", i)
			all = append(all, &founder{name: name, host: network.Host(name), done: make(chan *wire.Meta, 1)})
		}
		for _, f := range all {
			f.start(t, 3, all, func() bool { return true })
		}
		time.Sleep(time.Minute)
		for _, f := range all {
			if promise, _ := f.record.Promise(); promise != "" || len(f.done) > 0 {
				t.Errorf("%s has promised %q", f.name, promise)
			}
		}
		all[3].stop()
		for _, f := range all[:3] { // as the one that was stopped is not heard of any more
			f.stop()
			f.start(t, 3, all[:3], func() bool { return true })
		}
		for _, f := range all[:3] { // the founder stays until all have its table
			if table := <-f.done; len(table.Nodes) != 3 {
				t.Errorf("%s: %d nodes", f.name, len(table.Nodes))
			}
		}
		for _, f := range all[:3] {
			f.stop()
		}
		network.Close()
	})
}
