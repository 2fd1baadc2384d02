package ownership

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/founding"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Cluster is what a node needs to be one of several.
type Cluster struct {
	// Connect returns this node's end of connections to others, which it has not begun
	// to serve. Self names the cluster unless the node is fresh; admit is for the peer
	// node's Config. Open sets handlers, and closes it.
	Connect func(self peer.Identity, admit func(peer.Identity) error) (*peer.Node, error)
	// Listener takes the connections of other nodes; Open closes it.
	Listener net.Listener
	// Address is where other nodes reach the listener.
	Address string
	// Expect is how many fresh nodes found the cluster together, this one among them.
	// A node that is of a cluster already needs it no more.
	Expect int
	// Grace is how long a node may not answer until its replicas are made on others; default
	// 10 min.
	Grace time.Duration
	// Seen returns the other nodes that were heard of.
	Seen func() []Candidate
	// Joined is told of the cluster as soon as this node is of it.
	Joined func(cluster string) error
}

// Candidate is a node that was heard of. While it is of no cluster it may found one
// together with others.
type Candidate = founding.Candidate

// The kinds of calls between nodes.
const (
	kindPromise = raftnet.EndKind + iota
	kindPropose
	kindCall
	kindTerms
	kindBackup
	// EndKind is the first kind that is free for other packages.
	EndKind
)

// network connects this node's replicas with those of other nodes.
type network struct {
	peers   *peer.Node
	raft    *raftnet.Net
	stalled func() bool // a write of the log has been hanging for long
	members atomic.Pointer[map[string]bool]

	stop    context.CancelFunc
	serving sync.WaitGroup
}

// newNetwork connects, and serves nothing yet.
func newNetwork(cluster *Cluster, self peer.Identity, stalled func() bool) (*network, error) {
	n := &network{stalled: stalled, stop: func() {}}
	var err error
	if n.peers, err = cluster.Connect(self, n.admit); err != nil {
		return nil, err
	}
	n.raft = raftnet.New(n.peers)
	return n, nil
}

func (n *network) self() string { return n.peers.Self().ID }

// admit refuses nodes that are of no cluster, or of another, once this one has its own, and those
// with the ID of another name: a certificate proves the name alone.
func (n *network) admit(id peer.Identity) error {
	if raftnet.NodeName(id.ID) != id.Name {
		return fmt.Errorf("node %s has an ID that is another node's", id)
	}
	if members := n.members.Load(); members != nil && !(*members)[id.ID] {
		return fmt.Errorf("node %s is no member of this cluster", id)
	}
	return nil
}

// serve lets other nodes in.
func (n *network) serve(listener net.Listener, fail func(error)) {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.serving.Go(func() {
		if err := n.peers.Serve(ctx, listener); err != nil {
			fail(fmt.Errorf("serve other nodes: %w", err))
		}
	})
}

// join makes this node one of the cluster's. A node that was removed is a member until the
// table has forgotten it: until then it counts for majorities that have no others yet. One
// that a recovery of the meta group gave up counts for none.
func (n *network) join(table *wire.Meta, cluster string) {
	members := make(map[string]bool, len(table.Nodes))
	for _, node := range table.Nodes {
		members[node.Id] = !tables.LostMeta(table, node.Id)
	}
	n.members.Store(&members)
	n.peers.SetCluster(cluster)
	n.setPeers(table)
}

// setPeers connects to the cluster's nodes.
func (n *network) setPeers(table *wire.Meta) {
	peers := make([]peer.Peer, 0, len(table.Nodes))
	for _, node := range table.Nodes {
		peers = append(peers, peer.Peer{ID: node.Id, Name: node.Name, Address: node.Address})
	}
	n.peers.SetPeers(peers)
}

func (n *network) close() {
	n.stop()
	n.peers.Close()
	n.serving.Wait()
}

// silent reports whether a node has not answered for long.
func (n *network) silent(node string) bool {
	health, known := n.peers.Health(node)
	return !known || NodeHealth{Health: health}.Silent()
}

