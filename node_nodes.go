package corona

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/ownership"
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
	all := &api.Nodes{Nodes: nodes, Ranges: len(ranges), StateMachine: n.store.Version()}
	if wanted := n.store.RangesWanted(); wanted > len(ranges) {
		all.RangesWanted = wanted
	}
	for _, r := range n.store.Recoveries() {
		all.Recoveries = append(all.Recoveries, *recovery(r))
	}
	return all, nil
}

// DrainNode has a node give its replicas to others; it returns when that is decided.
func (n *Node) DrainNode(ctx context.Context, name string) error {
	return problem(n.store.Drain(ctx, name))
}

// RemoveNode has the cluster forget a node for ever, one that is dead or has been drained.
func (n *Node) RemoveNode(ctx context.Context, name string) error {
	return problem(n.store.Remove(ctx, name))
}

// UndrainNode calls a drain off.
func (n *Node) UndrainNode(ctx context.Context, name string) error {
	return problem(n.store.Undrain(ctx, name))
}

// SplitRanges has ranges split until the cluster has so many; it returns when that is decided.
func (n *Node) SplitRanges(ctx context.Context, to int) error {
	return problem(n.store.SplitRanges(ctx, to))
}

// PlanRecovery returns what Recover would do.
func (n *Node) PlanRecovery(ctx context.Context, group string) (*api.Recovery, error) {
	return n.recover(ctx, group, n.store.PlanRecovery)
}

// Recover makes the replica with the newest log the only one of a range, or of the meta group,
// that has lost its majority for good.
func (n *Node) Recover(ctx context.Context, group string) (*api.Recovery, error) {
	return n.recover(ctx, group, n.store.Recover)
}

func (n *Node) recover(ctx context.Context, group string, of func(context.Context, uint32) (ownership.Recovery, error)) (*api.Recovery, error) {
	id := uint64(ownership.MetaGroup)
	if group != api.RangeMeta {
		var err error
		if id, err = strconv.ParseUint(group, 10, 32); err != nil || id == uint64(ownership.MetaGroup) {
			return nil, api.NewProblem(http.StatusNotFound, "no range "+strconv.Quote(group))
		}
	}
	done, err := of(ctx, uint32(id))
	if err != nil {
		return nil, problem(err)
	}
	return recovery(done), nil
}

// recovery is what the API says of one.
func recovery(r ownership.Recovery) *api.Recovery {
	out := &api.Recovery{Range: strconv.FormatUint(uint64(r.Range), 10), At: timeView(r.At), Lost: append([]string{}, r.Lost...)}
	if r.Range == ownership.MetaGroup {
		out.Range = api.RangeMeta
	}
	for _, s := range r.Survivors {
		out.Survivors = append(out.Survivors, api.Survivor{Node: s.Node, Term: s.Term, Index: s.Index, Newest: timeView(s.Newest)})
	}
	return out
}
