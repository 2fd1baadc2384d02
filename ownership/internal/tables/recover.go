package tables

import (
	"slices"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// recoverRange makes the survivor the range's only replica. Placement makes the others anew.
func recoverRange(table *wire.Meta, c *wire.RecoverRange) error {
	recovery := proto.CloneOf(c.Recovery)
	r, err := Range(table, recovery.GetRange())
	if err != nil {
		return err
	}
	all := slices.Concat(r.Replicas, r.Joining)
	at := slices.Index(all, recovery.Survivor)
	node := raftnet.NodeID(recovery.Survivor)
	switch n := Node(table, node); {
	case c.Revision != table.Revision:
		return refuse("a recovery decided for revision %d of the table, it is at %d", c.Revision, table.Revision)
	case at < 0 || n == nil || placement.State(n.State) == placement.Removed:
		return refuse("range %d has no replica %s", r.Id, recovery.Survivor)
	case slices.Contains(r.Damaged, recovery.Survivor):
		return refuse("replica %s of range %d is damaged", recovery.Survivor, r.Id)
	}
	recovery.Lost = slices.Delete(all, at, at+1)
	recovery.Replica = NumberReplica(table, r.Id, node)
	r.Replicas, r.Joining, r.Damaged = []string{recovery.Replica}, nil, nil
	table.Recoveries = append(table.Recoveries, recovery)
	return nil
}

// RecoverMeta makes the survivor the meta group's only voter; the nodes that are lost are
// removed, the others get their replicas of it again. It goes on from the table that the
// command brings, unless the one here is newer.
func RecoverMeta(table *wire.Meta, c *wire.RecoverMeta) error {
	after := proto.CloneOf(table)
	if brought := c.Table; brought != nil && brought.Revision >= table.Revision && string(brought.Cluster) == string(table.Cluster) && Epoch(brought) == Epoch(table) {
		after = proto.CloneOf(brought)
	}
	recovery := proto.CloneOf(c.Recovery)
	replica, err := raftnet.ParseID(MetaRange, raft.ServerID(recovery.GetReplica()))
	at := slices.Index(after.MetaReplicas, recovery.GetSurvivor())
	switch {
	case err != nil || replica.Node != raftnet.NodeID(recovery.GetSurvivor()) || slices.Contains(c.Nodes, replica.Node):
		return refuse("recovery of the meta group as %q", recovery.GetReplica())
	case at < 0 || c.Epoch != Epoch(after)+1:
		return refuse("recovery %d of the meta group from %s, there were %d", c.Epoch, recovery.Survivor, Epoch(after))
	}
	for _, n := range after.Nodes {
		if slices.Contains(c.Nodes, n.Id) {
			n.State = uint32(placement.Removed)
		}
	}
	for _, id := range after.MetaReplicas {
		if slices.Contains(c.Nodes, raftnet.NodeID(id)) {
			recovery.Lost = append(recovery.Lost, id)
		}
	}
	after.MetaReplicas[at], after.MetaVoters = recovery.Replica, 1
	after.MetaReplicas[0], after.MetaReplicas[at] = after.MetaReplicas[at], after.MetaReplicas[0]
	after.LastReplica = max(after.LastReplica, table.LastReplica, replica.Number)
	after.Recoveries = append(after.Recoveries, recovery)
	proto.Reset(table)
	proto.Merge(table, after)
	return nil
}

// Epoch returns how often the meta group was recovered: its log is another one each time.
func Epoch(table *wire.Meta) (n uint32) {
	for _, r := range table.GetRecoveries() {
		if r.Range == MetaRange {
			n++
		}
	}
	return n
}

// Newer reports whether a table is a newer one of the same cluster.
func Newer(table, known *wire.Meta) bool {
	if have, epoch := Epoch(known), Epoch(table); have != epoch {
		return epoch > have
	}
	return table.GetRevision() > known.GetRevision()
}

// SurvivorOf returns the replica that another one was made of, empty if it was not.
func SurvivorOf(table *wire.Meta, replica string) string {
	for _, r := range table.GetRecoveries() {
		if r.Replica == replica {
			return r.Survivor
		}
	}
	return ""
}

// GivenUp reports whether a replica lost its range, or was recovered under another number: it
// must not go on, whatever it leads.
func GivenUp(table *wire.Meta, replica string) bool {
	return slices.ContainsFunc(table.GetRecoveries(), func(r *wire.Recovery) bool {
		return r.Survivor == replica || slices.Contains(r.Lost, replica)
	})
}

// LostMeta reports whether a recovery of the meta group gave a node up.
func LostMeta(table *wire.Meta, node string) bool {
	return slices.ContainsFunc(table.GetRecoveries(), func(r *wire.Recovery) bool {
		return r.Range == MetaRange && slices.ContainsFunc(r.Lost, func(id string) bool { return raftnet.NodeID(id) == node })
	})
}
