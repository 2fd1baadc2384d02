package corona

import (
	"context"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Status returns what the node sees of the cluster, its load, and what
// detection that load buys.
func (n *Node) Status(context.Context) (*api.Status, error) {
	channels, subscriptions := n.store.Counts()
	plan := n.owner.Load()
	return &api.Status{
		Node:    n.Name(),
		Version: n.config.Version,
		Cluster: api.Cluster{Nodes: []string{n.Name()}, Ranges: rangeViews(n.store.Ranges())},
		Load: api.Load{
			PollsPerS:               n.engine.Load().PollsPerSecond,
			BudgetPollsPerInterval:  plan.Budget,
			PlannedPollsPerInterval: plan.Planned,
		},
		Detection: api.Detection{
			PlannedS: plan.Detected.Seconds(),
			BoundS:   plan.Bound.Seconds(),
		},
		Channels:      channels,
		Subscriptions: subscriptions,
	}, nil
}

func rangeViews(ranges []ownership.RangeStatus) []api.Range {
	views := make([]api.Range, len(ranges))
	for i, r := range ranges {
		views[i] = api.Range{
			ID: r.ID, From: r.From, To: r.To,
			Leader: r.Leader, Replicas: r.Replicas, Term: r.Term, Applied: r.Applied,
		}
	}
	return views
}

// Ready returns nil when all local ranges have a leader and are caught up,
// otherwise what is missing.
func (n *Node) Ready(context.Context) error { return n.store.Ready() }
