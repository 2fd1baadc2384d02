// Package peer connects the nodes of a cluster. A [Node] listens on one address and
// keeps connections to the other nodes, in three lanes, so that what must be prompt
// never waits behind what is long: [Control] for heartbeats, votes and pings, [Log]
// for entries and small calls, and a bulk lane of streams for states and feeds.
//
// With certificates both ends of a connection prove which node they are (TLS 1.3, a
// private CA: see [Credentials]). Each connection begins with a hello, in which the
// ends compare cluster, node and protocol. Calls and streams carry a kind, which
// chooses the handler, and a group, which means what the handler makes of it: this
// package knows no raft. DESIGN.md has the frames and the failure story.
package peer
