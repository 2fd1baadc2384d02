// Package ownership keeps what a cluster must not lose: subscriptions, channels,
// committed updates, delivery positions. It is the only package that knows raft.
//
// The ID space is cut into ranges of buckets; each range is a Raft group that
// replicates its own log and state machine. All groups of a node share one log
// on disk and one store of states, so that a single fsync serves all of them. A
// call returns once its command is durable on a majority and applied.
//
// Package internal/state is the state of one range, which knows no raft; this package is
// the groups that replicate it, the way to their leaders, and the feeds of streams.
//
// DESIGN.md beside this file has the invariants, the commands, the threads and
// what a crash at each step leaves behind.
package ownership
