package ownership

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
)

// A leader's barrier waits for raft's main loop, which may be in a slow write, for
// barrierWithin; the next one comes barrierPause later.
const (
	barrierWithin = time.Second
	barrierPause  = 100 * time.Millisecond

	barriersAtOnce = 256
)

// group is one range's replica on this node.
type group struct {
	id      uint32
	all     channel.Range                 // with all buckets that it has ever had
	buckets atomic.Pointer[channel.Range] // see rng
	seat    seat
	tools   tools

	log       *sharedlog.Group
	snapshots *snapshotStore
	state     *state.Machine
	fsm       *fsm
	clock     *clock
	queue     *queue
	batcher   *batcher
	raft      *raft.Raft

	serving  atomic.Bool   // leads, and has applied all that came before
	barred   atomic.Bool   // must not lead: it is damaged
	prepare  prepare       // to send a state; nil: none is ever sent
	led      atomic.Uint64 // the term in which it serves, or did last; written by watch
	gained   atomic.Int64  // when it began to, in nanoseconds of the process's clock
	demanded atomic.Uint64 // the newest stamp that streams want it closed up to
	told     bool          // the observer knows that the range is led here; of watch, and of who stops it afterwards
	ready    chan struct{} // closed when it serves for the first time
	notify   chan bool     // from raft: leads, or no longer
	owed     *owed         // answers of raft, but for those that the batcher waits for
	divided  func()        // told when the range has fewer buckets
	stopping chan struct{}
	watched  chan struct{} // closed when watch has ended

	filling filling // of nonvoters, while this replica leads
	handing struct {
		sync.Mutex
		failed map[raft.ServerID]uint64 // replicas that did not take over leadership, and what they had taken by then; see transfer
	}
}

// openGroup reads the group's log and state. Damage is found before anything runs. All are the
// buckets that the range has ever had, which a replica has that was not split yet.
func openGroup(r, all channel.Range, seat seat, log *sharedlog.Log, db *pebble.DB, states *state.DB, flush *flusher, cfg Config, tools tools) (*group, error) {
	id := r.ID
	g := &group{
		id: id, all: all, seat: seat, tools: tools, clock: &clock{now: cfg.Now}, divided: func() {},
		ready: make(chan struct{}), notify: make(chan bool, 16),
		owed: newOwed(), stopping: make(chan struct{}), watched: make(chan struct{}),
	}
	g.handing.failed = make(map[raft.ServerID]uint64)
	var err error
	if g.state, err = states.Machine(all); err != nil {
		return nil, err
	}
	g.fsm = &fsm{
		group: id, state: g.state, flush: flush, tools: tools, clock: g.clock, observer: cfg.Observer, gate: states.Gate(),
		restored: make(chan struct{}, 1), divided: make(chan struct{}, 1),
	}
	if g.log, err = log.Group(id); err != nil {
		return nil, err
	}
	if g.empty() {
		g.state.Narrow(r.To)
	}
	g.fsm.transfer = &transferrer{
		group: id, all: all, buckets: g.state.Range, admit: func(channel.Bucket) channel.Bucket { return all.To }, db: db, flush: flush, pieces: receivedFile, metrics: tools.metrics,
		files: cfg.files, dir: stateDir(cfg, id), gone: g.fsm.gone,
	}
	g.snapshots = &snapshotStore{group: id, log: g.log, transfer: g.fsm.transfer}
	g.fsm.configured.snapshot = g.snapshots.configuration
	if err := g.finishRestore(); err != nil {
		return nil, err
	}
	g.setRange(g.state.Range())
	g.queue = newQueue(g.clock)
	g.batcher = newBatcher(g.queue, g.clock, tools.metrics, func(entry []byte) raft.ApplyFuture {
		return g.raft.Apply(entry, answerWithin)
	})
	return g, nil
}

// stateDir is where states of a range are on their way.
func stateDir(cfg Config, id uint32) string {
	return filepath.Join(cfg.Dir, "transfer", strconv.FormatUint(uint64(id), 10))
}

func (g *group) finishRestore() error {
	_, marker, err := g.snapshots.read()
	if err != nil {
		return err
	}
	return g.fsm.finishRestore(marker)
}

// begin founds the group, unless the ranges of this node were born: then a log that is
// missing is lost.
func (g *group) begin(born bool) error {
	if born {
		return g.founded()
	}
	return g.bootstrap()
}

// bootstrap founds the group, unless it was founded before.
func (g *group) bootstrap() error {
	err := bootstrap(g.config(), g.log, g.log, g.snapshots, g.seat)
	if err != nil {
		return fmt.Errorf("found range %d: %w", g.id, err)
	}
	return nil
}

// founded refuses a group that was founded and has lost its log and snapshot: raft,
// without voters, would never elect a leader.
func (g *group) founded() error {
	last, _ := g.log.LastIndex()
	snapshot, _, err := g.snapshots.read()
	if err == nil && last == 0 && snapshot.Index == 0 {
		err = disk.Corrupt("log of range %d has no entries, not even those of its founding", g.id)
	}
	return err
}

