package ownership

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

var (
	repairSeed = flag.Uint64("repair-seed", 1, "first seed of TestRepair")
	repairRuns = flag.Int("repair-runs", 4, "runs of TestRepair, one seed each, from -repair-seed on")
	repairLog  = flag.Bool("repair-log", false, "print the logs of nodes in TestRepair")
	repairEach = flag.Int("repair-each", 10, "how many runs of TestRepair one cluster goes through")
)

// TestRepair: what a node of three has on its disk, log or state, is damaged at a random
// place while it is stopped, and clients go on to write and read. When it is back, damage is
// found before it is served, what is damaged is filled again under new numbers, nothing that
// was acknowledged is lost, and all replicas have the same state. A change that hits what the
// stores no longer need is counted as harmless: replicas have the same state after it too.
//
// All 500 runs:
//
//	go test ./ownership -run 'TestRepair$' -repair-runs 500 -parallel 8 -timeout 3h -v
func TestRepair(t *testing.T) {
	t.Parallel()
	for first := 0; first < *repairRuns; first += *repairEach {
		seed := *repairSeed + uint64(first)
		runs := min(*repairEach, *repairRuns-first)
		t.Run(fmt.Sprintf("seeds %d to %d", seed, seed+uint64(runs)-1), func(t *testing.T) {
			t.Parallel()
			testRepairs(t, seed, runs)
		})
	}
}

func testRepairs(t *testing.T, seed uint64, runs int) {
	c := newRepairCase(t, seed)
	c.writing.Go(func() { c.write(rand.New(rand.NewPCG(seed, 1))) })
	c.writing.Go(func() { c.read(rand.New(rand.NewPCG(seed, 2))) })
	defer func() { c.stop(); c.writing.Wait() }()
	c.want(200) // so that there is something to be damaged
	for i := range runs {
		c.run(seed + uint64(i))
	}
}

// TestCompactionMeetsDamage: a compaction of a node that runs meets damage in the state: the
// range that has records in that block is filled again, no other one that has some in the file.
func TestCompactionMeetsDamage(t *testing.T) {
	t.Parallel()
	c := newRepairCase(t, 61)
	c.writing.Go(func() { c.write(rand.New(rand.NewPCG(61, 1))) })
	defer func() { c.stop(); c.writing.Wait() }()
	c.want(100)
	n := c.nodes[1]
	compact := func() error {
		n.must(n.store.db.Flush())
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return n.store.db.Compact(ctx, []byte{0}, []byte{0xFF}, false)
	}
	n.must(n.store.db.Flush())
	before := make(map[uint32]string)
	for _, r := range n.store.known.Load().Ranges {
		before[r.Id] = n.store.net.replicaHere(r)
	}
	n.flipBlock()
	met := n.store.tools.metrics.replicasDamaged
	c.want(100)   // so that there is another file to compact it with
	_ = compact() // with an error of damage, or once that is gone
	eventually(t, "the compaction meets damage", func() error {
		if testutil.ToFloat64(met) == 0 {
			return errors.New("no replica is damaged")
		}
		return nil
	})
	c.repaired()
	changed := 0
	for _, r := range n.store.known.Load().Ranges {
		if n.store.net.replicaHere(r) != before[r.Id] {
			changed++
		}
	}
	if changed != 1 { // the block has records of one range; pebble tells of it several times
		t.Errorf("%d of %d replicas were filled again, want 1", changed, len(before))
	}
	n.must(compact())
	c.quiet.Lock()
	defer c.quiet.Unlock()
	c.agreeEach()
}

// TestScrubbedAnew: a scrub finds damage, and the replica that follows is not counted as
// damaged before it is read itself.
func TestScrubbedAnew(t *testing.T) {
	t.Parallel()
	c := newRepairCase(t, 63)
	c.filled(100, "before")
	n := c.nodes[1]
	n.must(n.store.db.Flush())
	n.flipBlock()
	scrubAll(n.store)
	if found := testutil.ToFloat64(n.store.tools.metrics.scrubDamage); found == 0 {
		t.Fatal("no damage was found")
	}
	c.repaired()
	if damaged := n.store.scrub.damaged(); damaged != 0 {
		t.Errorf("%d buckets count as damaged after the repair", damaged)
	}
}

// TestDamageOfNothing: a node without replicas whose log is gone begins another one.
func TestDamageOfNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 62, nil)
	made := w.filled(10, "before")
	n := w.add("node-3")
	if err := n.open(0); err != nil {
		t.Fatal(err)
	}
	if err := n.store.Drain(context.Background(), n.name); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes[:3]...)
	n.stop()
	n.must(n.disk.RemoveAll(n.disk.PathJoin(n.dir, "log")))
	w.open(n)
	if err := n.store.Undrain(context.Background(), n.name); err != nil {
		t.Fatal(err)
	}
	w.settled(3, w.nodes...)
	n.shows(made)
}