// silentOther is silent of other nodes, and false of this one.
func (n *network) silentOther(node string) bool { return node != n.self() && n.silent(node) }

// answers reports whether a node answers pings. While this node has not sent enough of them to
// know, it returns errElsewhere, after which a change is tried again.
func (n *network) answers(node string) (bool, error) {
	if !n.silentOther(node) {
		return true, nil
	}
	if health, _ := n.peers.Health(node); !(NodeHealth{Health: health}).Missing() {
		return false, fmt.Errorf("%w: too early to know whether node %s answers", errElsewhere, raftnet.NodeName(node))
	}
	return false, nil
}

// replicaHere returns the raft server ID of this node's replica of a range, empty if it has
// none.
func (n *network) replicaHere(r *wire.Range) string {
	for _, id := range slices.Concat(r.Replicas, r.Joining) {
		if raftnet.NodeID(id) == n.self() {
			return id
		}
	}
	return ""
}

// NodeHealth is a node of the cluster, and what its last pings showed.
type NodeHealth struct {
	ID, Name, Address string
	State             NodeState
	Replicas          int  // of ranges, those that are being made too
	Self              bool // this node, of which Health says nothing
	peer.Health
}

// NodeState is what an operator has decided about a node.
type NodeState = placement.State

// The states of nodes.
const (
	NodeMember   = placement.Member
	NodeDraining = placement.Draining
	NodeRemoved  = placement.Removed
)

// silentAfter is how many pings without an answer make a node silent.
const silentAfter = 3

// Silent reports whether the node has not answered for long, or not yet.
func (h NodeHealth) Silent() bool { return !h.Self && (h.Heard.IsZero() || h.Missing()) }

// Missing reports whether the node was asked several times, and has not answered.
func (h NodeHealth) Missing() bool { return h.Missed >= silentAfter }

// Nodes returns the nodes of the cluster by ID, none of a cluster of one.
func (l *leadership) Nodes() (nodes []NodeHealth) {
	table := l.known.Load()
	replicas := make(map[string]int)
	for _, r := range table.GetRanges() {
		for _, id := range slices.Concat(r.Replicas, r.Joining) {
			replicas[raftnet.NodeID(id)]++
		}
	}
	for _, node := range table.GetNodes() {
		health, _ := l.net.peers.Health(node.Id)
		nodes = append(nodes, NodeHealth{ID: node.Id, Name: node.Name, Address: node.Address, State: NodeState(node.State), Replicas: replicas[node.Id], Self: node.Id == l.net.self(), Health: health})
	}
	return nodes
}

// decide makes the table of a new cluster: ranges over all nodes in turn, the meta group
// on all of them, at most metaVoters of which vote.
// Its version of the state machine is the newest that all of them support.
func decide(cfg Config, promises []*wire.Promise, now time.Time) *wire.Meta {
	ranges := orDefault(cfg.Ranges, defaultRanges)
	nodes, version := make([]*wire.Node, len(promises)), cfg.versions.Newest
	for i, p := range promises {
		nodes[i], version = p.Node, min(version, tables.VersionsOf(p.Support).Newest)
	}
	table := &wire.Meta{
		Cluster: newClusterID(), BornUs: wire.Micros(now), Replicas: uint32(cfg.Replicas), Nodes: nodes,
		MetaVoters: uint32(min(len(nodes), metaVoters)), StateMachine: version,
	}
	replica := func(i int, group uint32) string { return tables.NumberReplica(table, group, nodes[i%len(nodes)].Id) }
	for i := range nodes {
		table.MetaReplicas = append(table.MetaReplicas, replica(i, metaRange))
	}
	for i := range ranges {
		r := &wire.Range{Id: uint32(i), From: uint32(bounds(i, ranges)), To: uint32(bounds(i+1, ranges) - 1)}
		for j := range min(cfg.Replicas, len(nodes)) {
			r.Replicas = append(r.Replicas, replica(i+j, r.Id))
		}
		table.Ranges = append(table.Ranges, r)
	}
	return table
}

const metaVoters = 5
