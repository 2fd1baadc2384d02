package ownership

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
)

var (
	faultSeed = flag.Uint64("fault-seed", 1, "seed of TestFaults")
	faultRuns = flag.Int("fault-runs", 1, "seeds of TestFaults, from -fault-seed on")
	faultTime = flag.Duration("fault-time", 8*time.Second, "how long TestFaults makes faults, for each seed")
)

// TestFaults: under faults of the network, losses of power of one or several nodes, slow
// disks, handovers, states that have to be sent and clocks that differ,
//   - what was acknowledged is kept, what was deleted stays so, nothing is made that was
//     not asked for, and no ID or key makes two subscriptions;
//   - each channel's history of reads and writes is linearizable;
//   - a reader of updates that was told up to where a range is closed misses nothing below;
//   - hosts rest until the latest time that was acknowledged for them;
//   - in the end all replicas have the same state.
//
// With more time, and other seeds:
//
//	go test ./ownership -run TestFaults -fault-seed 7 -fault-runs 20 -fault-time 30s
func TestFaults(t *testing.T) {
	t.Parallel()
	for i := range *faultRuns {
		seed := *faultSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { testFaults(t, seed) })
	}
}

func testFaults(t *testing.T, seed uint64) {
	w := newTown(t, 3, seed, func(c *Config) { c.SnapshotBytes = 32 << 10 })
	random := rand.New(rand.NewPCG(seed, 0))
	for _, n := range w.nodes {
		n.skew.Store(random.Int64N(int64(3*time.Second)) - int64(1500*time.Millisecond))
		w.logf("the clock of %s is %s off", n.name, time.Duration(n.skew.Load()))
	}
	ctx, stop := context.WithTimeout(context.Background(), *faultTime)
	defer stop()
	all, feeds, rests := newCrowd(w), newFeedLoad(w), newResters(w)
	var running sync.WaitGroup
	for c := range writers + readers {
		running.Go(func() { all.client(ctx, c, rand.New(rand.NewPCG(seed, uint64(c)+1))) })
	}
	feeds.start(ctx, &running, seed)
	running.Go(func() { rests.run(ctx, rand.New(rand.NewPCG(seed, 1<<33))) })
	running.Go(func() { w.handOvers(ctx, rand.New(rand.NewPCG(seed, 1<<32))) })
	w.faults(ctx, random)
	done := w.expect(time.Minute, "clients end")
	running.Wait()
	done()
	w.net.HealAll()
	w.logf("all is healed")
	all.settle()
	feeds.settle()
	w.agree()
	rests.settle()
	states := w.states
	for _, n := range w.nodes {
		states += n.received()
	}
	w.logf("%d states were received", states)
}

// faults makes one fault after the other until ctx ends.
func (w *town) faults(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		n := w.nodes[random.IntN(len(w.nodes))]
		lasts := time.Duration(200+random.IntN(1800)) * time.Millisecond
		switch random.IntN(8) {
		case 0:
			w.power(n)
		case 1:
			w.power(w.nodes...)
		case 2:
			w.power(w.nodes[0], w.nodes[1+random.IntN(2)])
		case 3:
			w.deaf(ctx, random, lasts)
		case 4:
			w.slowDisk(ctx, n, time.Duration(10+random.IntN(140))*time.Millisecond, lasts)
		default:
			w.network(ctx, random, lasts)
		}
	}
}

// power takes the power from nodes, and opens them again.
func (w *town) power(nodes ...*townNode) {
	for _, n := range nodes {
		w.logf("%s loses power", n.name)
	}
	w.losePower(nodes...)
	w.open(nodes...)
	w.logf("and is open again")
}

// deaf lets a leader hear nothing while it is heard. Half of them give their leadership
// to another node first, and cannot know whether that has come about.
func (w *town) deaf(ctx context.Context, random *rand.Rand, lasts time.Duration) {
	b := channel.Bucket(random.IntN(channel.Buckets))
	n, to := w.leading(b), w.nodes[random.IntN(len(w.nodes))]
	if n == nil {
		return
	}
	w.logf("%s, which leads bucket %d, is deaf for %s", n.name, b, lasts)
	defer n.deafen()()
	if n != to && random.IntN(2) == 0 {
		w.logf("%s hands over to %s: %v", n.name, to.name, n.handOver(to, b))
	}
	pause(ctx, lasts)
}

func (w *town) slowDisk(ctx context.Context, n *townNode, sync, lasts time.Duration) {
	w.logf("each sync of %s takes %s for %s", n.name, sync, lasts)
	n.slow.Store(int64(sync))
	defer n.slow.Store(0)
	pause(ctx, lasts)
}

func (w *town) network(ctx context.Context, random *rand.Rand, lasts time.Duration) {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.name)
	}
	fault := memnet.Draw(random, names)
	if fault.Kind == memnet.Reset {
		lasts = 0
	}
	w.logf("%s for %s", fault, lasts)
	fault.Begin(w.net)
	defer fault.End(w.net)
	pause(ctx, lasts)
}

// handOvers gives ranges to other nodes beside all faults, until ctx ends.
func (w *town) handOvers(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+random.IntN(1500))*time.Millisecond)
		b := channel.Bucket(random.IntN(channel.Buckets))
		n, to := w.leading(b), w.nodes[random.IntN(len(w.nodes))]
		if n != nil && n != to {
			w.logf("%s hands bucket %d over to %s: %v", n.name, b, to.name, n.handOver(to, b))
		}
	}
}

func pause(ctx context.Context, lasts time.Duration) {
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
}
