package ownership

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// driveMeta takes the next step of the meta group, which this node leads.
func (d *driver) driveMeta(ctx context.Context, table *wire.Meta, c placement.Cluster) error {
	view, err := d.meta.seat().view(d.meta.raft(), &d.meta.fsm.configured, metaRange, &d.filling)
	if err != nil {
		return err
	}
	step, found := placement.NextOfMeta(c, replicasOf(table.MetaReplicas), view, metaVoters, func(node string) bool {
		return tables.RangeOn(table, node) != nil
	})
	if !found {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, configureWithin)
	defer cancel()
	err = ended(ctx, func() error { return d.takeOfMeta(step) })
	if err != nil {
		return fmt.Errorf("%s %s: %w", step.Kind, step.Replica.ID, err)
	}
	d.tools.log.Info("the meta group changes", "step", step.Kind.String(), "replica", step.Replica.ID, "why", step.Why)
	return nil
}

// takeOfMeta carries out a step of the meta group.
func (d *driver) takeOfMeta(step placement.Step) error {
	id, node := raft.ServerID(step.Replica.ID), raft.ServerAddress(step.Replica.Node)
	var change func(r *raft.Raft) raft.Future
	switch step.Kind {
	case placement.AddNonvoter:
		change = func(r *raft.Raft) raft.Future { return r.AddNonvoter(id, node, step.Index, configureWithin) }
	case placement.AddVoter:
		change = func(r *raft.Raft) raft.Future { return r.AddVoter(id, node, step.Index, configureWithin) }
	case placement.Demote:
		change = func(r *raft.Raft) raft.Future { return r.DemoteVoter(id, step.Index, configureWithin) }
	case placement.Remove:
		change = func(r *raft.Raft) raft.Future {
			if id == d.meta.seat().id {
				return r.LeadershipTransfer() // the next leader removes it
			}
			return r.RemoveServer(id, step.Index, configureWithin)
		}
	default: // Forget
		return d.meta.propose(&wire.MetaCommand{Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: step.Replica.Node}}})
	}
	return d.meta.wait(change)
}
