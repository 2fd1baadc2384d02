package ownership

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// splitTo waits until a node that is asked for it shows as many ranges, all of them led.
func splitTo(t *testing.T, s *Store, ranges int) {
	t.Helper()
	eventually(t, "a split is decided", func() error {
		ctx, cancel := soon()
		defer cancel()
		return s.SplitRanges(ctx, ranges)
	})
	awaitRanges(t, s, ranges)
}

func awaitRanges(t *testing.T, s *Store, ranges int) {
	t.Helper()
	eventuallyWithin(t, placeWithin, fmt.Sprint(ranges, " ranges"), func() error {
		table := s.Table()
		if len(table) != ranges {
			return fmt.Errorf("there are %d", len(table))
		}
		for _, r := range s.inOrder() {
			if _, err := s.views.counts.at(context.Background(), r, struct{}{}); err != nil {
				return fmt.Errorf("range %d: %w", r.ID, err)
			}
		}
		return nil
	})
}

// TestSplitAlone: a node that is alone splits its ranges, shows all that it had, goes on with
// numbers and versions, and is the same after a restart, also one that replays its log.
func TestSplitAlone(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	s := open(t, cfg)
	made := make(map[string]channel.ID)
	for i := range 100 {
		x := subscribe(t, s, wish(fmt.Sprintf("http://example.com/%d", i), "", stream))
		made[x.ID] = x.Channel
		grow(t, s, x.Channel, 2)
	}
	splitTo(t, s, 9)
	check := func(s *Store, version uint64) {
		t.Helper()
		for id, ch := range made {
			if x, err := s.View().Subscription(context.Background(), id); err != nil || x.Channel != ch {
				t.Fatalf("subscription %s: %+v, %v", id, x, err)
			}
			c, err := s.View().Channel(context.Background(), ch)
			if err != nil || c.Version != version {
				t.Fatalf("channel %s: %+v, %v; want version %d", ch, c, err, version)
			}
		}
		if channels, subscriptions, unknown := s.View().Counts(context.Background()); unknown > 0 || int(channels) != len(made) || int(subscriptions) != len(made) {
			t.Errorf("%d channels and %d subscriptions, %d ranges unknown", channels, subscriptions, unknown)
		}
		if all, err := s.View().Channels(context.Background(), nil, 1000); err != nil || len(all) != len(made) {
			t.Errorf("%d channels are listed, %v", len(all), err)
		}
	}
	check(s, 2)
	for _, ch := range made {
		grow(t, s, ch, 3)
	}
	check(s, 3)
	shut(t, s)
	s = open(t, cfg)
	if got := len(s.Table()); got != 9 {
		t.Errorf("%d ranges after a restart", got)
	}
	check(s, 3)
	if err := s.SplitRanges(context.Background(), 8); !errors.Is(err, ErrInvalid) {
		t.Errorf("fewer ranges: %v", err)
	}
	if err := s.SplitRanges(context.Background(), 257); !errors.Is(err, ErrInvalid) {
		t.Errorf("too many: %v", err)
	}
	if got := s.RangesWanted(); got != 9 {
		t.Errorf("%d ranges are wanted", got)
	}
}

// TestSplitAloneQuiet: each range that a node alone splits off gets its leader by one election,
// and none loses a term, which would be logged.
func TestSplitAloneQuiet(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Ranges = 16
	var logged bytes.Buffer // read once the store is closed
	cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := open(t, cfg)
	splitTo(t, s, 64)
	if n := counted(t, s.tools.metrics.elections); n != 64 {
		t.Errorf("%v elections of 64 ranges", n)
	}
	shut(t, s)
	if logged.Len() > 0 {
		t.Errorf("warnings:\n%s", &logged)
	}
}