// TestLateDamage: a read of a replica that has been dropped ends late, and finds damage. That
// is none of the replica that has its place.
func TestLateDamage(t *testing.T) {
	p := newRepairs(newMetrics(nil))
	g := &group{id: 3, seat: seat{id: "a.1/4"}, fsm: &fsm{}, stopping: make(chan struct{})}
	close(g.stopping)
	wantError(t, p.refuse(g, disk.Corrupt("late")), errElsewhere)
	if all := p.all(); len(all) > 0 {
		t.Errorf("damaged: %v", all)
	}
}

// flipBlock flips a bit in the first block of the largest file of the node's state.
func (n *townNode) flipBlock() {
	dir := n.disk.PathJoin(n.dir, "state")
	names, err := n.disk.List(dir)
	n.must(err)
	largest, size := "", int64(0)
	for _, name := range names {
		info, err := n.disk.Stat(n.disk.PathJoin(dir, name))
		n.must(err)
		if strings.HasSuffix(name, ".sst") && info.Size() > size {
			largest, size = name, info.Size()
		}
	}
	path := n.disk.PathJoin(dir, largest)
	file, err := n.disk.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	n.must(err)
	bit := make([]byte, 1)
	_, err = file.ReadAt(bit, 100)
	n.must(err)
	bit[0] ^= 1
	_, err = file.WriteAt(bit, 100)
	n.must(errors.Join(err, file.Close()))
}

// repairCase is a town whose disks are damaged while clients write.
type repairCase struct {
	*town
	ctx     context.Context
	stop    context.CancelFunc
	writing sync.WaitGroup

	quiet sync.Mutex // held while one writes, and where none may

	mu    sync.Mutex
	made  []channel.Subscription // acknowledged
	ended map[string]error       // of nodes that ended by themselves
	reads int                    // answers that were right
}

func newRepairCase(t *testing.T, seed uint64) *repairCase {
	c := &repairCase{ended: make(map[string]error)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.town = newTown(t, 3, seed, func(cfg *Config) {
		cfg.SnapshotBytes = 32 << 10
		name := cfg.Node
		if *repairLog {
			cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", name)
		}
		cfg.Fatal = func(err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ended[name] = err
		}
	})
	return c
}

// write subscribes until the case ends.
func (c *repairCase) write(random *rand.Rand) {
	for i := 0; c.ctx.Err() == nil; i++ {
		s := c.nodes[random.IntN(len(c.nodes))].live.Load()
		if s == nil {
			continue
		}
		c.quiet.Lock()
		ctx, cancel := soon()
		wishes := []NewSubscription{wish(fmt.Sprintf("http://example.com/%d/%s", i, strings.Repeat("x", random.IntN(200))), "", webhook)}
		r := s.Subscribe(ctx, wishes)[0]
		cancel()
		c.quiet.Unlock()
		if r.Err == nil {
			c.mu.Lock()
			c.made = append(c.made, r.Subscription)
			c.mu.Unlock()
		}
		pause(c.ctx, 20*time.Millisecond)
	}
}

// read wants what was acknowledged, at any node, until the case ends.
func (c *repairCase) read(random *rand.Rand) {
	for c.ctx.Err() == nil {
		pause(c.ctx, 5*time.Millisecond)
		made := c.acknowledged()
		s := c.nodes[random.IntN(len(c.nodes))].live.Load()
		if s == nil || len(made) == 0 {
			continue
		}
		if err := c.readOne(s, made[random.IntN(len(made))]); err != nil {
			c.t.Errorf("%v", err)
		}
	}
}

// readOne reads one subscription; no answer is none that is wrong.
func (c *repairCase) readOne(s *Store, want channel.Subscription) error {
	ctx, cancel := soon()
	defer cancel()
	got, err := s.View().Subscription(ctx, want.ID)
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrClosed):
		return nil
	case err != nil || got != want:
		return fmt.Errorf("subscription %s of channel %s is answered with %+v, %w", want.ID, want.Channel, got, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return nil
}

func (c *repairCase) acknowledged() []channel.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.made)
}

// want waits until so many more subscriptions are acknowledged.
func (c *repairCase) want(more int) {
	c.t.Helper()
	before := len(c.acknowledged())
	eventually(c.t, "subscriptions are acknowledged", func() error {
		if n := len(c.acknowledged()) - before; n < more {
			return fmt.Errorf("%d, want %d", n, more)
		}
		return nil
	})
}

