package corona

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
)

// Status returns what the node sees of the cluster, its load, and what
// detection that load buys.
func (n *Node) Status(ctx context.Context) (*api.Status, error) {
	channels, subscriptions, unknown := n.store.View().Counts(ctx)
	disk := n.volume.Status()
	status := &api.Status{
		Node:          n.Name(),
		Version:       n.config.Version,
		Cluster:       n.clusterView(),
		Channels:      channels,
		Subscriptions: subscriptions,
		Uncounted:     unknown,
		Disk:          api.Disk{State: disk.Level.String(), FreeBytes: disk.Free, ReserveBytes: disk.Reserve},
	}
	addLoads(status, n.askLoads(ctx))
	return status, nil
}

// loadView is in polls, whatever the budget is of.
func (n *Node) loadView(plan *primary.Plan, pollsPerSecond float64) api.Load {
	view := api.Load{PollsPerS: pollsPerSecond, PlannedPollsPerInterval: plan.Polls}
	if n.config.Cost == honeycomb.Polls {
		view.BudgetPollsPerInterval = plan.Budget
	}
	return view
}

func (n *Node) optimiserView(plan *primary.Plan, firstPolls int) api.Optimiser {
	return api.Optimiser{
		Policy:       n.config.Policy.String(),
		Ladder:       n.config.Ladder.String(),
		Cost:         n.config.Cost.String(),
		TargetS:      n.config.Target.Seconds(),
		IntervalS:    n.config.Interval.Seconds(),
		MaintenanceS: n.config.Maintenance.Seconds(),
		Budget:       plan.Budget,
		BudgetAuto:   n.config.Budget == 0,
		Capacity:     unlessZero(plan.Capacity),
		Planned:      plan.Planned,
		Measured:     plan.Measured,
		FirstPolls:   firstPolls,
		LambdaS:      plan.Lambda,
		HostsBound:   plan.HostsBound,
		Feasible:     plan.Feasible,
		Unmet:        api.Unmet(plan.Unmet),
		Solved:       timeView(plan.Solved),
		SolveMs:      milliseconds(plan.Took),
		Updates:      plan.Incremental,
	}
}

// nodeState says in the contract's words how a node is.
func nodeState(node ownership.NodeHealth) string {
	switch {
	case node.State == ownership.NodeRemoved:
		return "removed"
	case node.Silent():
		return "dead"
	case node.State == ownership.NodeDraining:
		return "draining"
	case node.Missed > 0:
		return "suspect"
	}
	return "alive"
}

func (n *Node) clusterView() api.Cluster {
	ranges := n.store.Ranges()
	leads := make(map[string]int)
	for _, r := range ranges {
		leads[r.Leader]++
	}
	view := api.Cluster{ID: n.store.Cluster(), Ranges: rangeViews(ranges)}
	nodes := n.store.Nodes()
	if nodes == nil {
		nodes = []ownership.NodeHealth{{Name: n.Name(), Self: true}}
	}
	for _, node := range nodes {
		if node.State == ownership.NodeRemoved {
			continue
		}
		member := api.Member{Name: node.Name, Address: node.Address, State: nodeState(node), Leads: leads[node.Name]}
		if node.RTT > 0 {
			rtt, offset := milliseconds(node.RTT), milliseconds(node.ClockOffset)
			member.RTTMs, member.ClockOffsetMs = &rtt, &offset
		}
		view.Nodes, view.Members = append(view.Nodes, node.Name), append(view.Members, member)
	}
	return view
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

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
