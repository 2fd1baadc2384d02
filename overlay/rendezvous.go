package overlay

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Pollers returns the first n nodes of a channel's rendezvous order, as indices
// into nodes: each channel ranks all nodes by a hash of both IDs. The order of
// nodes does not matter, and a node that leaves or joins changes the order of no others.
// Equal nodes must not occur.
func Pollers(id channel.ID, nodes []channel.ID, n int) []int {
	type candidate struct {
		score uint64
		node  int
	}
	n = min(max(n, 0), len(nodes))
	best := make([]candidate, 0, n+1)
	for i, node := range nodes {
		c := candidate{score(id, node), i}
		if len(best) == n && (n == 0 || c.score < best[n-1].score) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, c, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), nodes[a.node].Compare(nodes[b.node]))
		})
		best = slices.Insert(best, at, c)
		best = best[:min(len(best), n)]
	}
	wedge := make([]int, len(best))
	for rank, c := range best {
		wedge[rank] = c.node
	}
	return wedge
}

// score is how a channel ranks a node: from bits that neither buckets nor phases
// use, mixed so that each of them moves all (Steele, Lea and Flood's SplitMix64).
func score(id, node channel.ID) uint64 {
	x := binary.BigEndian.Uint64(id[4:]) + 0x9e3779b97f4a7c15*binary.BigEndian.Uint64(node[4:])
	for range 2 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// Reseat returns the pollers of now by rank, given those of before: a node that
// stays keeps its rank where that still exists, and free ranks go to the others in the
// order of now. So a change of one poller moves no other's slots.
func Reseat[N comparable](before, now []N) []N {
	seats := make([]N, len(now))
	taken := make([]bool, len(now))
	stays := make(map[N]bool, len(now))
	for _, node := range now {
		stays[node] = true
	}
	for rank, node := range before {
		if rank < len(now) && stays[node] {
			seats[rank], taken[rank] = node, true
			delete(stays, node)
		}
	}
	free := 0
	for _, node := range now {
		if !stays[node] {
			continue
		}
		for taken[free] {
			free++
		}
		seats[free], taken[free] = node, true
	}
	return seats
}
