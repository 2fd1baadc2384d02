package sim

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// A hierarchy is the paper's decentralised system (sections 3.2 to 4): nodes of
// a prefix overlay, each of which solves for itself and decides, once a
// maintenance interval and one row of its routing table at a time, whom else to
// ask to poll the channels that it polls.
//
// A channel begins at level K, polled by its owner alone. Who polls at level i
// may bring in or send off its contacts in row i−1; these are at level i−1 then,
// and decide on their own about row i−2. Routing tables point one way: which of
// several nodes brings in a node x is said by x's own table, so that every
// node is brought in by exactly one.
type hierarchy struct {
	options  Options
	workload *workload
	demand   demand
	policy   honeycomb.Policy
	config   honeycomb.Config

	ring     *ring.Ring  // of who lives
	number   []int32     // of the members in the ring, by place
	top      int8        // level K
	rates    []float64   // nominal, by level: N/16^level, and 1 at the top
	children [][][]int32 // of a node and a row: who looks to it
	members  []*member
	changes  int // of who lives

	owner  []int32
	orphan []bool
	pull   []float64  // what a subscriber's wait of an interval weighs, in seconds
	wedges [][]poller // by channel: its pollers, past ones too
	period int        // maintenance intervals gone by
	events []event
}

// A member is a node, and what it knows.
type member struct {
	id     channel.ID
	dead   bool
	seen   int           // changes of who lives that it has acted on
	upkeep time.Duration // of its maintenance, within the interval
	owns   []int32       // channels
	polls  []held        // channels, owned or not
	view   view
	price  float64 // λ of its latest solve, seconds per poll
}

// held is a channel that a node polls, or has polled: its place among the
// channel's pollers, and the level that it has reached, so that a node need not
// look at each channel's pollers to see that there is nothing to do.
type held struct {
	channel, poller int32
	low             int8
}

// newHierarchy returns the system at time 0: owners poll.
func newHierarchy(o Options, w *workload, q demand, policy honeycomb.Policy) *hierarchy {
	h := &hierarchy{options: o, workload: w, demand: q, policy: policy,
		config: o.config(policy, honeycomb.Prefix(ring.Base)),
		ring:   ring.New(w.nodes), wedges: make([][]poller, o.Channels),
		owner: make([]int32, o.Channels), orphan: make([]bool, o.Channels), pull: make([]float64, o.Channels)}
	h.top = int8(h.ring.Top())
	h.rates = nominal(o.Nodes, int(h.top))
	for n := range h.ring.Len() {
		h.members = append(h.members, &member{id: h.ring.ID(n), upkeep: w.within(o.Maintenance, forUpkeep, uint64(n), 0)})
	}
	h.link()
	for c, id := range w.ids {
		owner := h.number[h.ring.Owner(id)]
		h.owner[c], h.orphan[c] = owner, h.ring.Orphan(id)
		h.pull[c] = h.options.Interval.Seconds() / 2 * factor(policy, o.Interval, w.updateInterval[c]) * w.tie(c)
		h.members[owner].owns = append(h.members[owner].owns, int32(c))
		from := q.first(c) + w.within(o.Interval, forPhase, uint64(c), uint64(owner))
		h.begin(c, poller{node: owner, base: h.top, low: h.top, from: from})
	}
	return h
}

// nominal returns the rates of levels 0 to top.
func nominal(nodes, top int) []float64 {
	rates := make([]float64, top+1)
	rate := float64(nodes)
	for level := range rates {
		rates[level] = rate
		rate /= ring.Base
	}
	rates[top] = 1
	return rates
}

