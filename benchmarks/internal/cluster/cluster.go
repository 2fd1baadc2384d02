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
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
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

// Cluster is nodes that found a cluster together. Its methods are called by one
// goroutine, but for those that say otherwise.
type Cluster struct {
	Nodes   []*Node
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
	c := new(Cluster)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.network, err = newNetwork(config.Nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	certs := filepath.Join(config.Folder, "certs")
	args, gossip := []string{"certs", "--dir", certs}, make([]string, config.Nodes)
	for i := range gossip {
		args, gossip[i] = append(args, name(i)), net.JoinHostPort(address(i), gossipPort)
	}
	if out, err := exec.CommandContext(ctx, config.Program, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("corona certs: %w: %s", err, out)
	}
	for i := range config.Nodes {
		args := append([]string{"serve", "--name", name(i), "--data", data(config.Folder, i),
			"--listen", net.JoinHostPort(address(i), apiPort), "--insecure-api", "--allow-private",
			"--cluster", net.JoinHostPort(address(i), clusterPort), "--gossip", gossip[i], "--join", strings.Join(gossip, ","),
			"--bootstrap-expect", fmt.Sprint(config.Nodes), "--certs", certs}, config.Args...)
		process, err := child.New(filepath.Join(config.Folder, name(i)+".log"), config.Program, args...)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, &Node{
			Process: process, Name: name(i), Index: i, Data: data(config.Folder, i), Address: address(i),
			API: "http://" + net.JoinHostPort(address(i), apiPort), network: c.network,
		})
	}
	return c, nil
}

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
	for begun := time.Now(); !diskfault.Stopped(n.PID()); time.Sleep(time.Millisecond) {
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

// Ready reports whether the node says that it serves all its ranges. It may be called
// by any goroutine.
func (n *Node) Ready(ctx context.Context) bool { return n.get(ctx, "/readyz", nil) == nil }

// Status returns what the node says of itself and the cluster. It may be called by any
// goroutine.
func (n *Node) Status(ctx context.Context) (status api.Status, err error) {
	err = n.get(ctx, "/v1/status", &status)
	return status, err
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
