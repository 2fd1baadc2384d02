package ownership

import (
	"context"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Drain has a node give its replicas to others; it returns when that is decided. Once more
// is no error. The error is channel.ErrNotFound for an unknown name, ErrRefused, naming a
// range, if too few nodes would be left, ErrUnavailable, or ErrInvalid at a node alone.
func (c *changes) Drain(ctx context.Context, name string) error {
	return c.setNode(ctx, name, NodeDraining)
}

// Undrain calls a drain off: the node gets its part of the ranges again. Of one that is not
// drained it changes nothing. Its errors are those of Drain.
func (c *changes) Undrain(ctx context.Context, name string) error {
	return c.setNode(ctx, name, NodeMember)
}

// Remove has the cluster forget a node for ever: one that is dead, or has been drained. Its
// errors are those of Drain; ErrRefused is for a node that answers and has replicas.
func (c *changes) Remove(ctx context.Context, name string) error {
	return c.setNode(ctx, name, NodeRemoved)
}

func (c *changes) setNode(ctx context.Context, name string, state NodeState) error {
	var found *wire.Node
	for _, n := range c.known.Load().GetNodes() {
		switch removed := NodeState(n.State) == NodeRemoved; {
		case n.Name != name || removed && (state != NodeRemoved || found != nil): // one that was removed may have the name still
		default:
			found = n
		}
	}
	if found != nil {
		_, err := c.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: found.Id, State: uint32(state)}}})
		return err
	}
	if c.net == nil {
		return fmt.Errorf("%w: a node alone has no other nodes", ErrInvalid)
	}
	return fmt.Errorf("node %q: %w", name, channel.ErrNotFound)
}

// mayChange refuses what the health of nodes forbids, which it may ask. It is of the meta
// group's leader, which makes one change at a time.
func (c *changes) mayChange(ctx context.Context, command *wire.MetaCommand) error {
	switch command.Change.(type) {
	case *wire.MetaCommand_Join, *wire.MetaCommand_SetNode, *wire.MetaCommand_RecoverRange: // it may have a log that it has not applied
		if err := c.meta.barrier(answerWithin); err != nil {
			return fmt.Errorf("%w: %w", errElsewhere, err)
		}
	}
	table := c.meta.fsm.meta()
	switch change := command.Change.(type) {
	case *wire.MetaCommand_Join:
		for _, n := range table.Nodes {
			if n.Name != change.Join.GetNode().GetName() || n.Id == change.Join.GetNode().GetId() || NodeState(n.State) == NodeRemoved {
				continue
			}
			if answers, err := c.net.answers(n.Id); err != nil {
				return err
			} else if answers {
				return fmt.Errorf("%w: node %s answers and has the same name", ErrRefused, n.Id)
			}
		}
	case *wire.MetaCommand_SetNode:
		return c.maySet(table, change.SetNode)
	case *wire.MetaCommand_RecoverRange:
		change.RecoverRange.Revision = table.Revision // it is decided here, once more
		return c.survey.mayRecover(ctx, change.RecoverRange.GetRecovery())
	case *wire.MetaCommand_RecoverMeta:
		return fmt.Errorf("%w: only a node that has lost the meta group's leader recovers it", ErrInvalid)
	}
	return nil
}

func (c *changes) maySet(table *wire.Meta, to *wire.SetNode) error {
	n, r := tables.Node(table, to.Id), tables.RangeOn(table, to.Id)
	if n != nil && n.State == to.State {
		return nil // it is under way
	}
	switch NodeState(to.State) {
	case NodeRemoved:
		if r == nil && (n == nil || NodeState(n.State) != NodeMember) {
			return nil // it has been drained
		}
		if answers, err := c.net.answers(to.Id); err != nil {
			return err
		} else if answers {
			return fmt.Errorf("%w: node %s answers, and has not been drained", ErrRefused, raftnet.NodeName(to.Id))
		}
	case NodeDraining:
		if r == nil {
			return nil
		}
		left := 0
		for _, n := range table.Nodes {
			if n.Id == to.Id || NodeState(n.State) != NodeMember {
				continue
			}
			if answers, err := c.net.answers(n.Id); err != nil {
				return err
			} else if answers {
				left++
			}
		}
		if left < int(table.Replicas) {
			return fmt.Errorf("%w: without %s range %d would have %d nodes, it needs %d", ErrRefused, raftnet.NodeName(to.Id), r.Id, left, table.Replicas)
		}
	}
	return nil
}
