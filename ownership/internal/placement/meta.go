package placement

import "slices"

// NextOfMeta returns the next step of the meta group, which has a replica on each node, of
// which some vote; false for none. Used says that a range has a replica on a node. A Remove is
// of the leader too, which hands leadership over first; a Forget is of the whole node.
func NextOfMeta(c Cluster, replicas []Replica, view View, voters int, used func(node string) bool) (Step, bool) {
	p := newPlanner(Cluster{Nodes: c.Nodes, Grace: c.Grace})
	r := &Range{Replicas: replicas, View: &view}
	for _, s := range view.Servers {
		if p.of(s.Replica).State != Removed {
			continue
		}
		if left := r.voters(s.ID); p.live(r, s.ID) >= majority(left) && left > 0 {
			return Step{Kind: Remove, Replica: s.Replica, Index: view.Index, Why: "its node was removed"}, true
		}
	}
	ready := func(replica Replica) bool {
		server := r.server(replica)
		return server != nil && !server.Voter && server.Caught >= caughtUp && p.of(replica).may()
	}
	if dead, found := p.deadVoter(r); found && slices.ContainsFunc(replicas, ready) {
		return Step{Kind: Demote, Replica: dead, Index: view.Index, Why: "its node is dead, and another one can vote"}, true
	}
	for _, replica := range replicas {
		n, server := p.of(replica), r.server(replica)
		switch {
		case n.State == Removed:
			if server == nil && !used(n.ID) {
				return Step{Kind: Forget, Replica: replica, Why: "nothing is left of its node"}, true
			}
		case server == nil:
			return Step{Kind: AddNonvoter, Replica: replica, Index: view.Index, Why: "its node has joined"}, true
		case ready(replica) && r.voters("") < voters:
			return Step{Kind: AddVoter, Replica: replica, Index: view.Index, Why: "it has caught up"}, true
		}
	}
	return Step{}, false
}

// deadVoter finds a voter whose node is dead, and which the others can do without.
func (p *planner) deadVoter(r *Range) (dead Replica, found bool) {
	for _, s := range r.View.Servers {
		if s.Voter && p.of(s.Replica).Silent >= p.Grace && p.live(r, s.ID) >= majority(r.voters(s.ID)) {
			return s.Replica, true
		}
	}
	return Replica{}, false
}
