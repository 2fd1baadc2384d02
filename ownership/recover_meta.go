package ownership

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// The recovery of the meta group has nothing above it that could decide: the node with the
// newest log notes what it is about to do (the pending command), writes the configuration to
// its log, goes by the table that the command makes, and has the group note the command once it
// leads. A start goes on from wherever that was cut.

// recoverMetaAt has a node recover the meta group.
func (r *recoveries) recoverMetaAt(ctx context.Context, node string) error {
	if node == r.net.self() {
		return r.recoverMetaHere(ctx)
	}
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	_, err := r.ask(ctx, node, callRecoverMeta, nil)
	if errors.Is(err, errElsewhere) {
		err = fmt.Errorf("%w: %s: %w", ErrUnavailable, raftnet.NodeName(node), err)
	}
	return err
}

// recoverMetaHere recovers the meta group from this node's replica.
func (r *recoveries) recoverMetaHere(ctx context.Context) error {
	r.meta.restarting.Lock()
	defer r.meta.restarting.Unlock()
	plan, err := r.survey.planRecovery(ctx, metaRange)
	if err != nil {
		return err
	}
	if err := allow(r.version.Load(), metaVersion(&wire.MetaCommand{Change: &wire.MetaCommand_RecoverMeta{}})); err != nil {
		return err
	}
	pending, err := r.meta.store.recovery()
	switch {
	case err != nil:
		return err
	case r.closing.Load():
		return ErrClosed
	case pending != nil:
		return fmt.Errorf("%w: a recovery of the meta group is under way", ErrRefused)
	case plan.newest.Replica != string(r.meta.seat().id):
		return fmt.Errorf("%w: the newest log of the meta group is of %s now", ErrRefused, plan.newest.Replica)
	}
	return r.restartMeta(r.metaRecovery(plan))
}

// metaRecovery makes the command. The replica's number is above all that entries of the log may
// have given out which are not applied yet. What this node knows of the table goes with it: the
// others may have committed, and told, what the log here does not have.
func (r *recoveries) metaRecovery(plan recoveryPlan) *wire.RecoverMeta {
	table, fsm := r.known.Load(), r.meta.fsm.meta()
	unapplied := plan.newest.Index - min(plan.newest.Index, r.meta.raft().AppliedIndex())
	c := &wire.RecoverMeta{Recovery: r.recoveryOf(metaRange, plan.newest), Epoch: tables.Epoch(table) + 1, Nodes: plan.silent, Table: table}
	c.Recovery.Replica = string(raftnet.Replica{
		Range: metaRange, Node: r.net.self(), Number: max(table.LastReplica, fsm.LastReplica) + uint32(unapplied) + 1,
	}.ID())
	return c
}

// restartMeta carries out a recovery and starts the replica again, under its new number.
func (r *recoveries) restartMeta(c *wire.RecoverMeta) error {
	m := r.meta
	if err := m.store.setRecovery(c); err != nil {
		return err
	}
	close(m.stop)
	m.watching.Wait()
	m.stop = make(chan struct{})
	if err := m.end(); err != nil {
		return err
	}
	m.fsm.forget()
	table, err := m.goOnRecovering(r.known.Load())
	if err != nil {
		return err
	}
	seat, found, err := seatOf(r.net, metaRange, table.MetaReplicas, int(table.MetaVoters))
	if err != nil || !found {
		return fmt.Errorf("recover the meta group: no replica of this node: %w", err)
	}
	r.learn(table)
	if err := m.start(seat, false); err != nil {
		return err
	}
	m.record(table)
	r.tools.log.Warn("meta group recovered: this replica is its only voter", "replica", seat.id, "removed", c.Nodes)
	return nil
}

// goOnRecovering returns the table that a pending recovery makes of one, after it has written
// the recovery's configuration to the log, which must not be in use; without one the same table.
func (m *metaGroup) goOnRecovering(table *wire.Meta) (*wire.Meta, error) {
	c, err := m.store.recovery()
	if err != nil || c == nil || tables.Epoch(table) >= c.Epoch {
		return table, err
	}
	replica, err := raftnet.ParseID(metaRange, raft.ServerID(c.Recovery.Replica))
	if err != nil {
		return nil, err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(m.dir, 1, m.tools.raftLogger(metaRange))
	if err != nil {
		return nil, fmt.Errorf("recover the meta group: %w", err)
	}
	snapshot := uint64(0)
	if kept, err := snapshots.List(); err != nil {
		return nil, fmt.Errorf("recover the meta group: %w", err)
	} else if len(kept) > 0 {
		snapshot = kept[0].Index
	}
	if err := voteAlone(replica, m.store, m.store, snapshot); err != nil {
		return nil, err
	}
	table = proto.CloneOf(table)
	if err := tables.RecoverMeta(table, c); err != nil {
		return nil, err
	}
	table.Revision = 1 // the one that the command makes in the log is newer
	return table, m.store.SetTable(table)
}

// recordRecovery has the group note a pending recovery, which is over then.
func (m *metaGroup) recordRecovery() error {
	c, err := m.store.recovery()
	if err != nil || c == nil {
		return err
	}
	if tables.Epoch(m.fsm.meta()) < c.Epoch {
		if err := m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_RecoverMeta{RecoverMeta: c}}); err != nil {
			return err
		}
	}
	return m.store.setRecovery(nil)
}
