package placement

import (
	"cmp"
	"slices"
)

// planner gathers the steps of one call of Next.
type planner struct {
	Cluster
	nodes   map[string]*node
	order   []*node            // by ID
	victims map[uint32]Replica // that ranges lose for those that they get
	dead    string             // the node that is replaced since it has not answered for long; empty: none
	steps   []Step
	moving  int  // ranges that get a replica
	waits   bool // a range cannot be repaired now
}

// node is a node with what it will have when all that is under way is done.
type node struct {
	Node
	replicas int
	load     float64
}

// may reports whether the node may get replicas.
func (n *node) may() bool { return n.State == Member && n.Silent == 0 }

func newPlanner(c Cluster) *planner {
	p := &planner{Cluster: c, nodes: make(map[string]*node), victims: make(map[uint32]Replica)}
	for _, n := range c.Nodes {
		p.nodes[n.ID] = &node{Node: n}
		p.order = append(p.order, p.nodes[n.ID])
	}
	slices.SortFunc(p.order, func(a, b *node) int { return cmp.Compare(a.ID, b.ID) })
	for i := range c.Ranges {
		r := &c.Ranges[i]
		for _, replica := range slices.Concat(r.Replicas, r.Joining) {
			p.count(replica, r, 1)
		}
		if len(r.Joining) > 0 && r.View != nil { // without a leader nothing is on its way
			p.moving++
		}
	}
	p.dead = p.findDead()
	for i := range c.Ranges {
		r := &c.Ranges[i]
		if victim, found := p.victim(r); found && len(r.Replicas)+len(r.Joining) > c.Replicas {
			p.victims[r.ID] = victim
			p.count(victim, r, -1)
		}
	}
	return p
}

// of returns the node of a replica. One that the table does not know is as one removed.
func (p *planner) of(r Replica) *node {
	n := p.nodes[r.Node]
	if n == nil {
		n = &node{Node: Node{ID: r.Node, State: Removed, Silent: p.Grace}}
		p.nodes[r.Node] = n
	}
	return n
}

func (p *planner) count(replica Replica, r *Range, by int) {
	n := p.of(replica)
	n.replicas += by
	n.load += float64(by) * r.load()
}

func (r *Range) load() float64 {
	if r.View == nil {
		return 0
	}
	return r.View.Load
}

// findDead chooses one node that is replaced since it is dead, if most nodes live: first of
// those with a replica in a range that has a leader, which others do not wait for.
func (p *planner) findDead() string {
	members, live, dead, stuck := 0, 0, "", ""
	for _, n := range p.order {
		if n.State == Removed {
			continue
		}
		members++
		if n.Silent == 0 {
			live++
		}
		switch {
		case n.Silent < p.Grace || n.replicas == 0:
		case dead == "" && p.changes(n.ID):
			dead = n.ID
		case stuck == "":
			stuck = n.ID
		}
	}
	if 2*live <= members {
		return ""
	}
	return cmp.Or(dead, stuck)
}

// changes reports whether a range on a node has a leader, which can change it.
func (p *planner) changes(node string) bool {
	return slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.View != nil && r.has(node) })
}

// leaving says why a replica of a range is not to stay where it is, empty if it is.
func (p *planner) leaving(r *Range, replica Replica) string {
	switch n := p.of(replica); {
	case r.damaged(replica):
		return "it is damaged"
	case n.State == Removed:
		return "its node was removed"
	case n.ID == p.dead:
		return "its node is dead"
	case n.State == Draining:
		return "its node is drained"
	default:
		return ""
	}
}

// need says why a range is to get one more replica, empty if it is not, or cannot.
func (p *planner) need(r *Range) string {
	if p.target(r) == nil {
		return ""
	}
	for _, replica := range r.Replicas {
		if why := p.leaving(r, replica); why != "" {
			return why
		}
	}
	if len(r.Replicas) < p.Replicas {
		return "it has too few replicas"
	}
	return ""
}

// shrinks returns a replica that the range loses though it has not too many: a damaged one,
// and one on a node that was removed, where no other node can have it instead.
func (p *planner) shrinks(r *Range) (victim Replica, found bool) {
	victim, found = p.victim(r)
	if !found || len(r.Replicas) == 1 {
		return victim, false
	}
	return victim, r.damaged(victim) || p.of(victim).State == Removed && p.target(r) == nil
}

// victim returns the replica that a range loses when it has more than are wished: first
// one that cannot stay, then one whose node does not answer, then that of the node with
// the most replicas; never the one that the range got last, for which it was to go.
func (p *planner) victim(r *Range) (victim Replica, found bool) {
	if chosen, known := p.victims[r.ID]; known {
		return chosen, true
	}
	for i, replica := range r.Replicas {
		if i >= p.Replicas && p.rank(r, replica) == 0 {
			continue
		}
		if !found || p.worse(r, replica, victim) {
			victim, found = replica, true
		}
	}
	return victim, found
}

func (p *planner) worse(r *Range, a, b Replica) bool {
	return cmp.Or(
		cmp.Compare(p.rank(r, a), p.rank(r, b)),
		cmp.Compare(p.of(a).replicas, p.of(b).replicas),
		cmp.Compare(p.of(a).load, p.of(b).load),
		cmp.Compare(a.ID, b.ID),
	) > 0
}

func (p *planner) rank(r *Range, replica Replica) int {
	n := p.of(replica)
	switch {
	case r.damaged(replica):
		return 5
	case n.State == Removed:
		return 4
	case n.ID == p.dead:
		return 3
	case n.State == Draining:
		return 2
	case n.Silent > 0:
		return 1
	default:
		return 0
	}
}

// target returns the node that should get another replica of a range, nil if none may.
func (p *planner) target(r *Range) *node {
	var best *node
	for _, n := range p.order {
		if !n.may() || r.has(n.ID) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(n.replicas, best.replicas), cmp.Compare(n.load, best.load)) < 0 {
			best = n
		}
	}
	return best
}

func (r *Range) damaged(replica Replica) bool { return slices.Contains(r.Damaged, replica.ID) }

// has reports whether a node has a replica of the range, or gets one.
func (r *Range) has(node string) bool {
	on := func(replica Replica) bool { return replica.Node == node }
	return slices.ContainsFunc(r.Replicas, on) || slices.ContainsFunc(r.Joining, on)
}