// run damages one node's disk, and sees that it is repaired.
func (c *repairCase) run(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	n := c.nodes[random.IntN(len(c.nodes))]
	began, numbers := time.Now(), c.nodes[0].store.known.Load().LastReplica
	how := "stops"
	if random.IntN(2) == 0 {
		how = "loses power"
		c.losePower(n)
	} else {
		n.stop()
	}
	c.want(5)
	what := n.damage(random)
	c.logf("seed %d: %s %s; %s", seed, n.name, how, what)
	c.town.open(n)
	c.want(5)
	c.repaired()
	scrubAll(n.store) // what nobody has read is found within a week
	c.repaired()
	c.quiet.Lock()
	c.agreeEach()
	c.quiet.Unlock()
	for _, s := range c.acknowledged() {
		eventually(c.t, "subscription "+s.ID, func() error {
			got, err := n.store.View().Subscription(context.Background(), s.ID)
			if err == nil && got != s {
				err = fmt.Errorf("it is %+v", got)
			}
			return err
		})
	}
	again := int(c.nodes[0].store.known.Load().LastReplica) - int(numbers)
	result := fmt.Sprintf("%d replicas filled again", again)
	if again == 0 {
		result = "harmless"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logf("seed %d: %s; %s: %s in %.1f s; %d acknowledged, %d reads right", seed, how, what, result, time.Since(began).Seconds(), len(c.made), c.reads)
}

// repaired waits until all replicas are whole and in their places. A node that has ended is
// started again.
func (c *repairCase) repaired() {
	c.t.Helper()
	defer c.expect(3*placeWithin, "repair")()
	eventuallyWithin(c.t, placeWithin, "repair", func() error {
		for _, ended := range c.nodes {
			c.restarted(ended)
		}
		for _, other := range c.nodes {
			for id, r := range other.store.repairs.all() {
				return fmt.Errorf("%s: range %d: replica %s is damaged: %w", other.name, id, r.replica, r.why)
			}
			if err := other.store.Ready(); err != nil {
				return fmt.Errorf("%s: %w", other.name, err)
			}
		}
		for _, r := range c.nodes[0].store.known.Load().Ranges {
			if len(r.Replicas) != 3 || len(r.Joining) > 0 || len(r.Damaged) > 0 {
				return fmt.Errorf("range %d has replicas %v and %v, damaged %v", r.Id, r.Replicas, r.Joining, r.Damaged)
			}
		}
		return nil
	})
}

// restarted starts a node again that has ended by itself.
func (c *repairCase) restarted(n *townNode) {
	c.mu.Lock()
	ended := c.ended[n.name]
	delete(c.ended, n.name)
	c.mu.Unlock()
	if ended != nil {
		c.logf("%s ended: %v", n.name, ended)
		c.losePower(n)
		c.town.open(n)
	}
}

// damage damages one file of log or state, and says what it did.
func (n *townNode) damage(random *rand.Rand) string {
	store := []string{"log", "state"}[random.IntN(2)]
	dir := n.disk.PathJoin(n.dir, store)
	if random.IntN(40) == 0 {
		n.must(n.disk.RemoveAll(dir))
		return store + " is gone"
	}
	names, err := n.disk.List(dir)
	n.must(err)
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := n.disk.Stat(n.disk.PathJoin(dir, name))
		return err != nil || info.IsDir() || info.Size() == 0
	})
	slices.Sort(names)
	name := names[random.IntN(len(names))]
	path := n.disk.PathJoin(dir, name)
	content := n.content(path)
	used := max(used(content), 1)
	switch kind := random.IntN(10); {
	case kind < 5:
		at, bit := random.IntN(used), random.IntN(8)
		content[at] ^= 1 << bit
		n.write(path, content)
		return fmt.Sprintf("bit %d of byte %d of %d in %s/%s is flipped", bit, at, used, store, name)
	case kind < 9:
		to := random.IntN(used)
		n.write(path, content[:to])
		return fmt.Sprintf("%s/%s of %d bytes is cut to %d", store, name, used, to)
	default:
		n.must(n.disk.Remove(path))
		n.sync(dir)
		return fmt.Sprintf("%s/%s of %d bytes is gone", store, name, used)
	}
}

func (n *townNode) must(err error) {
	n.town.t.Helper()
	if err != nil {
		n.town.t.Fatal(err)
	}
}

func (n *townNode) content(path string) []byte {
	file, err := n.disk.Open(path)
	n.must(err)
	content, err := io.ReadAll(file)
	n.must(errors.Join(err, file.Close()))
	return content
}

func (n *townNode) write(path string, content []byte) {
	file, err := n.disk.Create(path, vfs.WriteCategoryUnspecified)
	n.must(err)
	_, err = file.Write(content)
	n.must(errors.Join(err, file.Sync(), file.Close()))
	n.sync(n.disk.PathDir(path))
}

func (n *townNode) sync(dir string) { n.must(syncDirOf(n.disk, dir)) }
