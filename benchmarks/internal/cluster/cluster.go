//go:build linux

// Package cluster runs several nodes of the program under test on one machine, each in
// a network namespace of its own, so that what they send each other can be cut in one
// direction or both without a word to either, and stops, kills and suspends them.
//
// [Contained] gives a scenario the namespaces in which [New] makes the nodes' networks.
// It needs root, Linux and iproute2; nothing is left behind, however the scenario ends.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// Config says which nodes to run.
type Config struct {
	Nodes   int      // 3 if it is 0
	Program string   // the binary of corona
	Folder  string   // for certificates, data directories and logs
	Args    []string // of "corona serve", beside those that make it a node of several
}

// Cluster is nodes that found a cluster together, and those that join it. Its methods are
// called by one goroutine, but for those that say otherwise.
type Cluster struct {
	Nodes   []*Node
	config  Config
	network *network
}

// Ports of each node.
const (
	apiPort     = "8410"
	clusterPort = "8510"
	gossipPort  = "8610"
)

// New makes networks and certificates and starts nothing. The caller closes it. It must
// run in a contained process.
func New(ctx context.Context, config Config) (_ *Cluster, err error) {
	if config.Nodes == 0 {
		config.Nodes = 3
	}
	c := &Cluster{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.network, err = newNetwork(config.Nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	names := make([]string, config.Nodes)
	for i := range names {
		names[i] = name(i)
	}
	if err := c.certify(ctx, names...); err != nil {
		return nil, err
	}
	for range names {
		if _, err := c.addNode(); err != nil {
			return nil, err
		}
	}
	for _, node := range c.Nodes {
		node.founders = config.Nodes
		node.Run(config.Program, c.Nodes)
	}
	return c, nil
}

// certify makes certificates for nodes; the first call makes the CA too.
func (c *Cluster) certify(ctx context.Context, names ...string) error {
	args := append([]string{"certs", "--dir", certs(c.config.Folder)}, names...)
	if out, err := exec.CommandContext(ctx, c.config.Program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("corona certs: %w: %s", err, out)
	}
	return nil
}

// addNode adds a node, in a network that is there.
func (c *Cluster) addNode() (*Node, error) {
	i := len(c.Nodes)
	process, err := child.New(filepath.Join(c.config.Folder, name(i)+".log"), c.config.Program)
	if err != nil {
		return nil, err
	}
	node := &Node{
		Process: process, Name: name(i), Index: i, Data: data(c.config.Folder, i), Address: address(i),
		API: "http://" + net.JoinHostPort(address(i), apiPort), network: c.network, config: &c.config,
	}
	c.Nodes = append(c.Nodes, node)
	return node, nil
}

// NodesMost is how many nodes there may ever be.
const NodesMost = 250

// Add makes a fresh node that joins a cluster, and does not start it: Run has to say first
// whom it joins.
func (c *Cluster) Add(ctx context.Context) (*Node, error) {
	if err := c.network.addSpoke(len(c.Nodes)); err != nil {
		return nil, err
	}
	if err := c.certify(ctx, name(len(c.Nodes))); err != nil {
		return nil, err
	}
	return c.addNode()
}

func certs(folder string) string { return filepath.Join(folder, "certs") }

func name(node int) string { return fmt.Sprintf("n%d", node+1) }

func data(folder string, node int) string { return filepath.Join(folder, name(node)) }

// Start starts all nodes and waits until each serves all ranges.
func (c *Cluster) Start(ctx context.Context) error {
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := child.AwaitURL(ctx, node.API+"/readyz", node.Process); err != nil {
			return err
		}
	}
	return nil
}

// Settled waits until each range is led by the replica that leads it when all is well: none
// is handed over then.
func (c *Cluster) Settled(ctx context.Context, within time.Duration) error {
	return child.Await(ctx, "every range to be led by its first replica", within, func() (bool, error) {
		status, err := c.Nodes[0].Status(ctx)
		if err != nil {
			return false, nil // not yet
		}
		for _, of := range status.Cluster.Ranges {
			if of.Leader != of.Replicas[0] {
				return false, nil
			}
		}
		return true, nil
	})
}

// Cut drops what one node sends to another from now on; what is under way between
// them stays. Heal ends that.
func (c *Cluster) Cut(from, to *Node) error { return c.network.set(from.Index, to.Index, true) }

// Heal lets pass what one node sends to another.
func (c *Cluster) Heal(from, to *Node) error { return c.network.set(from.Index, to.Index, false) }

// HealAll lets everything pass.
func (c *Cluster) HealAll() (err error) {
	for _, from := range c.Nodes {
		for _, to := range c.Nodes {
			err = errors.Join(err, c.Heal(from, to))
		}
	}
	return err
}

// Close kills what is left and takes the network away.
func (c *Cluster) Close() (err error) {
	for _, node := range c.Nodes {
		err = errors.Join(err, node.Close())
	}
	if c.network != nil {
		c.network.close()
	}
	return err
}

// Node is one process after the other on one data directory and one address.
type Node struct {
	*child.Process
	Name    string
	Index   int    // in [Cluster.Nodes]
	Address string // where it is seen to come from
	API     string // its base URL, without a slash at the end
	Data    string // the data directory
	network *network

	config   *Config
	founders int // that the node expects beside itself and with it; 0: it joins
}

// Run sets the program of the node's next processes, and the nodes by whose gossip they
// find the cluster; this one may be among them.
func (n *Node) Run(program string, others []*Node) {
	gossip := make([]string, len(others))
	for i, other := range others {
		gossip[i] = net.JoinHostPort(other.Address, gossipPort)
	}
	args := []string{"serve", "--name", n.Name, "--data", n.Data,
		"--listen", net.JoinHostPort(n.Address, apiPort), "--insecure-api", "--allow-private",
		"--cluster", net.JoinHostPort(n.Address, clusterPort), "--gossip", net.JoinHostPort(n.Address, gossipPort),
		"--join", strings.Join(gossip, ","), "--certs", certs(n.config.Folder)}
	if n.founders > 0 {
		args = append(args, "--bootstrap-expect", fmt.Sprint(n.founders))
	}
	n.Command(program, append(args, n.config.Args...)...)
}

// Wipe removes the data directory of a node that does not run: its next process is a fresh
// node under the old name, which joins and never founds.
func (n *Node) Wipe() error {
	n.founders = 0
	return os.RemoveAll(n.Data)
}

// Start begins a process in the node's namespace and does not wait until it serves.
func (n *Node) Start() error { return n.network.within(n.Index, n.Process.Start) }

// stopWithin bounds how long the threads of a process take to stop.
const stopWithin = 5 * time.Second

// Pause suspends the process with SIGSTOP: from then on it keeps its connections and
// answers nothing.
func (n *Node) Pause() error {
	if err := n.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for begun := time.Now(); !child.Stopped(n.PID()); time.Sleep(time.Millisecond) {
		if time.Since(begun) > stopWithin {
			return fmt.Errorf("%s runs on %s after SIGSTOP", n.Name, stopWithin)
		}
	}
	return nil
}

// Resume lets a suspended process go on.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) error {
	if err := n.Alive(); err != nil {
		return err
	}
	if err := syscall.Kill(n.PID(), s); err != nil {
		return fmt.Errorf("%s: %w", n.Name, os.NewSyscallError("kill", err))
	}
	return nil
}

