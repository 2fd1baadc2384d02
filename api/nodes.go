package api

// Nodes is the answer of GET /v1/nodes: the nodes of the cluster, by name.
type Nodes struct {
	Nodes []ClusterNode `json:"nodes"`
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
