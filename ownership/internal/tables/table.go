// Package tables has the rules of the cluster's table, which the meta group replicates: its nodes,
// its ranges and their replicas, and the version of its state machine. It is pure: a table and a
// command make a table or a refusal; there is no clock, node or disk in it.
package tables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// MetaRange stands for the meta group among ranges.
const MetaRange = 0xFFFFFFFF

// ErrRefused says that the cluster as it is forbids what was asked for.
var ErrRefused = errors.New("refused")

// Change carries out a command on a table. With an error the table is as it was: it is
// [state.ErrInvalid] for what does not fit the table, ErrRefused, ErrVersion or ErrUnknown.
func Change(table *wire.Meta, command *wire.MetaCommand) error {
	switch c := command.Change.(type) {
	case *wire.MetaCommand_Join:
		return join(table, c.Join)
	case *wire.MetaCommand_SetNode:
		return setNode(table, c.SetNode)
	case *wire.MetaCommand_ForgetNode:
		return forgetNode(table, c.ForgetNode.Id)
	case *wire.MetaCommand_PlanReplica:
		return planReplica(table, c.PlanReplica)
	case *wire.MetaCommand_PromoteReplica:
		return promoteReplica(table, c.PromoteReplica)
	case *wire.MetaCommand_ForgetReplica:
		return forgetReplica(table, c.ForgetReplica)
	case *wire.MetaCommand_PreferReplica:
		return preferReplica(table, c.PreferReplica)
	case *wire.MetaCommand_RaiseVersion:
		return raiseVersion(table, c.RaiseVersion)
	case *wire.MetaCommand_RecoverRange:
		return recoverRange(table, c.RecoverRange)
	case *wire.MetaCommand_RecoverMeta:
		return RecoverMeta(table, c.RecoverMeta)
	case *wire.MetaCommand_RangeDamaged:
		return rangeDamaged(table, c.RangeDamaged)
	case *wire.MetaCommand_WantRanges:
		return wantRanges(table, c.WantRanges)
	case *wire.MetaCommand_PlanSplit:
		return planSplit(table, c.PlanSplit)
	case *wire.MetaCommand_FinishSplit:
		return finishSplit(table, c.FinishSplit)
	default:
		return ErrUnknown
	}
}

// ErrUnknown says that this program does not know a command: it must not go on behind it.
var ErrUnknown = errors.New("a meta command that this version does not know")

// refuse says that a change does not fit the table as it is: another one came first,
// or it was asked for twice.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", state.ErrInvalid, fmt.Errorf(format, args...))
}

// NumberReplica gives out a replica number.
func NumberReplica(table *wire.Meta, group uint32, node string) string {
	table.LastReplica++
	return string(raftnet.Replica{Range: group, Node: node, Number: table.LastReplica}.ID())
}

// Node finds a node by its ID, nil if there is none.
func Node(table *wire.Meta, id string) *wire.Node {
	for _, n := range table.GetNodes() {
		if n.Id == id {
			return n
		}
	}
	return nil
}

// Range finds a range by its ID; the error is [state.ErrInvalid].
func Range(table *wire.Meta, id uint32) (*wire.Range, error) {
	if id >= uint32(len(table.Ranges)) {
		return nil, refuse("no range %d", id)
	}
	return table.Ranges[id], nil
}

// join takes a node in whose program applies the cluster's commands. A node of the same
// name that was there before is removed: its directory is gone, or it would not come as another
// one.
func join(table *wire.Meta, c *wire.Join) error {
	node := c.GetNode()
	if node.GetId() == "" || node.Name == "" || node.Address == "" || node.State != 0 || raftnet.NodeName(node.Id) != node.Name || strings.Contains(node.Id, "/") {
		return refuse("node %q named %q at %q", node.GetId(), node.GetName(), node.GetAddress())
	}
	if have := Node(table, node.Id); have != nil {
		if placement.State(have.State) == placement.Removed {
			return refuse("node %s was removed", node.Id)
		}
		return nil
	}
	if len(table.Nodes) == 0 { // the node that was a cluster alone
		table.Nodes, table.MetaReplicas, table.MetaVoters = []*wire.Node{node}, []string{node.Id}, 1
		table.StateMachine = VersionOf(table)
		return nil
	}
	if err := VersionsOf(c.Support).apply(VersionOf(table)); err != nil {
		return fmt.Errorf("%w: node %s: %w", ErrRefused, node.Id, err)
	}
	for _, n := range table.Nodes {
		if n.Name == node.Name {
			n.State = uint32(placement.Removed)
		}
	}
	table.Nodes = append(table.Nodes, node)
	slices.SortFunc(table.Nodes, func(a, b *wire.Node) int { return cmp.Compare(a.Id, b.Id) })
	table.MetaReplicas = append(table.MetaReplicas, NumberReplica(table, MetaRange, node.Id))
	return nil
}

