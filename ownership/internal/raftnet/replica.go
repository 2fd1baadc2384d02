package raftnet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"
)

// Replica names one replica of one range in the cluster.
type Replica struct {
	Range  uint32
	Node   string // node ID
	Number uint32 // never given twice in a cluster; 0: of the node that was a cluster alone
}

// ID returns the replica's name in raft's configurations.
func (r Replica) ID() raft.ServerID {
	if r.Number == 0 {
		return raft.ServerID(r.Node)
	}
	return raft.ServerID(r.Node + "/" + strconv.FormatUint(uint64(r.Number), 10))
}

// Address returns where raft's messages to it go: its node.
func (r Replica) Address() raft.ServerAddress { return raft.ServerAddress(r.Node) }

func (r Replica) String() string {
	return fmt.Sprintf("replica %d of range %d on %s", r.Number, r.Range, r.Node)
}

// ParseID reads a replica's name of a range.
func ParseID(group uint32, id raft.ServerID) (Replica, error) {
	node, digits, found := strings.Cut(string(id), "/")
	if !found && node != "" {
		return Replica{Range: group, Node: node}, nil
	}
	number, err := strconv.ParseUint(digits, 10, 32)
	if node == "" || err != nil || number == 0 || strconv.FormatUint(number, 10) != digits {
		return Replica{}, fmt.Errorf("%q names no replica", id)
	}
	return Replica{Range: group, Node: node, Number: uint32(number)}, nil
}

// Group is the replica in frames: its range and its number.
func (r Replica) Group() uint64 { return uint64(r.Range)<<32 | uint64(r.Number) }

// replicaOf reads Group: the replica on a node that a frame is for.
func replicaOf(node string, group uint64) Replica {
	return Replica{Range: uint32(group >> 32), Node: node, Number: uint32(group)}
}

// NodeID returns the node of a raft server ID, which is that without the replica's number.
func NodeID(id string) string {
	node, _, _ := strings.Cut(id, "/")
	return node
}

// NodeName returns the name of the node of a raft server ID, or of a node's ID.
func NodeName(id string) string {
	node := NodeID(id)
	if i := strings.LastIndexByte(node, '.'); i >= 0 {
		return node[:i]
	}
	return node
}
