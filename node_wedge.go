package corona

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/members"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
	"github.com/seed-91e7e7c1/corona/wedge"
	"github.com/seed-91e7e7c1/corona/wedge/hosts"
)

// The kinds of calls between nodes that [wedge.Poller.Serve], [hosts.Node.Serve] and
// [hosts.Node.ServeHeld] (whose group is a range's ID) answer, of those by which nodes tell each other the tradeoffs of the ranges that they lead, and of
// those that ask what a node polls and plans.
const (
	kindWedge = ownership.EndKind + iota
	kindHosts
	kindTradeoffs
	kindLoad
	kindHeld
)

// openEngine opens the engine: of a node alone on its own owner, else on all owners.
func (n *Node) openEngine() (err error) {
	var reports engine.Owner = n.owner
	config := n.wedgeConfig()
	if n.company != nil {
		n.poller = wedge.NewPoller(config)
		reports = n.poller
		n.hosts = hosts.New(n.hostsConfig(), n.metrics)
	}
	if n.engine, err = engine.Open(n.engineConfig(), n.fetcher, reports, n.metrics); err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if n.poller != nil {
		n.wedge = wedge.NewOwner(config, n.owner, n.store, n.poller, n.pollersNow)
		n.poller.Start(n.engine, n.engine.Shelf())
		n.hosts.Start(n.engine)
	}
	return nil
}

func (n *Node) wedgeConfig() wedge.Config {
	if n.company == nil {
		return wedge.Config{}
	}
	return wedge.Config{
		Self: n.company.self.ID, Egress: n.company.self.Egress, Interval: n.config.Interval,
		Call: n.company.callWedge, Ask: asker{n}, Fanout: n.config.Cluster.FanOut, Logger: n.config.Logger, Registerer: n.metrics,
	}
}

// startOrders has the owner order polls, of this node's engine or of all nodes'.
func (n *Node) startOrders(ctx context.Context) error {
	var poller primary.Poller = wedge.Alone{Engine: n.engine}
	if n.wedge != nil {
		n.company.open.Store(n)
		n.running.Go(func() { n.poller.Run(ctx) })
		n.running.Go(func() { n.hosts.Run(ctx) })
		n.running.Go(func() { n.wedge.Run(ctx) })
		n.running.Go(func() { n.exchange(ctx) })
		poller = n.wedge
	}
	if err := n.owner.Start(poller); err != nil {
		return fmt.Errorf("give orders: %w", err)
	}
	return nil
}

// pollers is how many egress addresses poll.
func (n *Node) pollers() int {
	if n.wedge == nil {
		return 1
	}
	return n.wedge.Pollers()
}

func (n *Node) hostsConfig() hosts.Config {
	return hosts.Config{
		Self: n.company.self.ID, Ranges: n.store.Table, Store: n.store, Ask: asker{n}, Call: n.company.callHosts,
		Held: n.company.callHeld, Others: n.otherNodes, Logger: n.config.Logger,
	}
}

// otherNodes returns the IDs of the cluster's other nodes, without those that were removed.
func (n *Node) otherNodes() (ids []string) {
	for _, node := range n.store.Nodes() {
		if !node.Self && node.State != ownership.NodeRemoved {
			ids = append(ids, node.ID)
		}
	}
	return ids
}

// asker has the leaders of ranges answer this node's poller.
type asker struct{ *Node }

// Report implements [wedge.Asker].
func (a asker) Report(ctx context.Context, b channel.Bucket, report []byte) ([]byte, error) {
	return a.calls.report.At(ctx, b, report)
}

// Note implements [wedge.Asker].
func (a asker) Note(ctx context.Context, b channel.Bucket, notes []byte) error {
	_, err := a.calls.note.At(ctx, b, notes)
	return err
}

// Move implements [wedge.Asker].
func (a asker) Move(ctx context.Context, b channel.Bucket, move engine.Move) error {
	_, err := a.calls.move.At(ctx, b, move)
	return err
}