// TestSplitAloneRestarts: a node alone that is stopped at any step of splits, or loses its power,
// goes on where it was, with all that was acknowledged.
func TestSplitAloneRestarts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*faultSeed, 77))
	cfg, disk := testConfig(t), vfs.NewCrashableMem()
	made := make(map[string]bool)
	for round := 0; ; round++ {
		cfg.files = disk
		s := open(t, cfg)
		if err := s.SplitRanges(context.Background(), 24); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Duration(random.IntN(900)) * time.Millisecond); time.Now().Before(end); {
			made[subscribe(t, s, wish(fmt.Sprintf("http://example.com/%d", len(made)), "", stream)).ID] = true
		}
		ranges := len(s.Table())
		if random.IntN(2) == 0 {
			s.cancel() // what the store does from here on would have an effect on the meta group alone
			s.loops.Wait()
			disk = disk.CrashClone(vfs.CrashCloneCfg{})
		}
		shut(t, s)
		if ranges == 24 {
			break
		}
		if round == 100 {
			t.Fatalf("after %d starts there are %d ranges", round, ranges)
		}
	}
	cfg.files = disk
	s := open(t, cfg)
	for id := range made {
		if _, err := s.View().Subscription(context.Background(), id); err != nil {
			t.Errorf("subscription %s: %v", id, err)
		}
	}
	if _, subscriptions, unknown := s.View().Counts(context.Background()); unknown > 0 || int(subscriptions) != len(made) {
		t.Errorf("%d subscriptions, %d ranges unknown; want %d", subscriptions, unknown, len(made))
	}
}

// TestSplitStop measures how long writes to the buckets that move are not answered.
func TestSplitStop(t *testing.T) {
	s := open(t, testConfig(t))
	var longest time.Duration
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			if r := s.Subscribe(context.Background(), []NewSubscription{wish(fmt.Sprintf("http://example.com/%d", i), "", stream)})[0]; r.Err != nil {
				t.Errorf("subscribe: %v", r.Err)
			}
			longest = max(longest, time.Since(began))
		}
	}()
	splitTo(t, s, 16)
	close(stop)
	<-done
	t.Logf("the longest write took %s", longest)
}

// testSplit splits the ranges of three nodes under load while disturb does what it does.
func testSplit(t *testing.T, seed uint64, ranges int, disturb func(ctx context.Context, w *town, random *rand.Rand)) {
	w := newTown(t, 3, seed, func(c *Config) { c.SnapshotBytes = 32 << 10 })
	all, feeds := newCrowd(w), newFeedLoad(w)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var running sync.WaitGroup
	for c := range writers + readers {
		running.Go(func() { all.client(ctx, c, rand.New(rand.NewPCG(seed, uint64(c)+1))) })
	}
	feeds.start(ctx, &running, seed)
	eventually(t, "a split is decided", func() error {
		for _, n := range w.nodes {
			if s := n.live.Load(); s != nil {
				return s.SplitRanges(ctx, ranges)
			}
		}
		return errors.New("no node is up")
	})
	disturb(ctx, w, rand.New(rand.NewPCG(seed, 0)))
	awaitRanges(t, w.nodes[0].store, ranges)
	w.logf("there are %d ranges", ranges)
	pause(ctx, time.Second)
	stop()
	done := w.expect(time.Minute, "clients end")
	running.Wait()
	done()
	all.settle()
	feeds.settle()
	w.settled(3, w.nodes...)
	w.agree()
}

// TestSplitUnderLoad: three nodes split their ranges while clients write, read and follow:
// nothing is lost, nothing comes twice, reads are linearizable.
func TestSplitUnderLoad(t *testing.T) {
	t.Parallel()
	testSplit(t, 71, 16, func(context.Context, *town, *rand.Rand) {})
}

// TestSplitPowerLoss: so they do while nodes lose their power at any step.
func TestSplitPowerLoss(t *testing.T) {
	t.Parallel()
	testSplit(t, *faultSeed+71, 24, func(ctx context.Context, w *town, random *rand.Rand) {
		for range 8 {
			n := w.nodes[random.IntN(3)]
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && !n.splits(); {
				pause(ctx, time.Millisecond)
			}
			pause(ctx, time.Duration(random.IntN(80))*time.Millisecond)
			w.logf("%d ranges here, splits are under way: %v", len(n.store.Table()), n.splits())
			if random.IntN(3) == 0 {
				w.power(w.nodes...)
			} else {
				w.power(n)
			}
		}
	})
}