func (g *group) config() *raft.Config {
	conf := raftConfig(g.seat, g.tools, g.id)
	conf.NotifyCh = g.notify
	conf.NoSnapshotRestoreOnStart = true // the state is on this disk: see check
	return conf
}

// start checks the log against the state and starts raft and the loops.
func (g *group) start() error {
	if err := g.check(); err != nil {
		return err
	}
	r, err := g.seat.run(g.config(), g.fsm, g.log, g.log, g.snapshots, g.id, raftnet.Hooks{
		CheckCommand: checkCommand, Barred: g.barred.Load, Prepare: g.prepare, WantsState: g.wantsState,
	})
	if err != nil {
		// Raft keeps only the text of the cause.
		return fmt.Errorf("start range %d: %w", g.id, errors.Join(err, g.fsm.failed, g.log.Damage()))
	}
	g.raft = r
	go g.watch()
	go g.batcher.propose()
	go g.batcher.answer()
	return nil
}

// checkCommand refuses an entry that the state machine would not apply.
func checkCommand(log *raft.Log) error { return state.CheckEntry(log.Data) }

// check refuses what raft could not go on from: entries were lost between state,
// snapshot and log, or the stores are not of the same time. A state from elsewhere
// may be newer than its snapshot, and with it than the log: its marker says so.
func (g *group) check() error {
	first, _ := g.log.FirstIndex()
	last, _ := g.log.LastIndex()
	snapshot, marker, err := g.snapshots.read()
	if err != nil {
		return err
	}
	applied := g.state.Index()
	switch reach := max(last, snapshot.Index, marker.Applied); {
	case applied < marker.Applied:
		return disk.Corrupt("state of range %d ends at entry %d, its snapshot needs %d", g.id, applied, marker.Applied)
	case first > snapshot.Index+1:
		return disk.Corrupt("log of range %d begins at entry %d, its snapshot ends at %d", g.id, first, snapshot.Index)
	case applied > reach:
		return disk.Corrupt("log of range %d ends at entry %d, its state at %d", g.id, reach, applied)
	default:
		return nil
	}
}

// watch follows leadership until raft stops. A leader serves once it has applied
// what came before it.
func (g *group) watch() {
	defer close(g.watched)
	for {
		select {
		case leads, more := <-g.notify:
			if !more {
				return
			}
			g.follow(leads)
		case <-g.fsm.restored:
			if g.serving.Load() {
				g.gain() // once more: what it holds is another
			}
		case <-g.fsm.divided:
			g.divide()
		}
	}
}

// follow does what a notice of raft's says.
func (g *group) follow(leads bool) {
	g.lose()
	if !leads {
		return
	}
	g.tools.metrics.elections.Inc()
	term := g.raft.CurrentTerm()
	if err := g.catchUp(); err != nil {
		g.tools.log.Warn("leader could not catch up", "range", g.id, "error", err)
		return
	}
	if g.raft.State() != raft.Leader || g.raft.CurrentTerm() != term {
		return // raft has given notice of that, too
	}
	if err := g.fsm.gone(); err != nil { // raft does not know what its state machine did with the entries
		g.tools.log.Warn("leader does not serve", "range", g.id, "error", err)
		return
	}
	g.led.Store(term)
	g.gain()
}

// catchUp waits until all entries of earlier terms are applied, as long as raft leads: a
// barrier may come to nothing, since a write of the log takes long or leadership was
// about to be handed over, and no other notice of the same leadership follows.
func (g *group) catchUp() error {
	for {
		err := g.pass()
		if err == nil || errors.Is(err, ErrClosed) || g.raft.State() != raft.Leader {
			return err
		}
		g.tools.log.Warn("leader has not caught up yet", "range", g.id, "error", err)
		select {
		case <-time.After(barrierPause):
		case <-g.stopping:
			return ErrClosed
		}
	}
}

// gain begins to serve in the term led. The observer hears of changes first, so that what it reads
// when it learns of the range, and what it is told, are together everything.
func (g *group) gain() {
	g.divide()
	g.clock.lead(g.state.NewestTime())
	g.fsm.leading.Store(true)
	g.serving.Store(true)
	g.clock.changed.ring()
	g.gained.Store(time.Now().UnixNano())
	g.tell()
	select {
	case <-g.ready:
	default:
		close(g.ready)
	}
}

// tell tells the observer that the range is led here. While a backup is being restored to the range,
// it tells that the range is lost: the observer must neither poll nor deliver a part of the backup.
func (g *group) tell() {
	g.untell()
	if g.fsm.observer != nil && !g.state.Restoring() {
		g.fsm.observer.RangeGained(g.rng(), g.led.Load())
		g.told = true
	}
}

// untell tells the observer that the range is lost, if it knows that it is led here.
func (g *group) untell() {
	if g.told {
		g.fsm.observer.RangeLost(g.rng(), g.led.Load())
		g.told = false
	}
}

// lose ends what gain began.
func (g *group) lose() {
	if !g.serving.Swap(false) {
		return
	}
	g.fsm.leading.Store(false)
	g.clock.follow()
	g.clock.changed.ring() // what waited here goes to the next leader
	g.untell()
}