// Listens reports whether the node takes connections of clients. It may be called by any
// goroutine.
func (n *Node) Listens() bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(n.Address, apiPort), time.Second)
	return err == nil && conn.Close() == nil
}

// Ready reports whether the node says that it serves all its ranges. It may be called
// by any goroutine.
func (n *Node) Ready(ctx context.Context) bool { return n.get(ctx, "/readyz", nil) == nil }

// Status returns what the node says of itself and the cluster. It may be called by any
// goroutine.
func (n *Node) Status(ctx context.Context) (status api.Status, err error) {
	err = n.get(ctx, "/v1/status", &status)
	return status, err
}

// Nodes returns the nodes of the cluster as this one knows it, by name. It may be called by
// any goroutine.
func (n *Node) Nodes(ctx context.Context) (nodes api.Nodes, err error) {
	err = n.get(ctx, "/v1/nodes", &nodes)
	return nodes, err
}

// askWithin bounds one question to a node.
const askWithin = 3 * time.Second

// get asks, and reads JSON into what is not nil.
func (n *Node) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.API+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", n.API, path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// ChannelIn returns a URL that begins with a prefix and whose channel is in a range.
func ChannelIn(r api.Range, prefix string) (url string, id channel.ID) {
	for n := 0; ; n++ {
		url = fmt.Sprintf("%s%d", prefix, n)
		if id = channel.IDOf(url); r.From <= id.Bucket() && id.Bucket() <= r.To {
			return url, id
		}
	}
}
