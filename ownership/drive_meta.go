package ownership

import (
	"fmt"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// driveMeta takes the next step of the meta group, which this node leads.
func (s *Store) driveMeta(table *wire.Meta, c placement.Cluster) error {
	view, err := s.meta.seat.view(s.meta.raft, metaRange, &s.driver.filling)
	if err != nil {
		return err
	}
	step, found := placement.NextOfMeta(c, replicasOf(table.MetaReplicas), view, metaVoters, func(node string) bool {
		return rangeOn(table, node) != nil
	})
	if !found {
		return nil
	}
	id, node := raft.ServerID(step.Replica.ID), raft.ServerAddress(step.Replica.Node)
	switch step.Kind {
	case placement.AddNonvoter:
		err = s.meta.raft.AddNonvoter(id, node, step.Index, configureWithin).Error()
	case placement.AddVoter:
		err = s.meta.raft.AddVoter(id, node, step.Index, configureWithin).Error()
	case placement.Remove:
		if id == s.meta.seat.id {
			return s.meta.raft.LeadershipTransfer().Error()
		}
		err = s.meta.raft.RemoveServer(id, step.Index, configureWithin).Error()
	case placement.Forget:
		err = s.meta.propose(&wire.MetaCommand{Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: step.Replica.Node}}})
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", step.Kind, step.Replica.ID, err)
	}
	s.tools.log.Info("the meta group changes", "step", step.Kind.String(), "replica", step.Replica.ID, "why", step.Why)
	return nil
}