// empty reports whether the replica has nothing of its range yet: it is about to be filled.
func (g *group) empty() bool {
	last, _ := g.log.LastIndex()
	return last == 0 && g.state.Index() == 0
}

// rng returns the range with the buckets that the observer knows of: until it is told of a split,
// those of before.
func (g *group) rng() channel.Range { return *g.buckets.Load() }

func (g *group) setRange(r channel.Range) { g.buckets.Store(&r) }

// divide tells of a split: the range is lost with the buckets that it had, and gained with those
// that are left. Only then may the others be gained by another replica of this node. It is of
// watch.
func (g *group) divide() {
	before, after := g.rng(), g.state.Range()
	if before == after {
		return
	}
	told := g.told
	g.untell()
	g.setRange(after)
	if told {
		g.tell()
	}
	g.clock.changed.ring()
	g.divided()
}

// pass sends a barrier through the log.
func (g *group) pass() error {
	if planted.Bug(5) {
		return nil
	}
	err := g.owed.wait(g.barriers)
	if errors.Is(err, raft.ErrRaftShutdown) {
		return ErrClosed
	}
	return err
}

// barriers sends one barrier through the log, and more while the state has entries that the log
// does not reach, as that of a replica which was sent a state and then recovered alone: what is
// proposed at their indexes would change nothing. It returns the last one.
func (g *group) barriers() raft.Future {
	last := g.raft.Barrier(barrierWithin)
	for last.Error() == nil && g.raft.LastIndex() < g.state.Index() {
		for range barriersAtOnce {
			last = g.raft.Barrier(barrierWithin)
		}
	}
	return last
}

// refuse lets no more proposals in; done is closed when those under way have
// their answers.
func (g *group) refuse() (done <-chan struct{}) {
	g.queue.close()
	return g.batcher.done
}

// stop ends raft and the loops. It is called once, after refuse.
func (g *group) stop() error {
	if g.raft == nil {
		return nil
	}
	err := g.owed.close(func() error {
		close(g.stopping)
		g.serving.Store(false)
		return g.seat.stop(g.raft, g.id)
	})
	close(g.notify) // raft's loops have ended: none sends to it
	<-g.watched
	if err != nil {
		return fmt.Errorf("stop range %d: %w", g.id, err)
	}
	return nil
}

// snapshot makes the state durable and truncates the log.
func (g *group) snapshot() {
	covered := g.fsm.behind.Load()
	err := g.keepTail()
	if err == nil {
		err = g.raft.Snapshot().Error()
	}
	switch {
	case err == nil:
		g.fsm.behind.Add(-covered)
		g.tools.metrics.snapshots.Inc()
	case errors.Is(err, raft.ErrNothingNewToSnapshot), errors.Is(err, raft.ErrRaftShutdown):
	default:
		g.tools.metrics.snapshotsFailed.Inc()
		g.tools.log.Warn("snapshot failed", "range", g.id, "error", err)
	}
}

// wantsState reports whether the replica is new, of a range that was split: it has no place for
// buckets that the first entries of the range's log are of.
func (g *group) wantsState() bool { return g.empty() && g.state.Range().To < g.all.To }

// replays reports whether the log begins with the first entry of a range that was split: a new
// replica waits for the state, which is sent once the log begins later.
func (g *group) replays() bool {
	first, _ := g.log.FirstIndex()
	return first == 1 && g.state.Range().To < g.all.To
}

// keepTail chooses what the next snapshot leaves of the log.
func (g *group) keepTail() error {
	n, err := g.log.Tail(trailingBytes, trailingLogs)
	if err != nil {
		return err
	}
	if g.replays() {
		n = 1
	}
	conf := g.raft.ReloadableConfig()
	conf.TrailingLogs = uint64(max(n, 1)) // see [raftnet.Log.DeleteRange]
	return g.raft.ReloadConfig(conf)
}

// upToDate returns nil if the replica leads the range and serves it, or follows another one that
// does, and has nearly all that was committed if it votes. One that is empty is being made.
func (g *group) upToDate() error {
	switch {
	case g.empty() || g.serving.Load():
		return nil
	case g.seat.net == nil || !g.follows():
		return fmt.Errorf("range %d: %w", g.id, ErrUnavailable)
	case g.lags():
		return fmt.Errorf("range %d: %w: the replica here has not caught up with its leader", g.id, ErrUnavailable)
	}
	return nil
}

// toldWithin is how often a leader tells a replica that takes its entries what is committed, at
// least: raft does after one to two commitIntervals.
const toldWithin = 5 * commitInterval

// lags reports whether the replica votes and lacks more than nearlyAll of the entries that its
// leader has committed, or has not been told lately how many these are, as while it is sent a
// state. While it lags, a majority needs the others.
func (g *group) lags() bool {
	if !slices.Contains(votersOf(g.raft), string(g.seat.id)) {
		return false
	}
	committed, told := g.seat.committed(g.id)
	return time.Since(told) > toldWithin || g.raft.LastIndex()+nearlyAll < committed
}

// follows reports whether another replica leads the range.
func (g *group) follows() bool {
	_, leader := g.raft.LeaderWithID()
	return leader != "" && leader != g.seat.id
}
