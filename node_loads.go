package corona

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// errNotOpen says that a node was called before it polls.
var errNotOpen = errors.New("this node is not open yet")

// nodeLoad is what one node polls, and what it plans for the ranges that it leads.
type nodeLoad struct {
	Polls, Lag  float64 // a second; seconds
	Channels    int     // that it polls
	Subscribers float64 // of the channels that it owns
	Load        api.Load
	Detection   api.Detection
	Optimiser   api.Optimiser
	Polling     api.Polling
}

func (n *Node) loadHere() nodeLoad {
	plan, load := n.owner.Plan(), n.engine.Load()
	return nodeLoad{
		Polls: load.PollsPerSecond, Lag: load.Behind.Seconds(), Channels: load.Channels, Subscribers: plan.Subscribers,
		Load:      n.loadView(&plan, load.PollsPerSecond),
		Detection: api.Detection{PlannedS: plan.Detected.Seconds(), BoundS: plan.Bound.Seconds()},
		Optimiser: n.optimiserView(&plan, load.FirstPolls),
		Polling:   api.Polling{FailingChannels: load.Failing, RestingHosts: load.Resting},
	}
}

// loadsWithin is how long other nodes have to say what they poll.
const loadsWithin = time.Second

// askLoads asks all nodes, by name, what they poll and plan. Those that do not answer are
// missing; this node is not.
func (n *Node) askLoads(ctx context.Context) map[string]nodeLoad {
	loads := map[string]nodeLoad{n.Name(): n.loadHere()}
	if n.company == nil {
		return loads
	}
	ctx, cancel := context.WithTimeout(ctx, loadsWithin)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range n.store.Nodes() {
		if node.Self {
			continue
		}
		asking.Go(func() {
			load, err := n.company.askLoad(ctx, node.ID)
			if err != nil {
				n.config.Logger.Debug("a node does not say what it polls", "node", node.Name, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			loads[node.Name] = load
		})
	}
	asking.Wait()
	return loads
}

func (c *company) askLoad(ctx context.Context, node string) (load nodeLoad, err error) {
	reply, err := c.peers.Call(ctx, node, peer.Log, kindLoad, 0, nil)
	if err == nil {
		err = json.Unmarshal(reply, &load)
	}
	return load, err
}

// serveLoad answers askLoad once the node is open.
func (c *company) serveLoad(context.Context, peer.Call) ([]byte, error) {
	if node := c.open.Load(); node != nil {
		return json.Marshal(node.loadHere())
	}
	return nil, errNotOpen
}

// addLoads adds to a status what the nodes that answered poll and plan together.
func addLoads(status *api.Status, loads map[string]nodeLoad) {
	own := loads[status.Node]
	status.Optimiser = own.Optimiser
	all, polls := nodeLoad{}, 0.0
	for name, load := range loads {
		polls += load.Polls
		all.add(&load)
		if name != status.Node {
			joinOptimiser(&status.Optimiser, &load.Optimiser)
		}
	}
	status.Load, status.Polling, status.Detection = all.Load, all.Polling, all.Detection
	if all.Subscribers > 0 {
		status.Detection.PlannedS /= all.Subscribers
		status.Detection.BoundS /= all.Subscribers
	}
	for i := range status.Cluster.Members {
		member := &status.Cluster.Members[i]
		load, said := loads[member.Name]
		if !said {
			continue
		}
		share := 0.0
		if polls > 0 {
			share = load.Polls / polls
		}
		member.PollsPerS, member.Share, member.Channels, member.LagS = &load.Polls, &share, &load.Channels, &load.Lag
	}
}

// add adds what another node polls and plans; times of detection are summed over
// subscribers.
func (l *nodeLoad) add(other *nodeLoad) {
	l.Load.PollsPerS += other.Load.PollsPerS
	l.Load.BudgetPollsPerInterval += other.Load.BudgetPollsPerInterval
	l.Load.PlannedPollsPerInterval += other.Load.PlannedPollsPerInterval
	l.Polling.FailingChannels += other.Polling.FailingChannels
	l.Polling.RestingHosts += other.Polling.RestingHosts
	l.Subscribers += other.Subscribers
	l.Detection.PlannedS += other.Subscribers * other.Detection.PlannedS
	l.Detection.BoundS += other.Subscribers * other.Detection.BoundS
}

// joinOptimiser adds what another node plans. Of λ and of when and for how long it was
// solved, what this node knows of itself stands.
func joinOptimiser(o, other *api.Optimiser) {
	o.Budget += other.Budget
	o.Planned += other.Planned
	o.Measured += other.Measured
	o.FirstPolls += other.FirstPolls
	o.HostsBound += other.HostsBound
	o.Updates += other.Updates
	o.Feasible = o.Feasible && other.Feasible
	o.Unmet.Budget = o.Unmet.Budget || other.Unmet.Budget
	o.Unmet.Target = o.Unmet.Target || other.Unmet.Target
	o.Unmet.Channels += other.Unmet.Channels
	o.Unmet.Hosts += other.Unmet.Hosts
	switch {
	case other.Capacity == nil:
		o.Capacity = nil // one that carries more than it is asked for
	case o.Capacity != nil:
		sum := *o.Capacity + *other.Capacity
		o.Capacity = &sum
	}
}
