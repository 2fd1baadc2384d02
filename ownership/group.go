package ownership

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Timings of raft. Heartbeat and lease are far above what a loaded machine
// delays; idle groups cost little. A lone voter does not wait for them: see
// hurry.
const (
	heartbeat      = 1500 * time.Millisecond
	lease          = 500 * time.Millisecond
	commitInterval = 2 * time.Second
	// trailingLogs stay after a snapshot, each of up to 1 MiB.
	trailingLogs = 8
)

// group is one range's replica on this node.
type group struct {
	id       uint32
	from, to channel.Bucket
	tools    tools

	log       *groupLog
	snapshots *snapshotStore
	fsm       *fsm
	clock     *clock
	queue     *queue
	batcher   *batcher
	raft      *raft.Raft

	serving  atomic.Bool   // leads, and has applied all that came before
	ready    chan struct{} // closed when it serves for the first time
	notify   chan bool     // from raft: leads, or no longer
	stopping chan struct{}
	watched  chan struct{} // closed when watch has ended
}

// openGroup reads the group's log and state and starts its raft. Damage is found
// before anything runs.
func openGroup(id uint32, from, to channel.Bucket, log *sharedLog, state *pebble.DB, flush *flusher, cfg Config, tools tools) (*group, error) {
	g := &group{
		id: id, from: from, to: to, tools: tools, clock: &clock{now: cfg.Now},
		ready: make(chan struct{}), notify: make(chan bool, 16),
		stopping: make(chan struct{}), watched: make(chan struct{}),
	}
	g.fsm = &fsm{group: id, from: from, to: to, db: state, flush: flush, tools: tools, clock: g.clock, observer: cfg.Observer}
	if err := g.fsm.load(); err != nil {
		return nil, err
	}
	var err error
	if g.log, err = openGroupLog(log, id); err != nil {
		return nil, err
	}
	g.snapshots = &snapshotStore{log: g.log}
	g.queue = newQueue(g.clock)
	g.batcher = newBatcher(g.queue, g.clock, tools.metrics, func(entry []byte) raft.ApplyFuture {
		return g.raft.Apply(entry, answerWithin)
	})
	return g, nil
}

// bootstrap founds the group with one voter, unless it was founded before.
func (g *group) bootstrap(id raft.ServerID) error {
	err := bootstrap(g.config(id), g.log, g.log, g.snapshots)
	if err != nil {
		return fmt.Errorf("found range %d: %w", g.id, err)
	}
	return nil
}

// bootstrap founds a raft group of one, unless it was founded before.
func bootstrap(conf *raft.Config, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore) error {
	address, transport := loneTransport(conf.LocalID)
	err := raft.BootstrapCluster(conf, logs, stable, snapshots, transport, raft.Configuration{
		Servers: []raft.Server{{Suffrage: raft.Voter, ID: conf.LocalID, Address: address}},
	})
	if errors.Is(err, raft.ErrCantBootstrap) {
		return nil
	}
	return err
}

// loneTransport reaches nobody: what a cluster of one needs. An address is the
// raft ID, so that a node may move to another network address.
func loneTransport(id raft.ServerID) (raft.ServerAddress, raft.Transport) {
	address, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	return address, transport
}

func (g *group) config(id raft.ServerID) *raft.Config {
	conf := raftConfig(id, g.tools, g.id)
	conf.NotifyCh = g.notify
	return conf
}

func raftConfig(id raft.ServerID, tools tools, group uint32) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.HeartbeatTimeout, conf.ElectionTimeout = heartbeat, heartbeat
	conf.LeaderLeaseTimeout, conf.CommitTimeout = lease, commitInterval
	conf.TrailingLogs = trailingLogs
	// The store asks for snapshots, by bytes of log: see snapshotter.
	conf.SnapshotInterval, conf.SnapshotThreshold = time.Hour, 1<<62
	conf.NoLegacyTelemetry = true
	conf.Logger = tools.raftLogger(group)
	return conf
}

// start checks the log against the state and starts raft and the loops.
func (g *group) start(id raft.ServerID) error {
	if err := g.check(); err != nil {
		return err
	}
	_, transport := loneTransport(id)
	r, err := newRaft(g.config(id), g.fsm, g.log, g.log, g.snapshots, transport)
	if err != nil {
		// Raft keeps only the text of the cause.
		return fmt.Errorf("start range %d: %w", g.id, errors.Join(err, g.fsm.failed, g.log.damage()))
	}
	g.raft = r
	go g.watch()
	go g.batcher.propose()
	go g.batcher.answer()
	return hurry(r, id)
}

