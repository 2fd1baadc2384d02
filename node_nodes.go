package corona

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-91e7e7c1/corona/api"
)

// Nodes returns the nodes of the cluster, by name.
func (n *Node) Nodes(context.Context) (*api.Nodes, error) {
	ranges := n.store.Ranges()
	leads := make(map[string]int)
	for _, r := range ranges {
		leads[r.Leader]++
	}
	nodes := []api.ClusterNode{}
	for _, node := range n.store.Nodes() {
		nodes = append(nodes, api.ClusterNode{
			ID: node.ID, Name: node.Name, Address: node.Address, State: nodeState(node),
			Replicas: node.Replicas, Leads: leads[node.Name],
		})
	}
	if len(nodes) == 0 {
		nodes = append(nodes, api.ClusterNode{ID: n.Name(), Name: n.Name(), State: "alive", Replicas: len(ranges), Leads: leads[n.Name()]})
	}
	slices.SortFunc(nodes, func(a, b api.ClusterNode) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return &api.Nodes{Nodes: nodes}, nil
}

// DrainNode has a node give its replicas to others; it returns when that is decided.
func (n *Node) DrainNode(ctx context.Context, name string) error {
	return problem(n.store.Drain(ctx, name))
}

// RemoveNode has the cluster forget a node for ever, one that is dead or has been drained.
func (n *Node) RemoveNode(ctx context.Context, name string) error {
	return problem(n.store.Remove(ctx, name))
}
