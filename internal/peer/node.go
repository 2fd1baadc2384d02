package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Network is how connections are made; tests bring one in memory.
type Network interface {
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// TCP is the Network of real machines.
type TCP struct{}

// Dial implements [Network].
func (TCP) Dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	return dialer.DialContext(ctx, "tcp", address)
}

// Config is what a [Node] needs to know. The zero value of a field means its default.
type Config struct {
	Self        Identity                // required: Name and ID
	Program     string                  // version, for messages of others
	Credentials *Credentials            // nil: connections are neither encrypted nor proved
	Admit       func(id Identity) error // nil: every node; an error refuses a node, as no member, but for calls of open kinds
	Network     Network                 // default TCP
	Now         func() time.Time        // the wall clock whose offset is measured; default time.Now
	Logger      *slog.Logger            // default: discard
	Registerer  prometheus.Registerer   // nil: no metrics
}

// Peer is another node and where it listens.
type Peer struct {
	ID      string // node ID
	Name    string
	Address string // host:port
}

// Node is this node's end of all connections. Its methods may be called from any
// goroutine.
type Node struct {
	config         Config
	metrics        *metrics
	handlers       map[Kind]Handler       // written before Run only
	open           map[Kind]bool          // kinds of handlers that serve nodes which are not admitted; the same
	streamHandlers map[Kind]StreamHandler // the same

	mu struct {
		sync.Mutex
		self    Identity
		remotes map[string]*remote // by node ID
		closed  bool
	}
	running context.Context // of Run; ends all connections
	stop    context.CancelFunc
	all     sync.WaitGroup // connections and their goroutines
}

// New returns a node that calls others as soon as it knows them; [Node.Serve] lets
// others call it. It must be closed.
func New(config Config) (*Node, error) {
	if config.Self.Name == "" || config.Self.ID == "" {
		return nil, errors.New("peer: a node needs a name and an ID")
	}
	if config.Network == nil {
		config.Network = TCP{}
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Admit == nil {
		config.Admit = func(Identity) error { return nil }
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Node{
		config: config, metrics: newMetrics(config.Registerer),
		handlers: make(map[Kind]Handler), open: make(map[Kind]bool), streamHandlers: make(map[Kind]StreamHandler),
	}
	n.mu.self, n.mu.remotes = config.Self, make(map[string]*remote)
	n.running, n.stop = context.WithCancel(context.Background())
	n.handlers[kindPing] = n.answerPing
	return n, nil
}

// Handle sets the handler of a kind of calls. It must come before [Node.Serve].
func (n *Node) Handle(kind Kind, h Handler) { n.handlers[kind] = h }

// HandleOpen sets the handler of a kind of calls that nodes which are not admitted may make
// too, in the lane [Log]: so one asks to be taken in.
func (n *Node) HandleOpen(kind Kind, h Handler) { n.handlers[kind], n.open[kind] = h, true }

// handler returns the handler of a node's calls of a kind, nil for none: its connection may
// be older than its admission, or outlast it.
func (n *Node) handler(from Identity, kind Kind) Handler {
	if !n.open[kind] && n.config.Admit(from) != nil {
		return nil
	}
	return n.handlers[kind]
}

// HandleStream sets the handler of a kind of streams, as [Node.Handle] does.
func (n *Node) HandleStream(kind Kind, h StreamHandler) { n.streamHandlers[kind] = h }

// SetCluster names the cluster that this node has come to be of: connections from now
// on say so.
func (n *Node) SetCluster(cluster string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.self.Cluster = cluster
}

// Self returns this node's identity.
func (n *Node) Self() Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.self
}

// SetPeers says which other nodes there are. Connections to others are closed, those
// to a node with another address than before too.
func (n *Node) SetPeers(peers []Peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.closed {
		return
	}
	gone := n.mu.remotes
	n.mu.remotes = make(map[string]*remote, len(peers))
	for _, p := range peers {
		if p.ID == n.mu.self.ID {
			continue
		}
		if r := gone[p.ID]; r != nil && r.peer == p {
			n.mu.remotes[p.ID] = r
			delete(gone, p.ID)
			continue
		}
		r := newRemote(n, p)
		n.mu.remotes[p.ID] = r
		n.all.Go(r.watch)
	}
	for _, r := range gone {
		r.close(errRemoved)
	}
}

var (
	errRemoved = errors.New("no longer a peer")
	// ErrClosed says that the node was closed.
	ErrClosed = errors.New("node closed")
	// ErrUnknown says that a node ID is of no peer. Nothing was sent.
	ErrUnknown = fmt.Errorf("%w: no such peer", ErrNotSent)
)

func (n *Node) remote(id string) (*remote, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.closed {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, ErrClosed)
	}
	r := n.mu.remotes[id]
	if r == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	return r, nil
}

// Call sends a request to another node and returns its handler's reply, or a
// [*RemoteError] with its error. Any other error wraps [ErrNotSent] or [ErrLost]. The
// context bounds it, and so the work of the handler; 30 s at most.
func (n *Node) Call(ctx context.Context, to string, lane Lane, kind Kind, group uint64, payload []byte) ([]byte, error) {
	r, err := n.remote(to)
	if err != nil {
		return nil, err
	}
	c, err := r.caller(ctx, lane)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, kind, group, payload)
}

// Health returns how a peer was found last; false for an unknown one.
func (n *Node) Health(id string) (Health, bool) {
	r, err := n.remote(id)
	if err != nil {
		return Health{}, false
	}
	return r.health(), true
}

// Close ends all connections and returns when all that ran for them has ended.
func (n *Node) Close() {
	n.mu.Lock()
	remotes := n.mu.remotes
	n.mu.closed, n.mu.remotes = true, nil
	n.mu.Unlock()
	n.stop()
	for _, r := range remotes {
		r.close(ErrClosed)
	}
	n.all.Wait()
}
