package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// ErrRefused says that the cluster as it is forbids what was asked for.
var ErrRefused = errors.New("refused")

// Drain has a node give its replicas to others; it returns when that is decided. Once more
// is no error. The error is channel.ErrNotFound for an unknown name, ErrRefused, naming a
// range, if too few nodes would be left, ErrUnavailable, or ErrInvalid at a node alone.
func (s *Store) Drain(ctx context.Context, name string) error {
	return s.setNode(ctx, name, NodeDraining)
}

// Remove has the cluster forget a node for ever: one that is dead, or has been drained. Its
// errors are those of Drain; ErrRefused is for a node that answers and has replicas.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.setNode(ctx, name, NodeRemoved)
}

func (s *Store) setNode(ctx context.Context, name string, state NodeState) error {
	for _, n := range s.known.Load().GetNodes() {
		if n.Name == name && (NodeState(n.State) != NodeRemoved || state == NodeRemoved) {
			_, err := s.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: n.Id, State: uint32(state)}}})
			return err
		}
	}
	if s.net == nil {
		return fmt.Errorf("%w: a node alone has no other nodes", ErrInvalid)
	}
	return fmt.Errorf("node %q: %w", name, channel.ErrNotFound)
}

// mayChange refuses what the health of nodes forbids. It is of the meta group's leader.
func (s *Store) mayChange(command *wire.MetaCommand) error {
	table := s.meta.fsm.meta()
	switch c := command.Change.(type) {
	case *wire.MetaCommand_Join:
		for _, n := range table.Nodes {
			if n.Name == c.Join.GetNode().GetName() && n.Id != c.Join.GetNode().GetId() && NodeState(n.State) != NodeRemoved && !s.silentOther(n.Id) {
				return fmt.Errorf("%w: node %s answers and has the same name", ErrRefused, n.Id)
			}
		}
	case *wire.MetaCommand_SetNode:
		return s.maySet(table, c.SetNode)
	}
	return nil
}

func (s *Store) maySet(table *wire.Meta, c *wire.SetNode) error {
	r := rangeOn(table, c.Id)
	if r == nil {
		return nil
	}
	switch NodeState(c.State) {
	case NodeRemoved:
		if !s.silentOther(c.Id) {
			return fmt.Errorf("%w: node %s answers, and has a replica of range %d: drain it first", ErrRefused, nodeName(c.Id), r.Id)
		}
	case NodeDraining:
		left := 0
		for _, n := range table.Nodes {
			if n.Id != c.Id && NodeState(n.State) == NodeMember && !s.silentOther(n.Id) {
				left++
			}
		}
		if left < int(table.Replicas) {
			return fmt.Errorf("%w: without %s range %d would have %d nodes, it needs %d", ErrRefused, nodeName(c.Id), r.Id, left, table.Replicas)
		}
	}
	return nil
}

// silentOther reports whether another node has not answered for long.
func (s *Store) silentOther(id string) bool { return id != s.net.self() && s.silent(id) }

// rangeOn returns a range with a replica on a node, nil if there is none.
func rangeOn(table *wire.Meta, node string) *wire.Range {
	for _, r := range table.Ranges {
		for _, id := range slices.Concat(r.Replicas, r.Joining) {
			if nodeID(raft.ServerID(id)) == node {
				return r
			}
		}
	}
	return nil
}
