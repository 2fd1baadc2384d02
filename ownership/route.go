package ownership

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// route is a range of the cluster, and the ways to it.
type route struct {
	channel.Range
	local    *group            // this node's replica, nil for none
	replicas []raftnet.Replica // all; the first leads when all is well. Empty in a cluster of one
	found    atomic.Uint32     // where among replicas the leader was found last
	watch    watch             // of a range that another node leads
	ticking  atomic.Bool       // a stream's demand is under way
}

// serves reports whether this node leads the range.
func (r *route) serves() bool { return r.local != nil && r.local.serving.Load() }

// leader returns the node that may lead the range: the one that this node's replica
// follows, else the one that was found last.
func (r *route) leader() string {
	if r.local != nil {
		if _, leader := r.local.raft.LeaderWithID(); leader != "" {
			return nodeID(leader)
		}
	}
	if len(r.replicas) == 0 {
		return ""
	}
	return r.replicas[int(r.found.Load())%len(r.replicas)].Node
}

// learn notes which node may lead: the one that another node named or, where that is
// empty, the replica behind the one that was asked in vain.
func (r *route) learn(leader string) {
	for i, replica := range r.replicas {
		if replica.Node == leader {
			r.found.Store(uint32(i))
			return
		}
	}
	r.found.Add(1)
}

// server finds a node's replica in raft's configuration.
func (r *route) server(node string) (raft.Server, bool) {
	for _, replica := range r.replicas {
		if replica.Node == node {
			return raft.Server{ID: replica.ID(), Address: replica.Address()}, true
		}
	}
	return raft.Server{}, false
}

func (r *route) status() RangeStatus {
	s := RangeStatus{ID: r.ID, From: r.From, To: r.To}
	if r.local != nil {
		s.Term, s.Applied = r.local.raft.CurrentTerm(), r.local.state.Index()
		if _, leader := r.local.raft.LeaderWithID(); leader != "" {
			s.Leader = nodeName(string(leader))
		}
	} else {
		s.Leader = nodeName(r.leader())
	}
	for _, server := range r.servers() {
		s.Replicas = append(s.Replicas, nodeName(string(server)))
	}
	return s
}

// servers returns the names of the range's replicas in raft.
func (r *route) servers() (ids []raft.ServerID) {
	if r.local == nil {
		for _, replica := range r.replicas {
			ids = append(ids, replica.ID())
		}
		return ids
	}
	for _, server := range r.local.raft.GetConfiguration().Configuration().Servers {
		ids = append(ids, server.ID)
	}
	return ids
}
