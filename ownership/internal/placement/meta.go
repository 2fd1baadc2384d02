package placement

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
	for _, replica := range replicas {
		n, server := p.of(replica), r.server(replica)
		switch {
		case n.State == Removed:
			if server == nil && !used(n.ID) {
				return Step{Kind: Forget, Replica: replica, Why: "nothing is left of its node"}, true
			}
		case server == nil:
			return Step{Kind: AddNonvoter, Replica: replica, Index: view.Index, Why: "its node has joined"}, true
		case !server.Voter && r.voters("") < voters && n.may() && server.Caught >= caughtUp:
			return Step{Kind: AddVoter, Replica: replica, Index: view.Index, Why: "it has caught up"}, true
		}
	}
	return Step{}, false
}
