// Package grants divides a host's cap among the nodes that ask for parts of it: leases,
// by max-min fairness. A [Table] is kept by the leader of the range of the host's ID, a
// [Holder] by each node. It is pure: it takes values and the time, and returns values.
//
// What holds, whatever is lost, repeated, late or overtaken, and whichever node leads: the
// parts that nodes hold of one cap are [Pool] together at most. For that
//   - a node counts its lease from when it asked, the leader from when it answers, and by
//     [margin] longer, each on its own monotonic clock;
//   - a node heeds only the answer to the latest question about a host;
//   - a question says what the node holds, and the leader counts for the node the most of
//     that and of what it answers;
//   - a leader grants nothing until all nodes have told it what they hold, and heed no answer
//     to an earlier question; or until all leases of the leader before are over, if a node
//     does not tell. Until then it only keeps to be held what a node says that it holds,
//     and the node heeds that if it holds it still: then no other node has been granted it.
package grants

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

const (
	// Pool is what is granted of a cap.
	Pool = channel.WholeCap - channel.KeptBack

	// Lease is how long a grant lasts.
	Lease = 30 * time.Second

	// margin is by how much longer a leader counts a lease: clocks run differently, and a
	// node whose wall clock is set back notices the end of a lease late.
	margin = Lease / 15
)

// Ask is what a node wants of a host's cap, in millionths of it.
type Ask struct {
	Host  channel.ID `json:"host"`
	Need  int64      `json:"need"`  // 0: none any more
	Holds int64      `json:"holds"` // by its grant, if that has not ended
}

// Share is what a node may take of a host's cap for a lease, in millionths of it.
type Share struct {
	Host channel.ID `json:"host"`
	Part int64      `json:"part"`
}

// Table is what the leader of a range has granted in a term.
type Table struct {
	opens   time.Time
	untold  map[string]bool                 // nodes that have not told what they hold
	hosts   map[channel.ID]map[string]entry // by node
	crowded int                             // so many hosts are worth a look for those without grants
}

// entry is what a node may hold of a cap, and what it asked for.
type entry struct {
	part, need int64
	until      time.Time
	number     uint64 // of the question
}

const fewHosts = 1000

// NewTable returns the table of a leader whose term has begun in a cluster of some nodes.
func NewTable(nodes []string, now time.Time) *Table {
	t := &Table{
		opens: now.Add(Lease + margin), untold: make(map[string]bool), hosts: make(map[channel.ID]map[string]entry), crowded: fewHosts,
	}
	for _, node := range nodes {
		t.untold[node] = true
	}
	return t
}

// Told accepts what a node holds, as its [Holder.Tell] has returned it in this term. The
// table grants once all nodes have told.
func (t *Table) Told(node string, number uint64, held []Share, now time.Time) {
	if !t.untold[node] {
		return
	}
	delete(t.untold, node)
	for _, s := range held {
		nodes := t.nodesOf(s.Host)
		before := nodes[node]
		nodes[node] = entry{
			part: max(s.Part, before.part), need: max(s.Part, before.need), until: now.Add(Lease + margin), number: max(number, before.number),
		}
	}
	if len(t.untold) == 0 && now.Before(t.opens) {
		t.opens = now
	}
}

// Opens returns from when on the table grants, as far as is known.
func (t *Table) Opens() time.Time { return t.opens }

// Answer returns what a node gets. A host is missing about which the node has asked
// again meanwhile. Kept says that leases of an earlier term may last, and that shares are what
// the node holds; one is missing of which it holds nothing.
func (t *Table) Answer(node string, number uint64, asks []Ask, now time.Time) (shares []Share, kept bool) {
	kept = now.Before(t.opens)
	t.sweep(now)
	for _, ask := range asks {
		part, current := t.grant(node, number, ask, kept, now)
		if current && (part > 0 || !kept) {
			shares = append(shares, Share{ask.Host, part})
		}
	}
	return shares, kept
}

func (t *Table) grant(node string, number uint64, ask Ask, keep bool, now time.Time) (part int64, current bool) {
	nodes := t.nodesOf(ask.Host)
	forget(nodes, now)
	before := nodes[node]
	if number <= before.number {
		return 0, false
	}
	if keep {
		nodes[node] = entry{part: max(ask.Holds, before.part), need: ask.Need, until: now.Add(Lease + margin), number: number}
		return ask.Holds, true
	}
	delete(nodes, node)
	free, needs := int64(Pool), make([]int64, 0, len(nodes))
	for _, other := range nodes {
		free -= other.part
		needs = append(needs, other.need)
	}
	if ask.Need > 0 {
		part = max(min(fair(ask.Need, needs), free), 0)
	}
	counted := max(part, min(ask.Holds, before.part))
	if planted.Bug(18) {
		counted = part
	}
	nodes[node] = entry{part: counted, need: ask.Need, until: now.Add(Lease + margin), number: number}
	return part, true
}

func (t *Table) nodesOf(host channel.ID) map[string]entry {
	nodes := t.hosts[host]
	if nodes == nil {
		nodes = make(map[string]entry)
		t.hosts[host] = nodes
	}
	return nodes
}

// fair returns a node's part of the pool beside others: where there is enough, its need
// and half of what is left, divided by nodes; the other half waits for the next node that
// asks. Where there is not, its need or what all get that need more.
func fair(need int64, others []int64) int64 {
	all := append(others, need)
	slices.Sort(all)
	left := int64(Pool)
	for i, one := range all {
		level := left / int64(len(all)-i)
		if one > level {
			return min(need, level)
		}
		left -= one
	}
	return need + left/2/int64(len(all))
}

// forget takes grants out that are over.
func forget(nodes map[string]entry, now time.Time) {
	for node, e := range nodes {
		if !now.Before(e.until) {
			delete(nodes, node)
		}
	}
}

// sweep forgets hosts without grants once the hosts are twice as many as had some the
// last time.
func (t *Table) sweep(now time.Time) {
	if len(t.hosts) < t.crowded {
		return
	}
	for host, nodes := range t.hosts {
		if forget(nodes, now); len(nodes) == 0 {
			delete(t.hosts, host)
		}
	}
	t.crowded = max(2*len(t.hosts), fewHosts)
}
