// Package placement decides on which nodes the replicas of ranges lie. It is pure: from
// the cluster's table, what the nodes' health is, and each range's raft configuration as
// its leader knows it, [Next] makes the next steps, at most one of each range. The driver
// that carries them out keeps nothing between two calls, so that another one may go on.
//
// A range gets a replica in this order: the table plans it ([Plan]), raft takes it as a
// nonvoter ([AddNonvoter]), it catches up, raft gives it a vote ([AddVoter]), the table
// counts it ([Promote]). A range with more replicas than are wished then loses its worst
// one: raft forgets it ([Remove]), after that the table ([Forget]), and its node deletes
// its data. So to replace a replica, or to move it, is to plan another one.
//
// A damaged replica counts as one that does not answer. It goes first, since the best node
// for the replica that takes its place may be its own, which has one of a range at most.
package placement

import "time"

// Cluster is the input of [Next]: nodes, ranges, and the settings of placement.
type Cluster struct {
	Nodes    []Node
	Ranges   []Range
	Replicas int           // that each range should have
	Grace    time.Duration // after which a node that does not answer is dead
	Moving   int           // how many ranges may get a replica at the same time
}

// State is what an operator has decided about a node.
type State int

// The states of nodes.
const (
	Member   State = iota
	Draining       // it gives its replicas to others, and gets none
	Removed        // it is dead for good
)

// Node is a node of the cluster.
type Node struct {
	ID     string
	State  State
	Silent time.Duration // how long it has not answered; 0: it answers
}

// Replica is a replica of a range as the table has it.
type Replica struct {
	ID   string // in raft's configuration; never given twice
	Node string
}

// Range is a range of the cluster.
type Range struct {
	ID       uint32
	Replicas []Replica // that have all of the range; the first leads when all is well
	Joining  []Replica // that are to become such
	Damaged  []string  // IDs of those whose data is damaged
	// Splitting says that another range is being split off it: it gets no step.
	Splitting bool
	View      *View // nil: its leader has given none
}

// View is a range's raft configuration, committed, as its leader knows it.
type View struct {
	Index   uint64 // of the configuration in the log: a change of it is refused at another one
	Leader  string // replica ID
	Servers []Server
	Load    float64 // what the range costs a node, in any unit
}

// Server is a replica in raft's configuration.
type Server struct {
	Replica
	Voter  bool
	Caught time.Duration // how long it has had nearly all of the leader's log
}

// Kind says what a step does.
type Kind int

// The kinds of steps. Those of the table change nothing in raft, and the other way round.
const (
	Plan        Kind = iota // the table plans a replica on a node
	AddNonvoter             // raft sends the log to a replica
	AddVoter                // raft gives it a vote
	Promote                 // the table counts it
	Remove                  // raft forgets a replica; a leader hands leadership over first
	Forget                  // the table forgets it
	Prefer                  // the table has another replica lead when all is well
	Demote                  // raft takes a vote away; of the meta group alone
)

func (k Kind) String() string {
	return [...]string{"plan", "add nonvoter", "add voter", "promote", "remove", "forget", "prefer", "demote"}[k]
}

// Step is the next thing to do for a range.
type Step struct {
	Range   uint32
	Kind    Kind
	Replica Replica // without an ID for a Plan
	Index   uint64  // of the configuration that raft must still have, for the steps of raft
	Why     string  // for the log
}

const (
	// caughtUp is how long a replica has to keep up with the log before it may vote.
	caughtUp = 3 * time.Second
	// patience is how long a node may be silent on which a replica is being made.
	patience = 30 * time.Second
)

// Next returns the steps that can be taken now, at most one of each range, in no order
// that matters. While nothing else changes, taking them again and again ends: with no
// more steps, and [Settled].
func Next(c Cluster) []Step {
	p := newPlanner(c)
	for i := range c.Ranges {
		p.goOn(&c.Ranges[i])
	}
	p.repair()
	if len(p.steps) == 0 && p.moving == 0 && !p.waits {
		p.balance()
	}
	if len(p.steps) == 0 && p.moving == 0 && !p.waits {
		p.prefer()
	}
	return p.steps
}

// Settled reports whether the table alone says that nothing is to be done: then no leader
// need be asked for its view.
func Settled(c Cluster) bool {
	p := newPlanner(c)
	for i := range c.Ranges {
		r := &c.Ranges[i]
		if _, shrinks := p.shrinks(r); shrinks || !p.idle(r) || p.need(r) != "" {
			return false
		}
	}
	p.balance()
	if len(p.steps) == 0 {
		p.prefer()
	}
	return len(p.steps) == 0
}
