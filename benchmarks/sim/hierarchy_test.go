package sim

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func goOn() bool { return true }

// What holds of the paper's system at any time: no node polls a channel twice, each
// poller but the owner was brought in by one that still polls and has gone that far,
// orphans have their owner alone.
func TestHierarchyIsConsistent(t *testing.T) {
	o := small()
	o.Channels, o.Subscriptions, o.Nodes = 500, 25_000, 300
	for _, policy := range []honeycomb.Policy{honeycomb.Lite, honeycomb.Fair} {
		w := newWorkload(o)
		h := newHierarchy(o, w, steady{w, o.Interval}, policy)
		orphans := 0
		h.run(func() bool {
			for c := range w.ids {
				checkWedge(t, h, c)
				if h.orphan[c] {
					orphans++
				}
			}
			return true
		})
		if orphans == 0 {
			t.Error("no orphans: nothing was checked of them")
		}
	}
}

func checkWedge(t *testing.T, h *hierarchy, c int) {
	t.Helper()
	active := map[int32]poller{}
	var members []poller // of the channel's tree: an owner may be brought in, too
	for _, p := range h.wedges[c] {
		if p.until == never {
			members = append(members, p)
		}
		if p.until != never || p.from == never {
			continue
		}
		if _, twice := active[p.node]; twice {
			t.Fatalf("channel %d: node %d polls twice", c, p.node)
		}
		active[p.node] = p
	}
	if h.orphan[c] && len(active) != 1 {
		t.Fatalf("orphan %d has %d pollers", c, len(active))
	}
	brought := map[poller]bool{}
	for _, parent := range members {
		for row := parent.low; row < parent.base; row++ {
			h.below(c, parent, row, func(child int32) { brought[poller{node: child, base: row}] = true })
		}
	}
	for node, p := range active {
		first := node == h.owner[c] && p.base == h.top
		if !first && !brought[poller{node: node, base: p.base}] {
			t.Fatalf("channel %d: no poller has brought in node %d at level %d", c, node, p.base)
		}
	}
}

// One row at a time: in one maintenance a poller brings in or sends off one row
// at most.
func TestOneRowAtATime(t *testing.T) {
	o := small()
	o.Channels, o.Subscriptions, o.Nodes = 500, 25_000, 300
	w := newWorkload(o)
	h := newHierarchy(o, w, steady{w, o.Interval}, honeycomb.Lite)
	before := make([][]int8, o.Channels) // levels that pollers had reached
	moves := 0
	h.run(func() bool {
		for c := range w.ids {
			for i, p := range h.wedges[c] {
				was := p.base
				if i < len(before[c]) {
					was = before[c][i]
				} else {
					before[c] = append(before[c], p.low)
				}
				if d := was - p.low; d > 1 || d < -1 {
					t.Fatalf("channel %d: node %d went from level %d to %d at once", c, p.node, was, p.low)
				} else if d != 0 {
					moves++
				}
				before[c][i] = p.low
			}
		}
		return true
	})
	if moves < o.Channels {
		t.Errorf("only %d moves", moves)
	}
}

// With what its contacts tell it, every node ends near the multiplier of the
// central solve, and all together near the budget.
func TestHierarchyConverges(t *testing.T) {
	o := small()
	o.Channels, o.Subscriptions, o.Nodes = 5000, 250_000, 256
	w := newWorkload(o)
	h := newHierarchy(o, w, steady{w, o.Interval}, honeycomb.Lite)
	h.run(goOn)
	rates := make([]float64, o.Channels)
	fill(rates, h.width)
	detection, _, load := w.planned(o.Interval, rates)
	central := w.model(o, honeycomb.Lite, w.orphansRate(h.ring))
	within(t, "load", load, central.load, 0.05)
	within(t, "detection", detection, central.detection, 0.1)
	known := h.members[0].view.regions[0]
	if known.Subscribers != float64(o.Subscriptions) {
		t.Errorf("a node knows of %v subscriptions, there are %d", known.Subscribers, o.Subscriptions)
	}
}

// Readers wait half an interval, however many, and poll once an interval each.
func TestLegacy(t *testing.T) {
	o := DeploymentOptions()
	o.Channels, o.Subscriptions = 300, 6000
	w := newWorkload(o)
	for name, q := range map[string]demand{"from the start": steady{w, o.Interval}, "one by one": w.ramp(Arriving)} {
		m := measure(o, w, q, legacy(o, q))
		for i := len(m.Series) - 4; i < len(m.Series); i += 2 { // two strata are an interval
			within(t, name+": load", m.Series[i].Load+m.Series[i+1].Load, 2*20, 0.0001)
			within(t, name+": wait", m.Series[i].Detection, 900, 0.05)
		}
		if m.Missed > 0 {
			t.Errorf("%s: %d missed", name, m.Missed)
		}
	}
}