// link makes the ring of who lives, and finds who looks to whom.
func (h *hierarchy) link() {
	var ids []channel.ID
	h.number = h.number[:0]
	for n, m := range h.members { // by rising ID, as the ring has them
		if !m.dead {
			ids = append(ids, m.id)
			h.number = append(h.number, int32(n))
		}
	}
	h.ring = ring.New(ids)
	rows := max(int(h.top)-1, 0)
	h.children = make([][][]int32, len(h.members))
	for n := range h.children {
		h.children[n] = make([][]int32, rows)
	}
	for place, n := range h.number {
		h.members[n].view.link(h.ring, place, h.number)
		for row := range min(rows, h.ring.Rows(place)) {
			for _, contact := range h.ring.Row(place, row) {
				if contact != ring.None {
					above := h.number[contact]
					h.children[above][row] = append(h.children[above][row], n)
				}
			}
		}
	}
}

// run lets every node do its maintenance, each at its own time, until
// the end or until a period's step says that it is enough.
func (h *hierarchy) run(step func() bool) {
	order := make([]int, len(h.members))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(h.members[a].upkeep - h.members[b].upkeep) })
	for ; h.period < h.options.rounds(); h.period++ {
		for _, n := range order {
			at := time.Duration(h.period)*h.options.Maintenance + h.members[n].upkeep
			h.events = happen(h.events, at)
			if at < h.options.horizon() && !h.members[n].dead {
				h.maintain(n, at)
			}
		}
		if !step() {
			return
		}
	}
}

// maintain is the paper's three phases at one node: it solves with what it knows,
// brings in and sends off, and hears from its contacts.
func (h *hierarchy) maintain(n int, at time.Duration) {
	m := h.members[n]
	m.view.aggregate(h.solve(m, at), h.members)
	kept := m.polls[:0]
	for _, entry := range m.polls {
		want := h.desired(int(entry.channel), m.price, at)
		if want != entry.low || m.seen < h.changes {
			p := &h.wedges[entry.channel][entry.poller]
			if p.until != never {
				continue
			}
			if m.seen < h.changes {
				h.refresh(int(entry.channel), *p, at)
			}
			entry.low = h.adjust(int(entry.channel), int(entry.poller), want, at)
		}
		kept = append(kept, entry)
	}
	m.polls, m.seen = kept, h.changes
}

// solve finds a node's multiplier, and returns what it tells of its own
// channels.
func (h *hierarchy) solve(m *member, at time.Duration) local.Summary {
	ch := h.ownChannels(m, at)
	others := local.Others{Part: 1, Summaries: []local.Summary{local.Merge(m.view.heard...)}}
	config := h.config
	if h.policy == honeycomb.Fast {
		config.Budget = h.ceiling(ch, others)
	}
	p, err := local.Prepare(config, ch, others, nil)
	if err != nil {
		panic(err) // the workload is ours, and checked
	}
	m.price = p.Solve().Lambda
	own := local.Summarise(p)
	own.Lambda = 0 // the paper's nodes do not tell their multipliers
	return own
}

func (h *hierarchy) ownChannels(m *member, at time.Duration) honeycomb.Channels {
	ch := honeycomb.Channels{
		Subscribers:    make([]float64, len(m.owns)),
		UpdateInterval: make([]float64, len(m.owns)),
		MaxRate:        make([]float64, len(m.owns)),
	}
	for i, c := range m.owns {
		ch.Subscribers[i] = h.demand.at(int(c), at)
		ch.UpdateInterval[i] = h.workload.updateInterval[c]
		if h.orphan[c] {
			ch.MaxRate[i] = 1
		}
	}
	return ch
}

// fastCeiling is what fast may spend, in polls per interval for each
// subscription: a third more than readers would alone. Where orphans alone wait
// so long that no other channel's level makes up for it, the target costs more
// than it is worth: of 1,024 nodes, with six of 256 wedges empty, 200 polls a
// channel for the last four seconds.
const fastCeiling = 4.0 / 3

// ceiling is the budget that fast may not pass, for all that a node knows of.
func (h *hierarchy) ceiling(own honeycomb.Channels, others local.Others) float64 {
	var known float64
	for _, q := range own.Subscribers {
		known += q
	}
	for _, s := range others.Summaries {
		known += s.Subscribers
	}
	return max(known, 1) * fastCeiling
}
