// Package hosts lets the nodes of a cluster spare a host together. A node that a host
// has refused (429, 503) tells the leader of the range of the host's ID,
// [channel.HostID]; that has the rest replicated, and tells all other nodes.
//
// A node is both: it tells what its own engine has met, and answers for the ranges that
// it leads. Each message is about rests that end by themselves, may be lost, repeated
// and overtaken, and is sent until it is answered or the rests are over: what counts of
// two rests of one host is the later end. Between nodes rests are told by how long they
// last still, so that clocks which differ do no harm.
//
// The same leader divides the host's cap: a node of whose channels need more than its part of
// what is kept back asks for a share of the rest, and asks again while that is so; see
// package grants.
package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Engine polls hosts; see [engine.Engine].
type Engine interface {
	Rest(rests ...channel.Rest)
	Demands() []channel.Demand
	Grant(grants ...channel.Grant)
	SetNodes(nodes int)
}

// Store keeps which hosts rest, of the ranges that this node leads.
type Store interface {
	// Rest commits rests of hosts of a range, and returns how many of them were news.
	Rest(ctx context.Context, r channel.Range, rests []channel.Rest) (committed int, err error)
	// RestsIn returns the hosts of a range that rest.
	RestsIn(r channel.Range) ([]channel.Rest, error)
}

// Asker asks the node that leads the range with a bucket. A call ends within a second or
// so: a rest is told by how long it lasts still, and gets longer by the time on the way.
type Asker interface {
	// Refused has [Node.ServeRefused] take in rests.
	Refused(ctx context.Context, b channel.Bucket, rests []byte) error
	// Resting has [Node.ServeResting] tell this node.
	Resting(ctx context.Context, b channel.Bucket) error
	// Shares has [Node.ServeShares] answer at a leader that is that when the question is
	// there, or does not answer.
	Shares(ctx context.Context, b channel.Bucket, q Question) (Answer, error)
}

// Config is what a node needs to know. Every field but Logger is required.
type Config struct {
	Self   string                 // node ID
	Ranges func() []channel.Range // all of the cluster as they are now, in the order of their buckets
	Others func() []string        // IDs of the cluster's other nodes, as they are now
	Store  Store
	Ask    Asker
	// Call has another node's [Node.Serve] answer.
	Call func(ctx context.Context, node string, rests []byte) error
	// Held has another node's [Node.ServeHeld] answer, within a second or so.
	Held   func(ctx context.Context, node string, rangeID uint32) ([]byte, error)
	Logger *slog.Logger // nil: discard
}

// Node is a node's part in sparing hosts. It is safe for concurrent use.
type Node struct {
	config  Config
	metrics *metrics
	engine  Engine // set by Start
	ctx     context.Context
	stop    context.CancelFunc

	leaders atomic.Pointer[channel.ByRange[*outbox]] // of what this node was told by hosts
	others  outboxes                                 // of what this node commits
	shares  shares

	splitting sync.Mutex // held by followSplits

	mu struct {
		sync.Mutex // held to begin what Run waits for
		stopped    bool
		running    sync.WaitGroup
	}
}

// New returns a node's part, which must not be told anything before [Node.Start]. A nil
// registerer keeps its metrics unregistered.
func New(config Config, registerer prometheus.Registerer) *Node {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Node{config: config, metrics: newMetrics()}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.leaders.Store(new(channel.ByRange[*outbox]))
	n.shares.init()
	n.followSplits()
	if registerer != nil {
		registerer.MustRegister(n.metrics.all...)
	}
	return n
}

// outboxes are those for other nodes, made when a node is first sent to.
type outboxes struct {
	mu sync.Mutex
	of map[string]*outbox // by node ID
}

// box returns the outbox for another node, nil if it is none of the cluster's.
func (n *Node) box(node string) *outbox {
	if !slices.Contains(n.config.Others(), node) {
		return nil
	}
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	box := n.others.of[node]
	if box == nil {
		if n.others.of == nil {
			n.others.of = make(map[string]*outbox)
		}
		box = n.outbox(func(ctx context.Context, rests []channel.Rest) error {
			return n.config.Call(ctx, node, encode(rests, time.Now()))
		})
		n.others.of[node] = box
	}
	return box
}

