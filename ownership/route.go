package ownership

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// route is a range of the cluster with the buckets that it has, and the ways to it. After a
// split the range has another one.
type route struct {
	channel.Range
	*ways
	watch watch // up to where it is closed
}

// ways lead to a range, whichever buckets it has.
type ways struct {
	own     atomic.Pointer[group]             // see local
	placed  atomic.Pointer[[]raftnet.Replica] // see replicas
	found   atomic.Uint32                     // where among replicas the leader was found last
	ticking atomic.Bool                       // a stream's demand is under way
}

// routes are all ranges of the cluster. They never change: a split makes others.
type routes struct {
	ordered []*route // by bucket
	byID    []*route // nil for a range that is planned only
	of      [channel.Buckets]*route
}

// newRoutes returns the ranges of a table, with the ways that are known to those that were there
// before.
func newRoutes(table *wire.Meta, before *routes) (*routes, error) {
	rs := &routes{byID: make([]*route, len(table.Ranges))}
	for i, r := range table.Ranges {
		if int(r.Id) != i || r.To < r.From || r.To >= channel.Buckets {
			return nil, disk.Corrupt("range table: range %d, the %dth, has buckets %d to %d", r.Id, i, r.From, r.To)
		}
		if r.Planned {
			continue
		}
		rs.byID[i] = before.renew(tables.RangeOf(r))
		rs.ordered = append(rs.ordered, rs.byID[i])
	}
	slices.SortFunc(rs.ordered, func(a, b *route) int { return cmp.Compare(a.From, b.From) })
	next := channel.Bucket(0)
	for _, r := range rs.ordered {
		if r.From != next {
			return nil, disk.Corrupt("range table: range %d begins at bucket %d, want %d", r.ID, r.From, next)
		}
		for next = r.From; next <= r.To; next++ {
			rs.of[next] = r
		}
	}
	if next != channel.Buckets {
		return nil, disk.Corrupt("range table ends at bucket %d", next)
	}
	return rs, nil
}

// renew returns the route of a range: the one that there is, if it has the same buckets.
func (rs *routes) renew(r channel.Range) *route {
	fresh := &route{Range: r, ways: &ways{}}
	if rs == nil {
		return fresh
	}
	if int(r.ID) < len(rs.byID) && rs.byID[r.ID] != nil {
		if have := rs.byID[r.ID]; have.Range == r {
			return have
		}
		fresh.ways = rs.byID[r.ID].ways
	}
	fresh.watch.learn(rs.of[r.From].watch.closed.Load())
	return fresh
}

// local returns this node's replica, nil for none. It may be closed at any time after that.
func (r *route) local() *group { return r.own.Load() }

// replicas returns those that have all of the range; the first leads when all is well. It is
// empty in a cluster of one.
func (r *route) replicas() []raftnet.Replica {
	if placed := r.placed.Load(); placed != nil {
		return *placed
	}
	return nil
}

// serving returns this node's replica while it leads the range, else nil.
func (r *route) serving() *group {
	if g := r.local(); g != nil && g.serving.Load() {
		return g
	}
	return nil
}

// serves reports whether this node leads the range.
func (r *route) serves() bool { return r.serving() != nil }

// leader returns the node that may lead the range: the one that this node's replica
// follows, else the one that was found last.
func (r *route) leader() string {
	if elected := r.elected(); elected != "" {
		return elected
	}
	replicas := r.replicas()
	if len(replicas) == 0 {
		return ""
	}
	return replicas[int(r.found.Load())%len(replicas)].Node
}

// elected returns the node whose replica leads as far as this node's replica knows; empty: none.
func (r *route) elected() string {
	if g := r.local(); g != nil {
		if _, leader := g.raft.LeaderWithID(); leader != "" {
			return raftnet.NodeID(string(leader))
		}
	}
	return ""
}

// learn notes which node may lead: the one that another node named or, where that is
// empty, the replica behind the one that was asked in vain.
func (r *route) learn(leader string) {
	for i, replica := range r.replicas() {
		if replica.Node == leader {
			r.found.Store(uint32(i))
			return
		}
	}
	r.found.Add(1)
}

// server finds a node's replica in raft's configuration.
func (r *route) server(node string) (raft.Server, bool) {
	for _, replica := range r.replicas() {
		if replica.Node == node {
			return raft.Server{ID: replica.ID(), Address: replica.Address()}, true
		}
	}
	return raft.Server{}, false
}

func (r *route) status() RangeStatus {
	s := RangeStatus{ID: r.ID, From: r.From, To: r.To}
	if g := r.local(); g != nil {
		s.Term, s.Applied = g.raft.CurrentTerm(), g.state.Index()
		if _, leader := g.raft.LeaderWithID(); leader != "" {
			s.Leader = raftnet.NodeName(string(leader))
		}
	} else {
		s.Leader = raftnet.NodeName(r.leader())
	}
	for _, server := range r.servers() {
		s.Replicas = append(s.Replicas, raftnet.NodeName(string(server)))
	}
	return s
}

// servers returns the names of the range's replicas that vote: one that is being made has not all
// that the others have.
func (r *route) servers() (ids []raft.ServerID) {
	g := r.local()
	if g == nil {
		for _, replica := range r.replicas() {
			ids = append(ids, replica.ID())
		}
		return ids
	}
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			ids = append(ids, server.ID)
		}
	}
	return ids
}

// setReplicas learns where the range is.
func (r *route) setReplicas(table *wire.Range) error {
	replicas := make([]raftnet.Replica, 0, len(table.Replicas))
	for _, id := range table.Replicas {
		replica, err := raftnet.ParseID(table.Id, raft.ServerID(id))
		if err != nil {
			return disk.Corrupt("range table: range %d: %w", table.Id, err)
		}
		replicas = append(replicas, replica)
	}
	r.placed.Store(&replicas)
	return nil
}
