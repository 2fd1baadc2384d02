package sim

import (
	"time"

	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// desired returns the level that a channel should have at a multiplier: as low
// as each step down is worth its polls.
func (h *hierarchy) desired(c int, price float64, at time.Duration) int8 {
	worth := h.demand.at(c, at) * h.pull[c]
	level := h.top
	if worth == 0 || h.orphan[c] {
		return level
	}
	for level > 0 && worth >= price*h.rates[level]*h.rates[level-1] {
		level--
	}
	return level
}

// adjust moves a poller's part of a channel's wedge one row towards the level
// that it wants, and returns the level that it has then.
func (h *hierarchy) adjust(c, index int, want int8, at time.Duration) int8 {
	p := h.wedges[c][index]
	switch {
	case want < p.low && h.reaches(c, p):
		h.bringIn(c, p, p.low-1, at)
		h.wedges[c][index].low--
	case want > p.low && p.low < p.base:
		h.sendOff(c, p, p.low, at)
		h.wedges[c][index].low++
	}
	return h.wedges[c][index].low
}

// reaches says whether a poller's table leads on: an owner that is numerically
// closest but of another prefix has brought in those of the channel's, and they
// go on alone.
func (h *hierarchy) reaches(c int, p poller) bool {
	return p.low == h.top || ring.SharedDigits(h.members[p.node].id, h.workload.ids[c]) >= int(p.low)
}

// below visits the nodes that a poller brings in for a row.
func (h *hierarchy) below(c int, p poller, row int8, visit func(node int32)) {
	if row < h.top-1 {
		for _, node := range h.children[p.node][row] {
			visit(node)
		}
		return
	}
	from, to := h.ring.Wedge(h.workload.ids[c], int(row))
	for _, node := range h.number[from:to] {
		if node != p.node {
			visit(node)
		}
	}
}

// bringIn lets nodes of a row begin, each within an interval.
func (h *hierarchy) bringIn(c int, p poller, row int8, at time.Duration) {
	h.below(c, p, row, func(node int32) { h.start(c, node, row, at) })
}

func (h *hierarchy) start(c int, node int32, row int8, at time.Duration) {
	draw := uint64(h.period)<<32 | uint64(node)
	from := at + h.workload.within(h.options.Interval, forPhase, uint64(c), draw)
	if node == h.owner[c] {
		from = never // it polls already, as the owner
	}
	h.begin(c, poller{node: node, base: row, low: row, from: from})
}

// begin adds a poller, until stop ends it.
func (h *hierarchy) begin(c int, p poller) {
	p.until = never
	m := h.members[p.node]
	m.polls = append(m.polls, held{int32(c), int32(len(h.wedges[c])), p.low})
	h.wedges[c] = append(h.wedges[c], p)
}

// sendOff stops nodes of a row, and whom these have brought in.
func (h *hierarchy) sendOff(c int, p poller, row int8, at time.Duration) {
	h.below(c, p, row, func(node int32) {
		for i := range h.wedges[c] {
			child := &h.wedges[c][i]
			if child.node != node || child.until != never || child.base != row {
				continue
			}
			child.until = at
			for below := child.low; below < child.base; below++ {
				h.sendOff(c, *child, below, at)
			}
		}
	})
}

// polling returns how a channel was polled.
func (h *hierarchy) polling(c int) polling {
	return wedge{h.wedges[c], h.options.Interval}
}

// width returns how many polls an interval a channel's pollers stand for at the
// end: the nominal width of its level; between two levels, in proportion to the
// nodes that have been brought in.
func (h *hierarchy) width(c int) float64 {
	in := make([]int, h.top+1)
	lowest := h.top
	for _, p := range h.wedges[c] {
		if p.until == never {
			in[p.base]++
			lowest = min(lowest, p.low)
		}
	}
	if lowest == h.top {
		return 1
	}
	width := h.rates[h.top-1]
	for level := int(h.top) - 2; level >= 0; level-- {
		width += float64(in[level]) / float64(max(h.outside(c, level), 1)) * (h.rates[level] - h.rates[level+1])
	}
	return width
}

// outside returns how many nodes a wedge has beyond the next smaller one.
func (h *hierarchy) outside(c, level int) int {
	from, to := h.ring.Wedge(h.workload.ids[c], level)
	inner, outer := h.ring.Wedge(h.workload.ids[c], level+1)
	return to - from - (outer - inner)
}
