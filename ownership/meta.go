package ownership

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// metaGroup is the Raft group that knows the cluster: its ID, the settings of
// its birth, its nodes, which of them has which range. It changes so rarely that a file
// of its own is right for it.
type metaGroup struct {
	raftID  raft.ServerID // this node's; what ranges call their replicas begins with it
	dir     string
	tools   tools
	fsm     *metaFSM
	store   *metaStore
	replica atomic.Pointer[metaReplica] // see raft and seat
	noted   atomic.Uint64               // the last term in which recordOnce has done all

	stop     chan struct{}
	watching sync.WaitGroup

	restarting sync.Mutex // held while a recovery replaces replica and stop, and by close
}

// metaReplica is this node's replica of the meta group. Calls of one that has been stopped fail.
type metaReplica struct {
	seat seat
	raft *raft.Raft
	owed *owed
}

// raft returns nil before start.
func (m *metaGroup) raft() *raft.Raft {
	if running := m.replica.Load(); running != nil {
		return running.raft
	}
	return nil
}

// wait asks the replica's raft and waits for its answer.
func (m *metaGroup) wait(ask func(*raft.Raft) raft.Future) error {
	running := m.replica.Load()
	return running.owed.wait(func() raft.Future { return ask(running.raft) })
}

// barrier waits until all that was committed is applied. Enqueued bounds how long raft may take
// to begin with that.
func (m *metaGroup) barrier(enqueued time.Duration) error {
	return m.wait(func(r *raft.Raft) raft.Future { return r.Barrier(enqueued) })
}

// leads reports whether this node leads the group.
func (m *metaGroup) leads() bool { return m.raft().State() == raft.Leader }

// decides reports whether this node may change the table: it leads the group, has applied all
// that was decided in earlier terms, and the group has noted its founding. Until then the table
// is an older one, or empty, and a Birth replaces whatever was made of that. A node alone has
// noted its founding before it is open.
func (m *metaGroup) decides() bool {
	running := m.replica.Load()
	return m.leads() && (running.seat.net == nil || m.noted.Load() == running.raft.CurrentTerm())
}

// seat is that of the replica.
func (m *metaGroup) seat() seat { return m.replica.Load().seat }

// metaRange stands for the meta group in messages, and between nodes.
const metaRange = tables.MetaRange

// openMeta opens what the meta group keeps, and makes the node's raft ID on its first
// start. It must be closed.
func openMeta(dir string, cfg Config, tools tools) (*metaGroup, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	store, err := openMetaStore(filepath.Join(dir, "raft.db"), cfg.Volume, tools.fail)
	if err != nil {
		return nil, err
	}
	m := &metaGroup{dir: dir, tools: tools, store: store, fsm: &metaFSM{changed: func(*wire.Meta) {}}, stop: make(chan struct{})}
	if m.raftID, err = ownRaftID(store, cfg.Node); err == nil {
		err = m.checkMode(cfg.Cluster != nil)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return m, nil
}

// checkMode refuses a directory of one of several nodes for a node alone: the others would
// wait for it.
func (m *metaGroup) checkMode(several bool) error {
	table, err := m.store.Table()
	if err != nil {
		return err
	}
	promise, err := m.store.Promise()
	if err != nil {
		return err
	}
	if !several && (table != nil || promise != "") {
		return fmt.Errorf("%w: it is of one of several nodes, which find each other by their cluster addresses", ErrMode)
	}
	return nil
}

// grow makes the first of several nodes of one that was a cluster alone: others may join it
// then. Its replicas have the number 0. Of any other directory it changes nothing.
func (m *metaGroup) grow(ctx context.Context, self *wire.Node, versions tables.Versions) error {
	table, err := m.store.Table()
	if err != nil || table != nil {
		return err
	}
	if last, err := m.store.LastIndex(); err != nil || last == 0 {
		return err
	}
	if err := m.start(loneSeat(m.raftID), true); err != nil {
		return err
	}
	if err := m.await(ctx); err != nil {
		return err
	}
	if table = m.fsm.meta(); len(table.Cluster) > 0 {
		if err := versions.Fits(table); err != nil {
			return err
		}
	} else { // it was stopped before it was born
		return fmt.Errorf("%w: it is of a node alone that never got as far as to be one: start it without a cluster address first", ErrMode)
	}
	if len(table.Nodes) == 0 {
		if err := m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_Join{Join: &wire.Join{Node: self}}}); err != nil {
			return err
		}
	}
	table = m.fsm.meta()
	if err := m.end(); err != nil {
		return err
	}
	m.fsm = &metaFSM{changed: func(*wire.Meta) {}}
	if table.RangesBorn {
		if err := m.store.setBorn(); err != nil {
			return err
		}
	}
	return m.store.SetTable(table)
}

// start starts the group's replica of this node. A founder founds the group if it is new; a
// node that has joined waits for the group to send it its log.
func (m *metaGroup) start(seat seat, founds bool) error {
	conf := raftConfig(seat, m.tools, metaRange)
	conf.SnapshotThreshold = 1024 // entries: it is small, and every start adds one
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(m.dir, 1, conf.Logger)
	if err != nil {
		return fmt.Errorf("start meta group: %w", err)
	}
	m.fsm.configured.snapshot = func() (configuration, error) {
		newest, err := snapshots.List()
		if err != nil || len(newest) == 0 {
			return configuration{}, err
		}
		return configuration{newest[0].Configuration.Servers, newest[0].ConfigurationIndex}, nil
	}
	if founds {
		if err := bootstrap(conf, m.store, m.store, snapshots, seat); err != nil {
			return fmt.Errorf("start meta group: %w", err)
		}
	}
	r, err := seat.run(conf, m.fsm, m.store, m.store, snapshots, metaRange, raftnet.Hooks{CheckCommand: m.fsm.check})
	if err != nil {
		return fmt.Errorf("start meta group: %w", err)
	}
	m.replica.Store(&metaReplica{seat: seat, raft: r, owed: newOwed()})
	return nil
}