// TestSplitFaults: so they do under all faults of TestFaults.
func TestSplitFaults(t *testing.T) {
	t.Parallel()
	testSplit(t, *faultSeed+80, 16, func(ctx context.Context, w *town, random *rand.Rand) {
		soon, cancel := context.WithTimeout(ctx, *faultTime)
		defer cancel()
		w.faults(soon, random)
		w.net.HealAll()
		w.logf("all is healed")
	})
}

// splits reports whether a node knows of a split that is under way.
func (n *townNode) splits() bool {
	return slices.ContainsFunc(n.store.known.Load().Ranges, (*wire.Range).GetPlanned)
}

// TestSplitBehind: a node that is down while ranges are split, and for which their log is kept
// no longer, is sent the states of both halves when it is back.
func TestSplitBehind(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 73, func(c *Config) { c.SnapshotBytes = 32 << 10 })
	made := w.filled(40, "before")
	driver := w.driver()
	var down *townNode
	for _, n := range w.nodes {
		if n != driver {
			down = n
		}
	}
	down.stop()
	splitTo(t, driver.store, 8)
	rest := slices.DeleteFunc(slices.Clone(w.nodes), func(n *townNode) bool { return n == down })
	for id, ch := range w.filledAt(rest, 600, "meanwhile") {
		made[id] = ch
	}
	for _, n := range rest {
		n.store.snapshotAll()
	}
	w.open(down)
	awaitRanges(t, down.store, 8)
	w.settled(3, w.nodes...)
	w.agree()
	if n := down.received(); n == 0 {
		t.Error("it has received no state")
	}
	down.shows(made)
}

// TestSplitMixed: no range is split while a node has a program that does not know of splits.
func TestSplitMixed(t *testing.T) {
	t.Parallel()
	p := &programs{of: map[string]tables.Versions{"node-1": versions(4, 5)}}
	w := newTown(t, 3, 74, p.tune)
	if err := w.nodes[0].store.SplitRanges(context.Background(), 8); !errors.Is(err, ErrRefused) {
		t.Errorf("while a node has the program of before: %v", err)
	}
	w.nodes[1].stop()
	p.install("node-1", tables.Versions{})
	w.open(w.nodes[1])
	eventually(t, "the new version", func() error {
		if v := w.nodes[0].store.Version(); v != newestVersion {
			return fmt.Errorf("it is %d", v)
		}
		return nil
	})
	splitTo(t, w.nodes[1].store, 5)
}

// TestSplitGrowth: the directory of a node alone that has split its ranges becomes the first of
// three nodes, with all that was acknowledged.
func TestSplitGrowth(t *testing.T) {
	t.Parallel()
	w := newTown(t, 0, 75, nil)
	first := w.add("node-0")
	alone := open(t, Config{Dir: first.dir, Node: first.name, Ranges: 4, files: first.files()})
	splitTo(t, alone, 6)
	made := make(map[string]channel.ID)
	for i := range 20 {
		s := subscribe(t, alone, wish(fmt.Sprintf("http://example.com/alone/%d", i), "", webhook))
		made[s.ID] = s.Channel
	}
	shut(t, alone)
	if err := first.open(3); err != nil {
		t.Fatal(err)
	}
	first.shows(made)
	for i := range 2 {
		if err := w.add(fmt.Sprint("node-", i+1)).open(0); err != nil {
			t.Fatal(err)
		}
	}
	w.settled(3, w.nodes...)
	splitTo(t, w.nodes[1].store, 8)
	w.settled(3, w.nodes...)
	for _, n := range w.nodes {
		n.shows(made)
	}
	w.agree()
}

