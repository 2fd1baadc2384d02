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
	r, id, node := d.meta.raft(), raft.ServerID(step.Replica.ID), raft.ServerAddress(step.Replica.Node)
	switch step.Kind {
	case placement.AddNonvoter:
		return r.AddNonvoter(id, node, step.Index, configureWithin).Error()
	case placement.AddVoter:
		return r.AddVoter(id, node, step.Index, configureWithin).Error()
	case placement.Demote:
		return r.DemoteVoter(id, step.Index, configureWithin).Error()
	case placement.Remove:
		if id == d.meta.seat().id {
			return r.LeadershipTransfer().Error()
		}
		return r.RemoveServer(id, step.Index, configureWithin).Error()
	default: // Forget
		return d.meta.propose(&wire.MetaCommand{Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: step.Replica.Node}}})
	}
}