// newRaft starts raft. It panics when an entry cannot be read, which is for the
// caller to decide about.
func newRaft(conf *raft.Config, f raft.FSM, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r, err = nil, fmt.Errorf("raft: %v", cause)
		}
	}()
	return raft.NewRaft(conf, f, logs, stable, snapshots, transport)
}

// hurry starts the election of a lone voter: nobody else could send the
// heartbeat that raft would wait for. Shortening the timeouts makes raft look at
// them at once.
func hurry(r *raft.Raft, id raft.ServerID) error {
	configuration := r.GetConfiguration()
	if err := configuration.Error(); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if servers := configuration.Configuration().Servers; len(servers) != 1 || servers[0].ID != id {
		return nil
	}
	conf := r.ReloadableConfig()
	conf.HeartbeatTimeout, conf.ElectionTimeout = lease, lease
	return r.ReloadConfig(conf)
}

// check refuses a log that does not reach the state, or from which it cannot go
// on: entries were lost, or the stores are not of the same time.
func (g *group) check() error {
	first, _ := g.log.FirstIndex()
	last, _ := g.log.LastIndex()
	snapshot, err := g.snapshots.read()
	if err != nil {
		return err
	}
	applied, has := g.fsm.applied.index, snapshot.GetIndex()
	if last > 0 && first > max(applied, has)+1 {
		return corrupt("log of range %d begins at entry %d, its state ends at %d", g.id, first, max(applied, has))
	}
	if max(last, has) < applied {
		return corrupt("log of range %d ends at entry %d, its state at %d", g.id, max(last, has), applied)
	}
	return nil
}

// watch follows leadership until raft stops. A leader serves once it has applied
// what came before it.
func (g *group) watch() {
	defer close(g.watched)
	for leads := range g.notify {
		g.serving.Store(false)
		if !leads {
			g.fsm.leading.Store(false)
			g.clock.follow()
			continue
		}
		g.tools.metrics.elections.Inc()
		if err := g.catchUp(); err != nil {
			g.tools.log.Warn("leader could not catch up", "range", g.id, "error", err)
			continue
		}
		g.clock.lead(g.fsm.newestTime())
		g.fsm.leading.Store(true)
		g.serving.Store(true)
		select {
		case <-g.ready:
		default:
			close(g.ready)
		}
	}
}

// catchUp waits until all entries of earlier terms are applied. Raft may leave a
// barrier without an answer when it stops, hence the detour.
func (g *group) catchUp() error {
	done := make(chan error, 1)
	go func() { done <- g.raft.Barrier(answerWithin).Error() }()
	select {
	case err := <-done:
		return err
	case <-g.stopping:
		return ErrClosed
	}
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
	close(g.stopping)
	g.serving.Store(false)
	err := g.raft.Shutdown().Error()
	close(g.notify) // raft's loops have ended: nobody sends
	<-g.watched
	if err != nil {
		return fmt.Errorf("stop range %d: %w", g.id, err)
	}
	return nil
}

// snapshot makes the state durable and truncates the log.
func (g *group) snapshot() {
	err := g.raft.Snapshot().Error()
	switch {
	case err == nil:
		g.tools.metrics.snapshots.Inc()
	case errors.Is(err, raft.ErrNothingNewToSnapshot), errors.Is(err, raft.ErrRaftShutdown):
	default:
		g.tools.metrics.snapshotsFailed.Inc()
		g.tools.log.Warn("snapshot failed", "range", g.id, "error", err)
	}
}

func (g *group) status() RangeStatus {
	_, leader := g.raft.LeaderWithID()
	s := RangeStatus{
		ID: g.id, From: g.from, To: g.to, Leader: nodeName(string(leader)),
		Term: g.raft.CurrentTerm(), Applied: g.fsm.hot.index.Load(),
	}
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		s.Replicas = append(s.Replicas, nodeName(string(server.ID)))
	}
	return s
}

// nodeName cuts the incarnation off a raft ID.
func nodeName(raftID string) string {
	if i := strings.LastIndexByte(raftID, '.'); i >= 0 {
		return raftID[:i]
	}
	return raftID
}