func setNode(table *wire.Meta, c *wire.SetNode) error {
	n := Node(table, c.Id)
	switch {
	case n == nil:
		return refuse("no node %s", c.Id)
	case c.State > uint32(placement.Removed):
		return refuse("state %d of node %s", c.State, c.Id)
	case placement.State(n.State) == placement.Removed && c.State != n.State:
		return refuse("node %s was removed", c.Id)
	}
	n.State = c.State
	return nil
}

func forgetNode(table *wire.Meta, id string) error {
	n := Node(table, id)
	if n == nil || placement.State(n.State) != placement.Removed {
		return refuse("node %s was not removed", id)
	}
	of := func(replica string) bool { return raftnet.NodeID(replica) == id }
	for _, r := range table.Ranges {
		if slices.ContainsFunc(r.Replicas, of) || slices.ContainsFunc(r.Joining, of) {
			return refuse("node %s has a replica of range %d", id, r.Id)
		}
	}
	table.Nodes = slices.DeleteFunc(table.Nodes, func(n *wire.Node) bool { return n.Id == id })
	table.MetaReplicas = slices.DeleteFunc(table.MetaReplicas, of)
	return nil
}

func planReplica(table *wire.Meta, c *wire.PlanReplica) error {
	r, err := Range(table, c.Range)
	if err != nil {
		return err
	}
	if n := Node(table, c.Node); n == nil || placement.State(n.State) != placement.Member {
		return refuse("node %s gets no replicas", c.Node)
	}
	on := func(replica string) bool { return raftnet.NodeID(replica) == c.Node }
	if r.Planned || IsSplitting(table, r.Id) {
		return refuse("range %d is being split", r.Id)
	}
	if len(r.Joining) > 0 || slices.ContainsFunc(r.Replicas, on) {
		return refuse("range %d gets a replica already, or node %s has one", r.Id, c.Node)
	}
	r.Joining = append(r.Joining, NumberReplica(table, r.Id, c.Node))
	return nil
}

func promoteReplica(table *wire.Meta, c *wire.MoveReplica) error {
	r, err := Range(table, c.Range)
	if err != nil {
		return err
	}
	at := slices.Index(r.Joining, c.Replica)
	if at < 0 {
		return refuse("no replica %s joins range %d", c.Replica, r.Id)
	}
	r.Joining = slices.Delete(r.Joining, at, at+1)
	r.Replicas = append(r.Replicas, c.Replica)
	return nil
}

// forgetReplica also gives the replica that the range got last the place of the one that
// goes, and with it the preference to lead.
func forgetReplica(table *wire.Meta, c *wire.MoveReplica) error {
	r, err := Range(table, c.Range)
	if err != nil {
		return err
	}
	whole := func() { r.Damaged = slices.DeleteFunc(r.Damaged, func(id string) bool { return id == c.Replica }) }
	if at := slices.Index(r.Joining, c.Replica); at >= 0 {
		r.Joining = slices.Delete(r.Joining, at, at+1)
		whole()
		return nil
	}
	at := slices.Index(r.Replicas, c.Replica)
	if at < 0 || len(r.Replicas) == 1 {
		return refuse("range %d cannot forget replica %s", r.Id, c.Replica)
	}
	whole()
	last := len(r.Replicas) - 1
	r.Replicas[at] = r.Replicas[last]
	r.Replicas = r.Replicas[:last]
	return nil
}

func preferReplica(table *wire.Meta, c *wire.MoveReplica) error {
	r, err := Range(table, c.Range)
	if err != nil {
		return err
	}
	at := slices.Index(r.Replicas, c.Replica)
	if at < 0 {
		return refuse("range %d has no replica %s", r.Id, c.Replica)
	}
	r.Replicas[0], r.Replicas[at] = r.Replicas[at], r.Replicas[0]
	return nil
}

// rangeDamaged notes that a replica is damaged; once more changes nothing.
func rangeDamaged(table *wire.Meta, c *wire.MoveReplica) error {
	r, err := Range(table, c.Range)
	if err != nil {
		return err
	}
	if !slices.Contains(r.Replicas, c.Replica) && !slices.Contains(r.Joining, c.Replica) {
		return refuse("range %d has no replica %s", r.Id, c.Replica)
	}
	if !slices.Contains(r.Damaged, c.Replica) {
		r.Damaged = append(r.Damaged, c.Replica)
	}
	return nil
}

// RangeOn returns a range with a replica on a node, nil if there is none.
func RangeOn(table *wire.Meta, node string) *wire.Range {
	for _, r := range table.Ranges {
		for _, id := range slices.Concat(r.Replicas, r.Joining) {
			if raftnet.NodeID(id) == node {
				return r
			}
		}
	}
	return nil
}