// TestSplitGrowthAfterPowerLoss: a node alone that loses its power while it splits ranges, and is
// started again as the first of several, has what it acknowledged and goes on to split.
func TestSplitGrowthAfterPowerLoss(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*faultSeed, 79))
	for range 4 {
		w := newTown(t, 0, random.Uint64(), nil)
		first := w.add("node-0")
		alone, err := openSoon(Config{Dir: first.dir, Node: first.name, Ranges: 4, SweepInterval: time.Hour, files: first.files()})
		if err != nil {
			t.Fatal(err)
		}
		if err := alone.SplitRanges(context.Background(), 16); err != nil {
			t.Fatal(err)
		}
		made := make(map[string]channel.ID)
		for end := time.Now().Add(time.Duration(random.IntN(700)) * time.Millisecond); time.Now().Before(end); {
			s := subscribe(t, alone, wish(fmt.Sprintf("http://example.com/alone/%d", len(made)), "", webhook))
			made[s.ID] = s.Channel
		}
		ranges := len(alone.Table())
		alone.cancel() // what the store does from here on would have an effect on the meta group alone
		alone.loops.Wait()
		first.disk = first.disk.CrashClone(vfs.CrashCloneCfg{})
		shut(t, alone)
		if err := first.open(3); err != nil {
			t.Fatalf("after %d ranges: %v", ranges, err)
		}
		first.shows(made)
		awaitRanges(t, first.store, 16)
		first.shows(made)
	}
}

// TestSplitStopOfThree measures how long writes wait while three nodes, whose disks take 5 ms for
// each sync, split their ranges.
func TestSplitStopOfThree(t *testing.T) {
	w := newTown(t, 3, 76, nil)
	for _, n := range w.nodes {
		n.slow.Store(int64(5 * time.Millisecond))
	}
	w.filled(20, "before")
	var mu sync.Mutex
	var took []time.Duration
	ctx, stop := context.WithCancel(context.Background())
	var writing sync.WaitGroup
	for c := range 16 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				began := time.Now()
				r := w.nodes[c%3].store.Subscribe(context.Background(), []NewSubscription{wish(fmt.Sprintf("http://example.com/%d/%d", c, i), "", stream)})[0]
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				if r.Err != nil {
					t.Errorf("subscribe: %v", r.Err)
				}
			}
		})
	}
	splitTo(t, w.nodes[0].store, 32)
	stop()
	writing.Wait()
	for _, n := range w.nodes {
		if states := n.received(); states > 0 {
			t.Errorf("%s was sent %d states: all begin with what they have", n.name, states)
		}
	}
	slices.Sort(took)
	at := func(part float64) time.Duration { return took[int(part*float64(len(took)-1))].Round(time.Millisecond) }
	t.Logf("%d writes beside 28 splits: half within %s, 99 %% within %s, the longest took %s", len(took), at(0.5), at(0.99), at(1))
}

