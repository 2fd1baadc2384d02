// Package raftnet carries raft's messages between the replicas of many ranges, over
// the connections of package peer. A [Net] is a node's end for all of them, a
// [Transport] that of one replica.
//
// A replica is known by its range, its node and a number that is never used again, so
// that one that was removed and came back on the same node is another one: its
// raft.ServerID is "node ID/number", its raft.ServerAddress the node ID. A message to
// a number that a node does not have any more reaches no replica.
//
// What comes from peers is checked here before raft sees it: raft panics on some of
// what it cannot decode, and obeys some of what it should not.
package raftnet
