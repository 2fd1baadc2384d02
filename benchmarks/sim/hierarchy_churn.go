package sim

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// setAlive makes members live or die at once. As in the paper no node takes the
// place of a dead poller, since wedges are all nodes of a prefix; owners' states
// go to the closest who lives, and newcomers are brought in by their contacts'
// next maintenance.
func (h *hierarchy) setAlive(at time.Duration, dead func(member int) bool) {
	for n, m := range h.members {
		if m.dead = dead(n); m.dead {
			m.polls, m.owns = nil, nil
		}
	}
	h.link()
	h.changes++
	for c := range h.wedges {
		low := h.bury(c, at)
		h.orphan[c] = h.ring.Orphan(h.workload.ids[c])
		if owner := h.number[h.ring.Owner(h.workload.ids[c])]; owner != h.owner[c] || low != never8 {
			h.inherit(c, owner, low, at)
		}
	}
	for _, m := range h.members {
		m.owns = m.owns[:0]
	}
	for c, owner := range h.owner {
		h.members[owner].owns = append(h.members[owner].owns, int32(c))
	}
}

// never8 stands for a channel whose owner lives.
const never8 = int8(127)

// bury ends what dead members polled of a channel. It returns the level that the
// owner had reached when that is among them.
func (h *hierarchy) bury(c int, at time.Duration) (low int8) {
	low = never8
	for i := range h.wedges[c] {
		p := &h.wedges[c][i]
		if p.until == never && h.members[p.node].dead {
			p.until = at
			if p.base == h.top {
				low = p.low
			}
		}
	}
	return low
}

// inherit makes a member the owner, at the level that the last one had reached.
// One that polls already goes on as it does, and decides for both.
func (h *hierarchy) inherit(c int, owner int32, low int8, at time.Duration) {
	for i := range h.wedges[c] {
		if p := &h.wedges[c][i]; p.until == never && p.base == h.top {
			low, p.until = p.low, at // the owner lives, but another is closer now
		}
	}
	from := at
	if h.polls(c, owner) {
		from = never
	}
	if h.orphan[c] {
		low = h.top
	} else if ring.SharedDigits(h.members[owner].id, h.workload.ids[c]) < int(h.top)-1 {
		low = max(low, h.top-1) // of another prefix: see reaches
	}
	h.owner[c] = owner
	h.begin(c, poller{node: owner, base: h.top, low: low, from: from})
}

// polls says whether a member polls a channel.
func (h *hierarchy) polls(c int, node int32) bool {
	return slices.ContainsFunc(h.wedges[c], func(p poller) bool {
		return p.node == node && p.until == never && p.from != never
	})
}

// refresh brings in who has come to a poller's rows since it brought these in.
func (h *hierarchy) refresh(c int, p poller, at time.Duration) {
	for row := p.low; row < p.base; row++ {
		h.below(c, p, row, func(node int32) {
			if !h.polls(c, node) && !h.member(c, node, row) {
				h.start(c, node, row, at)
			}
		})
	}
}

// member says whether a node has been brought in to a channel at a level.
func (h *hierarchy) member(c int, node int32, level int8) bool {
	return slices.ContainsFunc(h.wedges[c], func(p poller) bool {
		return p.node == node && p.until == never && p.base == level
	})
}