// TestSplitTable: a split is planned for the table that it was decided for, of a range that
// nothing else is done with; the table gives buckets away only at its end.
func TestSplitTable(t *testing.T) {
	table := &wire.Meta{
		Nodes: []*wire.Node{{Id: "a.1"}, {Id: "b.1"}, {Id: "c.1"}}, LastReplica: 2, Revision: 7,
		Ranges: []*wire.Range{{To: channel.Buckets - 1, Replicas: []string{"a.1/1", "b.1/2"}}},
	}
	plan := func(id uint32, revision uint64) *wire.MetaCommand {
		return &wire.MetaCommand{Change: &wire.MetaCommand_PlanSplit{PlanSplit: &wire.PlanSplit{Range: id, Revision: revision}}}
	}
	finish := &wire.MetaCommand{Change: &wire.MetaCommand_FinishSplit{FinishSplit: &wire.FinishSplit{Child: 1}}}
	move := &wire.MetaCommand{Change: &wire.MetaCommand_PlanReplica{PlanReplica: &wire.PlanReplica{Node: "c.1"}}}
	for _, step := range []struct {
		name    string
		command *wire.MetaCommand
		refused bool
	}{
		{"of another table", plan(0, 6), true},
		{"no such range", plan(1, 7), true},
		{"finished before it is planned", finish, true},
		{"planned", plan(0, 7), false},
		{"planned again", plan(0, 7), true},
		{"of one that is planned", plan(1, 7), true},
		{"a replica meanwhile", move, true},
		{"finished", finish, false},
		{"finished again", finish, true},
		{"a replica then", move, false},
		{"beside that", plan(0, 7), true},
		{"of the other one", plan(1, 7), false},
	} {
		if err := tables.Change(table, step.command); errors.Is(err, ErrInvalid) != step.refused || !step.refused && err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if _, err := newRoutes(table, nil); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	first, second, third := table.Ranges[0], table.Ranges[1], table.Ranges[2]
	if first.To != channel.Buckets/2-1 || second.From != channel.Buckets/2 || second.To != channel.Buckets-1 || third.From != channel.Buckets/4*3 || !third.Planned {
		t.Errorf("ranges are %v", table.Ranges)
	}
	if !slices.Equal(second.Replicas, []string{"a.1/3", "b.1/4"}) || !slices.Equal(first.Joining, []string{"c.1/5"}) {
		t.Errorf("replicas are %v and %v", second.Replicas, first.Joining)
	}
	if all := tables.Widest(table, 0); all != (channel.Range{To: channel.Buckets - 1}) || tables.Born(table) != 1 {
		t.Errorf("the first has had %v, %d were there at the birth", all, tables.Born(table))
	}
	for i, refused := range map[uint32]bool{2: true, 3: false, tables.MostRanges: false, tables.MostRanges + 1: true} {
		want := &wire.MetaCommand{Change: &wire.MetaCommand_WantRanges{WantRanges: &wire.WantRanges{Ranges: i}}}
		if err := tables.Change(table, want); (err != nil) != refused {
			t.Errorf("%d ranges are wanted: %v", i, err)
		}
	}
}

// spans wants each replica of a node to have the buckets of its range in the table.
func (n *townNode) spans() {
	n.town.t.Helper()
	eventually(n.town.t, "the buckets of the replicas of "+n.name, func() error {
		for _, g := range n.store.groups() {
			if have, want := g.state.Range(), n.store.byID(g.id).Range; have != want {
				return fmt.Errorf("the replica of range %d has buckets %d to %d, want %d to %d", g.id, have.From, have.To, want.From, want.To)
			}
		}
		return nil
	})
}

// TestSplitThenJoin: a node that joins after ranges were split is sent their states, since their
// first entries are of buckets that they have no longer, and has the right ones also when it
// starts again.
func TestSplitThenJoin(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 76, nil)
	made := w.filled(40, "before")
	splitTo(t, w.nodes[0].store, 8)
	eventually(t, "truncated logs", func() error {
		for _, n := range w.nodes {
			for _, g := range n.store.groups() {
				if g.replays() {
					return fmt.Errorf("range %d at %s", g.id, n.name)
				}
			}
		}
		return nil
	})
	joins := w.add("node-3")
	w.open(joins)
	w.settled(3, w.nodes...)
	joins.spans()
	if got, want := joins.received(), len(joins.store.groups()); got < want {
		t.Errorf("it has received %d states of %d ranges", got, want)
	}
	w.agreeEach()
	joins.stop()
	w.open(joins)
	w.settled(3, w.nodes...)
	joins.spans()
	joins.shows(made)
}

// TestSplitThenJoinAtOnce: a node that joins while the log of a range that was split has its first
// entries still takes none of them: it waits for the state.
func TestSplitThenJoinAtOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 80, func(c *Config) { c.Ranges = 1 })
	w.filled(20, "before")
	var hold []func() // no log is truncated
	for _, n := range w.nodes {
		snapshots := n.store.of(0).local().snapshots
		snapshots.mu.Lock()
		hold = append(hold, snapshots.mu.Unlock)
	}
	release := sync.OnceFunc(func() {
		for _, unlock := range hold {
			unlock()
		}
	})
	defer release()
	splitTo(t, w.nodes[0].store, 2)
	joins := w.add("node-3")
	w.open(joins)
	eventuallyWithin(t, placeWithin, "a replica", func() error {
		if joins.store.of(0).local() == nil {
			return errors.New("none")
		}
		return nil
	})
	time.Sleep(2 * time.Second) // the leader would send entries meanwhile
	if g := joins.store.of(0).local(); !g.empty() {
		t.Errorf("a replica that waits for a state is at entry %d", g.state.Index())
	}
	release()
	w.settled(3, w.nodes...)
	if got, want := joins.received(), len(joins.store.groups()); got < want {
		t.Errorf("it has received %d states of %d ranges", got, want)
	}
	w.agreeEach()
}

