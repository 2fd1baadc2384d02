// Package memnet is a network in memory, for tests of several nodes in one process. Its
// connections behave as TCP's do where it matters to what uses them: bytes arrive in
// order or not at all, a writer waits once a window of bytes is not acknowledged, and a
// direction that is cut holds bytes back until it is healed, so that neither end learns
// of the cut but by its own patience.
//
// Each node has a [Host], which dials and listens. Faults are switched on the [Network]
// while it runs: cuts of one direction, partitions, resets, slow links. Latencies have
// jitter from a seed. All waiting is on channels and timers, and there are no goroutines,
// so that a network works inside a bubble of testing/synctest, if it was made there.
package memnet

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Link is how bytes travel in one direction between two hosts. The zero value delivers
// at once.
type Link struct {
	Latency   time.Duration
	Jitter    time.Duration // up to as much more, at random; order is kept
	Bandwidth int           // bytes per second, of all connections together; 0: no limit
}

// Network connects hosts. Its methods may be called from any goroutine.
type Network struct {
	seed uint64

	faults sync.Mutex // held while a fault is switched, so that one follows another

	mu struct { // taken before a link's and a flow's locks, never while one is held
		sync.Mutex
		usual Link
		hosts map[string]*Host
		links map[pair]*link
		conns map[*conn]bool // both ends
		made  uint64         // connections so far
	}
}

// pair is a direction.
type pair struct{ from, to string }

// New returns a network without hosts. The same seed draws the same jitter for each
// connection, in the order in which they are made.
func New(seed uint64) *Network {
	n := &Network{seed: seed}
	n.mu.hosts, n.mu.links, n.mu.conns = make(map[string]*Host), make(map[pair]*link), make(map[*conn]bool)
	return n
}

// Host returns the host of a name, which comes to be by that.
func (n *Network) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.mu.hosts[name]
	if h == nil {
		h = &Host{network: n, name: name}
		h.mu.listeners = make(map[int]*listener)
		n.mu.hosts[name] = h
	}
	return h
}

// link returns the link of a direction. Locked.
func (n *Network) link(p pair) *link {
	l := n.mu.links[p]
	if l == nil {
		l = newLink(n.mu.usual)
		n.mu.links[p] = l
	}
	return l
}

// both returns the links from one host to another and back.
func (n *Network) both(from, to string) (there, back *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.link(pair{from, to}), n.link(pair{to, from})
}

// SetLinks sets how bytes travel between all hosts, but within none: those that there
// are and those to come.
func (n *Network) SetLinks(usual Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.usual = usual
	for p, l := range n.mu.links {
		if p.from != p.to {
			l.set(usual)
		}
	}
}

// SetLink sets how bytes travel from one host to another. What is under way already
// arrives as it would have.
func (n *Network) SetLink(from, to string, as Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(pair{from, to}).set(as)
}

// Restore makes bytes travel from one host to another as between all hosts again.
func (n *Network) Restore(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(pair{from, to}).set(n.mu.usual)
}

// Cut holds back from now on what one host sends to another: bytes, their
// acknowledgements and attempts to connect. Nothing is lost.
func (n *Network) Cut(from, to string) { n.cut(pair{from, to}, true) }

// Heal ends a cut of one direction. What was held back arrives a latency later.
func (n *Network) Heal(from, to string) { n.cut(pair{from, to}, false) }

func (n *Network) cut(p pair, cut bool) {
	n.faults.Lock()
	defer n.faults.Unlock()
	n.mu.Lock()
	l := n.link(p)
	n.mu.Unlock()
	l.cut(cut)
	for _, c := range n.between(func(from, to string) bool { return from == p.from && to == p.to }) {
		if cut {
			c.out.hold()
		} else {
			c.out.release()
			c.in.acknowledge()
		}
	}
}

// between returns the ends of connections of which the local and the remote host match.
func (n *Network) between(match func(local, remote string) bool) (found []*conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.mu.conns {
		if match(c.local.host, c.remote.host) {
			found = append(found, c)
		}
	}
	return found
}

// Partition cuts both directions between hosts of different sides. Other pairs of hosts
// stay as they are.
func (n *Network) Partition(sides ...[]string) { n.across(sides, n.Cut) }

// Join heals what [Network.Partition] of the same sides has cut.
func (n *Network) Join(sides ...[]string) { n.across(sides, n.Heal) }

func (n *Network) across(sides [][]string, do func(from, to string)) {
	for i, side := range sides {
		for j, other := range sides {
			if i == j {
				continue
			}
			for _, from := range side {
				for _, to := range other {
					do(from, to)
				}
			}
		}
	}
}

// HealAll ends all cuts.
func (n *Network) HealAll() {
	n.mu.Lock()
	all := make([]pair, 0, len(n.mu.links))
	for p := range n.mu.links {
		all = append(all, p)
	}
	n.mu.Unlock()
	slices.SortFunc(all, func(a, b pair) int { return slices.Compare([]string{a.from, a.to}, []string{b.from, b.to}) })
	for _, p := range all {
		n.cut(p, false)
	}
}

// Reset resets the connections between two hosts, also across cuts, and returns how many
// there were. What is unread is lost, at both ends.
func (n *Network) Reset(a, b string) int {
	return n.reset(func(local, remote string) bool { return local == a && remote == b || local == b && remote == a })
}

// ResetHost resets all connections of a host, as the end of its process would.
func (n *Network) ResetHost(name string) int {
	return n.reset(func(local, remote string) bool { return local == name || remote == name })
}

func (n *Network) reset(match func(local, remote string) bool) (ends int) {
	n.faults.Lock()
	defer n.faults.Unlock()
	for _, c := range n.between(match) {
		c.in.reset()
		c.out.reset()
		ends++
	}
	return ends / 2
}

// Close ends all listeners and resets all connections.
func (n *Network) Close() {
	n.mu.Lock()
	hosts := make([]*Host, 0, len(n.mu.hosts))
	for _, h := range n.mu.hosts {
		hosts = append(hosts, h)
	}
	n.mu.Unlock()
	for _, h := range hosts {
		h.closeListeners()
	}
	n.reset(func(string, string) bool { return true })
}

// Addr is the address of one end: a host and a port.
type Addr struct {
	host string
	port int
}

// Network implements [net.Addr].
func (Addr) Network() string { return "mem" }

func (a Addr) String() string { return fmt.Sprintf("%s:%s", a.host, strconv.Itoa(a.port)) }