func (n *Node) outbox(send func(context.Context, []channel.Rest) error) *outbox {
	return &outbox{send: send, begin: n.begin, failed: n.metrics.failures.Inc}
}

// begin runs something that Run waits for, unless that has returned.
func (n *Node) begin(run func(ctx context.Context)) (begun bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.mu.stopped {
		n.mu.running.Go(func() { run(n.ctx) })
	}
	return !n.mu.stopped
}

// Start gives the node the engine that polls.
func (n *Node) Start(e Engine) { n.engine = e }

// Run asks which hosts rest, and for what is needed of hosts' caps. It returns when ctx is
// done and nothing is sent any more.
func (n *Node) Run(ctx context.Context) {
	for _, r := range n.config.Ranges() {
		n.begin(func(ctx context.Context) { n.learn(ctx, r) })
	}
	n.keepShares(ctx)
	n.mu.Lock()
	n.mu.stopped = true
	n.mu.Unlock()
	n.stop()
	n.mu.running.Wait()
}

// learn asks, until that is answered, to be told which hosts of a range rest: some may
// have begun to while this node was down.
func (n *Node) learn(ctx context.Context, r channel.Range) {
	for pause := firstPause; n.config.Ask.Resting(ctx, r.From) != nil; pause = min(2*pause, lastPause) {
		n.metrics.failures.Inc()
		if !sleep(ctx, pause) {
			return
		}
	}
}

// Refused records that a host has refused this node. It does not block.
func (n *Node) Refused(rest channel.Rest) {
	n.metrics.reported.Inc()
	n.leaders.Load().At(rest.Host.Bucket()).add(rest)
}

// ServeRefused records, at the leader of a range, that hosts of it have refused a node,
// and tells all others once that is committed.
func (n *Node) ServeRefused(ctx context.Context, r channel.Range, content []byte) error {
	rests, err := n.decode(content)
	if err != nil {
		return err
	}
	for _, rest := range rests {
		if !r.Has(rest.Host.Bucket()) {
			n.metrics.invalid.Inc()
			return errOtherRange
		}
	}
	committed, err := n.config.Store.Rest(ctx, r, rests)
	if err != nil || committed == 0 {
		return err
	}
	n.metrics.committed.Add(float64(committed))
	n.tell(rests)
	return nil
}

// ServeResting tells a node, from the leader of a range, which hosts of it rest.
func (n *Node) ServeResting(r channel.Range, node string) error {
	box := n.box(node)
	if box == nil && node != n.config.Self {
		return fmt.Errorf("node %q is none of this cluster", node)
	}
	rests, err := n.config.Store.RestsIn(r)
	switch {
	case err != nil:
		return err
	case box == nil:
		n.heed(rests)
	default:
		box.add(rests...)
	}
	return nil
}

// RangeGained tells all nodes which hosts of a range rest that this node leads from now
// on: the leader before it may have ended between committing a rest and telling it. Parts of
// their caps are granted when all nodes have told what they hold, or the leases of that
// leader are over. It does not block.
func (n *Node) RangeGained(r channel.Range) {
	n.followSplits()
	n.openTable(r, n.shares.gained(r, append(slices.Clip(n.config.Others()), n.config.Self)))
	n.begin(func(context.Context) {
		rests, err := n.config.Store.RestsIn(r)
		if err != nil {
			n.config.Logger.Error("could not read which hosts rest", "range", r.ID, "error", err)
			return
		}
		n.tell(rests)
	})
}

// tell tells all nodes, this one among them.
func (n *Node) tell(rests []channel.Rest) {
	n.heed(rests)
	for _, node := range n.config.Others() {
		if box := n.box(node); box != nil {
			box.add(rests...)
		}
	}
}

// Serve accepts what another node, as the leader of a range, says of hosts.
func (n *Node) Serve(content []byte) error {
	rests, err := n.decode(content)
	if err == nil {
		n.heed(rests)
	}
	return err
}

func (n *Node) heed(rests []channel.Rest) {
	n.metrics.heard.Add(float64(len(rests)))
	n.engine.Rest(rests...)
}

func (n *Node) decode(content []byte) ([]channel.Rest, error) {
	rests, err := decode(content, time.Now())
	if err != nil {
		n.metrics.invalid.Inc()
	}
	return rests, err
}
