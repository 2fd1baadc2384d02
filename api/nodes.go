package api

import "time"

// Nodes is the answer of GET /v1/nodes: the nodes of the cluster, by name.
type Nodes struct {
	Nodes        []ClusterNode `json:"nodes"`
	Ranges       int           `json:"ranges"`                  // how many there are
	RangesWanted int           `json:"ranges_wanted,omitempty"` // how many there are to be by splits, 0: no more than there are
	StateMachine uint32        `json:"state_machine"`           // the version of commands that all nodes apply
	Recoveries   []Recovery    `json:"recoveries,omitempty"`    // all that there have ever been
}

// Recovery is what the recovery of a range, or of the meta group, would do, or did.
type Recovery struct {
	Range     string     `json:"range"`        // its number, or RangeMeta
	At        *time.Time `json:"at,omitempty"` // absent while nothing was done
	Survivors []Survivor `json:"survivors"`    // the one that is kept first; of what was done that one alone
	// Lost are the names of nodes whose replicas are given up; of the meta group those that are
	// removed from the cluster for ever.
	Lost []string `json:"lost"`
}

// RangeMeta stands for the meta group in the place of a range's number.
const RangeMeta = "meta"

// Survivor is a replica that answers, and how far its log reaches.
type Survivor struct {
	Node   string     `json:"node"`
	Term   uint64     `json:"term"` // of its last entry
	Index  uint64     `json:"index"`
	Newest *time.Time `json:"newest_at,omitempty"` // of the newest command that it has applied; absent for the meta group
}

// ClusterNode is a node of the cluster, and what lies on it.
type ClusterNode struct {
	ID       string `json:"id"` // its name and what its data directory was made with: a wiped one is another node
	Name     string `json:"name"`
	Address  string `json:"address"`  // where other nodes reach it; empty for a node alone
	State    string `json:"state"`    // as [Member] has it, or "removed" while ranges forget their replicas on it
	Replicas int    `json:"replicas"` // of ranges, those that are being made too
	Leads    int    `json:"leads"`    // ranges
}
