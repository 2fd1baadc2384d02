//go:build linux

package cluster

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// network is a star: the harness's own namespace is the hub, and each node's namespace
// has one link to it. All that nodes send each other passes the hub, which drops it
// without a word where a link is cut: neither side is told.
type network struct {
	mu struct {
		sync.Mutex
		spokes []*os.File // namespaces of the nodes, alive while they are open
		cuts   map[cut]bool
	}
}

// cut is a direction in which the hub drops packets.
type cut struct{ from, to int }

// Host is the harness's address, which all nodes reach whatever is cut between them.
const Host = "10.77.0.1"

// Hosts is the network of further addresses of the harness, which all nodes reach.
var Hosts = netip.MustParsePrefix("10.78.0.0/16")

// address of a node.
func address(node int) string { return fmt.Sprintf("10.77.%d.2", node+1) }

// newNetwork makes the namespaces of so many nodes. The caller closes it.
func newNetwork(nodes int) (_ *network, err error) {
	n := new(network)
	n.mu.cuts = make(map[cut]bool)
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if err := run("ip", "link", "set", "lo", "up"); err != nil {
		return nil, err
	}
	if err := run("ip", "address", "replace", Host+"/32", "dev", "lo"); err != nil {
		return nil, err
	}
	if err := run("ip", "route", "replace", "local", Hosts.String(), "dev", "lo"); err != nil {
		return nil, err
	}
	for node := range nodes {
		if err := n.addSpoke(node); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// addSpoke makes a node's namespace and its link.
func (n *network) addSpoke(node int) error {
	spoke, err := newNamespace()
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.mu.spokes = append(n.mu.spokes, spoke)
	n.mu.Unlock()
	gateway := fmt.Sprintf("10.77.%d.1", node+1)
	for _, line := range []string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns /proc/self/fd/%d", link(node), spoke.Fd()),
		fmt.Sprintf("address add %s/30 dev %s", gateway, link(node)),
		fmt.Sprintf("link set %s up", link(node)),
	} {
		line = strings.ReplaceAll(line, "/proc/self/", fmt.Sprintf("/proc/%d/", os.Getpid()))
		if err := run("ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	return n.within(node, func() error {
		for _, line := range []string{
			"link set lo up", fmt.Sprintf("address add %s/30 dev eth0", address(node)),
			"link set eth0 up", "route add default via " + gateway,
		} {
			if err := run("ip", strings.Fields(line)...); err != nil {
				return err
			}
		}
		return nil
	})
}

func link(node int) string { return fmt.Sprintf("node%d", node) }

// newNamespace returns a network namespace, which lives until the file is closed and
// what was started in it has ended.
func newNamespace() (namespace *os.File, err error) {
	done := make(chan struct{})
	go func() { // its thread is in the new namespace and ends with it, since it is never unlocked
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			namespace, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		}
	}()
	<-done
	return namespace, err
}

// within runs a function in the namespace of a node: sockets that it opens and
// processes that it starts belong to the node's network. It must start no goroutine
// that does either.
func (n *network) within(node int, do func() error) error {
	n.mu.Lock()
	spoke := n.mu.spokes[node]
	n.mu.Unlock()
	done := make(chan error)
	go func() { // its thread is not used again, since it is never unlocked
		runtime.LockOSThread()
		err := unix.Setns(int(spoke.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// set cuts what one node sends to another, or heals it.
func (n *network) set(from, to int, broken bool) error {
	c := cut{from, to}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.cuts[c] == broken {
		return nil
	}
	verb := "add"
	if !broken {
		verb = "del"
	}
	err := run("ip", "rule", verb, "pref", "10", "iif", link(from), "to", address(to), "blackhole")
	if err == nil {
		n.mu.cuts[c] = broken
	}
	return err
}

// close takes the network away, as the end of this process would.
func (n *network) close() {
	for node, spoke := range n.mu.spokes {
		_ = run("ip", "link", "del", link(node)) // it may not have been made
		_ = spoke.Close()
	}
	for c, broken := range n.mu.cuts {
		if broken {
			_ = n.set(c.from, c.to, false)
		}
	}
}

// run runs a program that prints nothing unless it fails.
func run(program string, args ...string) error {
	command := exec.Command(program, args...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
