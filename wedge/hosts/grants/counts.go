package grants

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Counts is how many channels of hosts nodes own, as they tell the leader of the hosts'
// range in a term: what owners plan with depends on it, and no cap does.
type Counts struct {
	opens   time.Time
	hosts   map[channel.ID]map[string]count // by node
	crowded int                             // so many hosts are worth a look for those without an owner
}

type count struct {
	channels int64
	until    time.Time
}

// NewCounts returns the counts of a leader whose term has begun. It answers after
// [Counts.Open], or once all nodes have had time to tell theirs.
func NewCounts(now time.Time) *Counts {
	return &Counts{opens: now.Add(Lease), hosts: make(map[channel.ID]map[string]count), crowded: fewHosts}
}

// Open says that all nodes have told theirs.
func (c *Counts) Open(now time.Time) {
	if now.Before(c.opens) {
		c.opens = now
	}
}

// Tell notes how many channels a node owns of hosts, for a lease, and returns how many all
// nodes do.
func (c *Counts) Tell(node string, owned []channel.Led, now time.Time) (all []channel.Led) {
	c.sweep(now)
	for _, one := range owned {
		nodes := c.hosts[one.Host]
		if nodes == nil {
			nodes = make(map[string]count)
			c.hosts[one.Host] = nodes
		}
		nodes[node] = count{one.Channels, now.Add(Lease)} // none for none, until it is swept
		if sum := sumOf(nodes, now); !now.Before(c.opens) {
			all = append(all, channel.Led{Host: one.Host, Channels: sum})
		}
	}
	return all
}

// sumOf forgets what nodes have not told again.
func sumOf(nodes map[string]count, now time.Time) (sum int64) {
	for node, n := range nodes {
		if !now.Before(n.until) {
			delete(nodes, node)
			continue
		}
		sum += n.channels
	}
	return sum
}

// sweep forgets hosts as [Table] does.
func (c *Counts) sweep(now time.Time) {
	if len(c.hosts) < c.crowded {
		return
	}
	for host, nodes := range c.hosts {
		if sumOf(nodes, now) == 0 {
			delete(c.hosts, host)
		}
	}
	c.crowded = max(2*len(c.hosts), fewHosts)
}