// TestSplitLag: a node that begins none of its replicas while ranges are split, and those split
// again, begins each behind the one whose state has its buckets.
func TestSplitLag(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 77, func(c *Config) { c.Ranges = 1 })
	made := w.filled(20, "before")
	driver := w.driver()
	var lags *townNode
	for _, n := range w.nodes {
		if n != driver && !n.store.of(0).serves() {
			lags = n
		}
	}
	flush := lags.store.stores.flush
	flush.mu.Lock()
	release := sync.OnceFunc(flush.mu.Unlock)
	defer release()
	rest := slices.DeleteFunc(slices.Clone(w.nodes), func(n *townNode) bool { return n == lags })
	for _, ranges := range []int{2, 3, 4} {
		splitTo(t, driver.store, ranges)
		maps.Copy(made, w.filledAt(rest, 20, fmt.Sprint("of-", ranges)))
	}
	release()
	w.settled(3, w.nodes...)
	lags.spans()
	w.agreeEach()
	lags.stop()
	w.open(lags)
	w.settled(3, w.nodes...)
	lags.spans()
	lags.shows(made)
}

// TestSplitOfDamaged: a replica that is found to be damaged before the range that was split off it
// begins does not pass its state on: that of the other range begins empty. One that is still empty
// when its node is started again is no damaged one.
func TestSplitOfDamaged(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 78, func(c *Config) { c.Ranges = 1 })
	made := w.filled(20, "before")
	w.agree()
	driver := w.driver()
	damaged := w.nodes[slices.IndexFunc(w.nodes, func(n *townNode) bool { return n != driver && !n.store.of(0).serves() })]
	flush := damaged.store.stores.flush
	flush.mu.Lock()
	release := sync.OnceFunc(flush.mu.Unlock)
	defer release()
	splitTo(t, driver.store, 2)
	for key := range dump(t, damaged.store.db) {
		if key[2] == 'm' && binary.BigEndian.Uint16([]byte(key)) >= channel.Buckets/2 {
			damaged.must(damaged.store.db.Delete([]byte(key), pebble.NoSync))
		}
	}
	eventually(t, "the table with the split is known", func() error {
		if ranges := damaged.store.known.Load().Ranges; len(ranges) != 2 || ranges[1].Planned {
			return fmt.Errorf("%v", ranges)
		}
		return nil
	})
	var others []string
	for _, n := range w.nodes {
		if n != damaged {
			others = append(others, n.name)
		}
	}
	w.net.Partition([]string{damaged.name}, others) // so that nothing fills it
	damaged.store.repairs.note(0, string(damaged.store.of(0).local().seat.id), disk.Corrupt("by the test"))
	release()
	eventually(t, "the other range begins empty", func() error {
		if way := damaged.store.byID(1); way == nil || way.local() == nil || !way.local().empty() {
			return errors.New("not yet")
		}
		return nil
	})
	damaged.stop()
	w.net.HealAll()
	w.open(damaged)
	if why, found := damaged.store.repairs.all()[1]; found {
		t.Errorf("the replica that is to be filled counts as damaged: %v", why.why)
	}
	w.settled(3, w.nodes...)
	w.agreeEach()
	damaged.shows(made)
}

// TestSplitOfUnknown: a node that leads the meta group and goes by an older table, which lacks
// the parent of a range that is planned, waits for the newer one.
func TestSplitOfUnknown(t *testing.T) {
	t.Parallel()
	s := open(t, testConfig(t))
	if err := s.splits.splitOff(context.Background(), &wire.Range{Id: 201, Parent: 201}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want that the node is not able to yet", err)
	}
}