// Refused implements [hosts.Asker].
func (a asker) Refused(ctx context.Context, b channel.Bucket, rests []byte) error {
	ctx, cancel := context.WithTimeout(ctx, hostsWithin)
	defer cancel()
	_, err := a.calls.refused.At(ctx, b, rests)
	return err
}

// Resting implements [hosts.Asker].
func (a asker) Resting(ctx context.Context, b channel.Bucket) error {
	_, err := a.calls.resting.At(ctx, b, a.company.self.ID)
	return err
}

// Shares implements [hosts.Asker].
func (a asker) Shares(ctx context.Context, b channel.Bucket, q hosts.Question) (hosts.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, hostsWithin)
	defer cancel()
	return a.calls.shares.At(ctx, b, q)
}

// egress is the label of the address that origins see.
func (n *Node) egress() string { return cmp.Or(n.config.Cluster.Egress, n.Name()) }

// pollersNow returns the nodes that poll.
func (n *Node) pollersNow() []wedge.Member { return pollers(n.company.alike(), n.store.Nodes()) }

// pollers returns those of the nodes alike that are members of the cluster, not drained, and answer
// this one. One that does not answer stays where another node shares its egress: while it polls on,
// that one must know of it, for the floor's sake.
func pollers(alike []wedge.Member, nodes []ownership.NodeHealth) []wedge.Member {
	known := make(map[string]ownership.NodeHealth)
	for _, node := range nodes {
		if node.State == ownership.NodeMember {
			known[node.ID] = node
		}
	}
	sharers := make(map[string]int) // nodes by egress
	for _, m := range alike {
		sharers[m.Egress]++
	}
	return slices.DeleteFunc(slices.Clone(alike), func(m wedge.Member) bool {
		node, member := known[m.ID]
		return !member || node.Missing() && sharers[m.Egress] == 1
	})
}

// alike returns the nodes that read documents as this one does, as the gossip sees them.
func (c *company) alike() (all []wedge.Member) {
	for _, m := range c.members.List() {
		if m.State == members.Alive && m.Cluster != "" && m.Cluster == c.self.Cluster && m.Extracts == deltas.ExtractorVersion {
			all = append(all, wedge.Member{ID: m.ID, Egress: m.Egress})
		}
	}
	return all
}

// callWedge calls the poller of another node.
func (c *company) callWedge(ctx context.Context, node string, request []byte) ([]byte, error) {
	return c.peers.Call(ctx, node, peer.Log, kindWedge, 0, request)
}

// hostsWithin bounds an attempt to tell another node of hosts that rest: one that was cut
// off hears soon after, and what is told is true still.
const hostsWithin = time.Second

// callHosts tells another node of hosts that rest.
func (c *company) callHosts(ctx context.Context, node string, rests []byte) error {
	ctx, cancel := context.WithTimeout(ctx, hostsWithin)
	defer cancel()
	_, err := c.peers.Call(ctx, node, peer.Log, kindHosts, 0, rests)
	return err
}

// callHeld asks another node what it holds of the caps of a range's hosts.
func (c *company) callHeld(ctx context.Context, node string, rangeID uint32) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, hostsWithin)
	defer cancel()
	return c.peers.Call(ctx, node, peer.Log, kindHeld, uint64(rangeID), nil)
}

// serveHeld answers that.
func (c *company) serveHeld(_ context.Context, call peer.Call) ([]byte, error) {
	node := c.open.Load()
	if node == nil {
		return nil, errNotOpen
	}
	return node.hosts.ServeHeld(call.Group)
}

// serveHosts accepts what another node says of hosts that rest.
func (c *company) serveHosts(_ context.Context, call peer.Call) ([]byte, error) {
	node := c.open.Load()
	if node == nil {
		return nil, errNotOpen
	}
	return nil, node.hosts.Serve(call.Payload)
}

// serveWedge answers a call to this node's poller.
func (c *company) serveWedge(ctx context.Context, call peer.Call) ([]byte, error) {
	node := c.open.Load()
	if node == nil {
		return nil, errNotOpen
	}
	return node.poller.Serve(ctx, call.From.ID, call.Payload)
}
