package corona

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/guard"
	"github.com/seed-91e7e7c1/corona/internal/members"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// company is what a node of several has of the others.
type company struct {
	credentials *peer.Credentials // nil: connections are not encrypted
	key         []byte            // of the gossip, nil for none
	listener    net.Listener
	address     string           // where others reach the listener, as it was given
	members     *members.Members // nil before the node's ID is known
	self        members.Member
	peers       *peer.Node
	open        atomic.Pointer[Node] // nil before it polls
	tradeoffs   chan []byte          // that the others are to be told, at most one
}

// openCompany takes the node's addresses and credentials; nil for a node alone.
func (n *Node) openCompany() (*company, error) {
	c := n.config.Cluster
	if c.Address == "" {
		return nil, nil
	}
	all := &company{tradeoffs: make(chan []byte, 1)}
	if c.Certs != "" {
		var err error
		if all.credentials, err = peer.LoadCredentials(c.Certs, n.Name(), n.config.Now); err != nil {
			return nil, fmt.Errorf("%w: certs: %w", ErrConfig, err)
		}
		if all.key, err = peer.LoadGossipKey(c.Certs); err != nil {
			return nil, fmt.Errorf("%w: certs: %w", ErrConfig, err)
		}
	}
	var err error
	if all.listener, err = net.Listen("tcp", c.Address); err != nil {
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	all.address = reachable(c.Address, all.listener.Addr().(*net.TCPAddr), n.config.Logger)
	return all, nil
}

// reachable returns where others reach a listener: at the host that was given, which they
// look up whenever they dial, and at the port that it has.
func reachable(given string, at *net.TCPAddr, log *slog.Logger) string {
	host, _, err := net.SplitHostPort(given)
	if err != nil {
		return at.String()
	}
	if at.IP.IsLoopback() && !guard.IsLoopback(host) {
		log.Warn("the name of the cluster address means a loopback address on this machine: nodes on other machines cannot reach it", "name", host, "address", at.IP)
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// cluster is what the store needs of the others.
func (n *Node) cluster() *ownership.Cluster {
	if n.company == nil {
		return nil
	}
	return &ownership.Cluster{
		Connect:  n.connect,
		Listener: n.company.listener,
		Address:  n.company.address,
		Expect:   n.config.Cluster.BootstrapExpect,
		Grace:    n.config.Cluster.ReplaceAfter,
		Seen:     n.company.seen,
		Joined:   n.company.joined,
	}
}

// connect makes this node known to the others, and them to it.
func (n *Node) connect(self peer.Identity, admit func(peer.Identity) error) (*peer.Node, error) {
	c := n.company
	c.self = members.Member{
		ID: self.ID, Name: self.Name, Address: c.address, Cluster: self.Cluster,
		Fresh: self.Cluster == "", Expect: n.config.Cluster.BootstrapExpect,
		Egress: n.egress(), Extracts: deltas.ExtractorVersion,
	}
	var err error
	c.members, err = members.Open(members.Config{
		Self: c.self, Bind: n.config.Cluster.Gossip, Join: n.config.Cluster.Join, Key: c.key,
		Logger: n.config.Logger, Registerer: n.metrics,
	})
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	c.peers, err = peer.New(peer.Config{
		Self: self, Program: n.config.Version, Credentials: c.credentials, Admit: admit, Now: n.config.Now,
		Logger: n.config.Logger, Registerer: n.metrics,
	})
	if err == nil {
		c.peers.Handle(kindWedge, c.serveWedge)
		c.peers.Handle(kindLoad, c.serveLoad)
		c.peers.Handle(kindHosts, c.serveHosts)
		c.peers.Handle(kindHeld, c.serveHeld)
		c.peers.Handle(kindTradeoffs, c.serveTradeoffs)
	}
	return c.peers, err
}

// seen returns the other nodes that are of a cluster, or could found one.
func (c *company) seen() (others []ownership.Candidate) {
	for _, m := range c.members.List() {
		if m.ID == c.self.ID || m.State != members.Alive || m.Cluster == "" && (!m.Fresh || m.Expect == 0) {
			continue
		}
		others = append(others, ownership.Candidate{ID: m.ID, Name: m.Name, Address: m.Address, Cluster: m.Cluster})
	}
	return others
}

// joined tells the others of which cluster this node is.
func (c *company) joined(cluster string) error {
	c.self.Cluster, c.self.Fresh, c.self.Expect = cluster, false, 0
	return c.members.Update(c.self)
}

// close ends the gossip. The listener is the store's, once that is open.
func (c *company) close() error {
	err := c.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if c.members != nil {
		err = errors.Join(err, c.members.Close())
	}
	return err
}