// end stops the replica, if it runs.
func (m *metaGroup) end() error {
	running := m.replica.Load()
	if running == nil {
		return nil
	}
	return running.owed.close(func() error { return running.seat.stop(running.raft, metaRange) })
}

// await returns when this node leads the meta group and has applied its log.
func (m *metaGroup) await(ctx context.Context) error {
	for {
		select {
		case leads := <-m.raft().LeaderCh():
			if !leads {
				continue
			}
			if err := m.pass(ctx); err != nil {
				return fmt.Errorf("meta group: %w: %w", ErrUnavailable, err)
			}
			return m.fsm.damage()
		case <-ctx.Done():
			return fmt.Errorf("wait for the meta group: %w", context.Cause(ctx))
		}
	}
}

// pass waits until a barrier has gone through the log, however long writes of it take.
func (m *metaGroup) pass(ctx context.Context) error {
	for {
		err := m.barrier(barrierWithin)
		if !errors.Is(err, raft.ErrEnqueueTimeout) || ctx.Err() != nil {
			return err
		}
	}
}

// record has the group know the table that its founders decided, and a recovery that is
// pending, as soon as this node leads it, until the group is closed.
func (m *metaGroup) record(table *wire.Meta) {
	m.watching.Go(func() {
		for {
			select {
			case leads := <-m.raft().LeaderCh():
				if !leads {
					continue
				}
				m.recordWhileLeading(table)
			case <-m.stop:
				return
			}
		}
	})
}

// recordWhileLeading tries until the group knows the table, or this node leads it no more.
func (m *metaGroup) recordWhileLeading(table *wire.Meta) {
	for m.leads() {
		done := make(chan error, 1)
		go func() { done <- m.recordOnce(table) }() // ends with raft, however long that takes
		select {
		case err := <-done:
			if err == nil {
				return
			}
			m.tools.log.Warn("the meta group has not noted its founding", "error", err)
		case <-m.stop:
			return
		}
		select {
		case <-time.After(barrierPause):
		case <-m.stop:
			return
		}
	}
}

func (m *metaGroup) recordOnce(table *wire.Meta) error {
	term := m.raft().CurrentTerm()
	if err := m.barrier(answerWithin); err != nil {
		return fmt.Errorf("meta group: %w: %w", ErrUnavailable, err)
	}
	if len(m.fsm.meta().Cluster) == 0 {
		if err := m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_Birth{Birth: &wire.Birth{Table: table}}}); err != nil {
			return err
		}
	}
	if err := m.recordRecovery(); err != nil {
		return err
	}
	m.noted.Store(term)
	return nil
}

func (m *metaGroup) close() error {
	m.restarting.Lock()
	defer m.restarting.Unlock()
	close(m.stop)
	m.watching.Wait()
	return errors.Join(m.end(), m.store.Close())
}

// birth founds a cluster of one if it is not there yet, and returns what holds.
func (m *metaGroup) birth(cfg Config, log *slog.Logger) (*wire.Meta, error) {
	if meta := m.fsm.meta(); len(meta.Cluster) > 0 {
		return meta, nil
	}
	birth := &wire.Birth{Cluster: newClusterID(), TimeUs: wire.Micros(cfg.Now()), Replicas: uint32(cfg.Replicas)}
	ranges := orDefault(cfg.Ranges, defaultRanges)
	for i := range ranges {
		birth.Ranges = append(birth.Ranges, &wire.Range{
			Id: uint32(i), From: uint32(bounds(i, ranges)), To: uint32(bounds(i+1, ranges) - 1),
			Replicas: []string{string(m.raftID)},
		})
	}
	if err := m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_Birth{Birth: birth}}); err != nil {
		return nil, err
	}
	log.Info("cluster founded", "cluster", hex.EncodeToString(birth.Cluster), "ranges", ranges)
	return m.fsm.meta(), nil
}

// newClusterID returns the ID of a new cluster.
func newClusterID() []byte {
	cluster := make([]byte, 16)
	_, _ = rand.Read(cluster) // never fails
	return cluster
}

// rangesBorn reports whether this node's ranges have had their logs: from then on a
// missing one is lost.
func (m *metaGroup) rangesBorn(table *wire.Meta) (bool, error) {
	if len(table.Nodes) == 0 {
		return table.RangesBorn, nil
	}
	return m.store.born()
}

// setRangesBorn notes that all ranges of this node have their logs.
func (m *metaGroup) setRangesBorn(table *wire.Meta) error {
	if len(table.Nodes) > 0 {
		return m.store.setBorn()
	}
	return m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_RangesBorn{RangesBorn: &wire.RangesBorn{}}})
}

func (m *metaGroup) propose(command *wire.MetaCommand) error {
	content, err := proto.Marshal(command)
	if err != nil {
		return fmt.Errorf("encode meta command: %w", err)
	}
	var applied raft.ApplyFuture
	err = m.wait(func(r *raft.Raft) raft.Future {
		applied = r.Apply(sealMeta(content), answerWithin)
		return applied
	})
	if err != nil {
		return fmt.Errorf("meta group: %w: %w", ErrUnavailable, err)
	}
	err, _ = applied.Response().(error)
	return err
}
