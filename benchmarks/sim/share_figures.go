package sim

import (
	"unsafe"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/primary"
)

const (
	replicasOf = 3    // nodes that keep a range
	renewEvery = 20.0 // seconds between two renewals of leases
)

// tally makes the figures of one size.
type tally struct {
	*share
	cost            *costs.File
	idle            idleCosts
	change          changeCosts
	nodes, owned    float64
	others          float64 // nodes
	replicas        float64
	polled          float64 // channels that a node polls, on average
	replicated      float64 // channels of its replicas
	seconds, upkeep float64 // of τ, between two maintenances
	figures         []ScaleFigure
}

func (sh *share) figures(c *costs.File) []ScaleFigure {
	nodes := float64(sh.options.Nodes)
	t := &tally{share: sh, cost: c, idle: fitIdle(c.Idle), change: fitChange(c.Changes), nodes: nodes, others: nodes - 1,
		owned: float64(len(sh.own)), seconds: sh.config.Interval.Seconds(), upkeep: sh.options.Maintenance.Seconds()}
	kept := min(replicasOf, nodes)
	t.replicas, t.replicated = float64(sh.ranges)*kept/nodes, float64(sh.channels)*kept/nodes
	// All nodes own as many channels as the sampled one, up to chance, and each gives all nodes seats.
	t.polled = sh.sums.width * t.part()
	t.holds()
	t.polls()
	t.sends()
	t.computes()
	return t.figures
}

// put adds a figure, and returns its value.
func (t *tally) put(goes, name, unit string, value float64, why string) float64 {
	t.figures = append(t.figures, ScaleFigure{Name: name, Unit: unit, PerNode: []float64{value}, Goes: goes, Why: why})
	return value
}

func (t *tally) measured(name string) float64 { return t.cost.Figures[name].Value }

const megabyte = 1e6

func (t *tally) holds() {
	t.put(withShare, "ranges led", "ranges", float64(len(t.led)), "the sampled node: its part of the ranges, rounded up")
	t.put(withShare, "replicas", "ranges", t.replicas, "three of each range")
	t.put(withShare, "channels owned", "channels", t.owned, "counted: those of the ranges that the sampled node leads")
	t.put(withShare, "channels replicated", "channels", t.replicated, "three replicas of each")
	t.put(withShare, "channels polled", "channels", t.polled, "seats that rates and floor need, divided evenly")
	t.put(withShare, "contents on disk", "MB", t.polled*t.measured(costs.ContentDisk)/megabyte, costs.ContentDisk+" × channels polled")
	collector := t.measured(costs.Collector) / megabyte
	own := t.put(withShare, "memory: plan and factors of own channels", "MB", t.owned*t.measured(costs.OwnerHeap)*collector, costs.OwnerHeap+" × channels owned × "+costs.Collector)
	own += t.put(withShare, "memory: which nodes poll own channels", "MB", t.sums.width*t.measured(costs.Seat)*collector, costs.Seat+" × seats of own channels × "+costs.Collector)
	own += t.put(withShare, "memory: replicas' channels", "MB", t.replicated*t.measured(costs.ReplicaHeap)*collector, costs.ReplicaHeap+" × channels replicated × "+costs.Collector)
	own += t.put(withShare, "memory: channels polled", "MB", t.polled*t.measured(costs.PollerHeap)*collector, costs.PollerHeap+" × channels polled × "+costs.Collector)
	own += t.put(withShare, "memory: the program, its stores, replicas", "MB", (t.measured(costs.Fixed)+t.idle.resident.of(t.replicas, 0))/megabyte, costs.Fixed+", and of idle nodes what does not go with the others")
	others := t.put(withNodes, "memory: other nodes", "MB", t.idle.resident.peer*t.others/megabyte, "idle nodes: what goes with the number of others: connections, gossip")
	others += t.put(withNodes, "memory: other ranges' tradeoffs", "MB", t.tradeoffs()/megabyte, "16 clusters a range, and 32 stand-ins a cluster while a plan is made")
	t.put(withNodes, "memory", "MB", own+others, "all of it")
}

// tradeoffs is bytes of what a node keeps of other nodes' ranges, and of what it makes of that to solve.
func (t *tally) tradeoffs() float64 {
	const kept = float64(unsafe.Sizeof(local.Told{}) + local.Bins*unsafe.Sizeof(local.Cluster{}))
	const column = 8 // bytes, of which a stand-in has three
	return float64(t.ranges-len(t.led))*kept + float64(t.standIns)*3*column
}

// part is how much of what the own channels give all nodes one node gets from all owners.
func (t *tally) part() float64 { return float64(t.channels) / t.owned / t.nodes }

func (t *tally) polls() {
	t.put(withShare, "polls", "1/s", t.sums.load*t.part()/t.seconds, "rates of the plan")
	most := 0.0
	for _, s := range t.seats {
		most = max(most, s.polls)
	}
	t.put(withShare, "polls of the busiest", "of the mean", most*t.nodes/t.sums.load, "seats by rendezvous hashing, of the own channels")
}

func (t *tally) sends() {
	away := t.others / t.nodes // of what goes to any node
	t.put(withShare, "changes found", "1/s", t.sums.changes, "update intervals of the workload, seen at the rates of the plan")
	t.put(withShare, "orders, where rates move", "1/s", t.owned*t.measured(costs.Order)/t.upkeep, costs.Order+" × channels owned a maintenance interval")
	t.put(withShare, "orders at a beginning", "orders", t.sums.width, "each seat of own channels, once after a start or a failover")
	t.put(withShare, "bytes at a beginning", "MB", t.sums.orders*away/megabyte, "these orders, encoded")
	sent := t.put(withShare, "bytes of orders", "B/s", t.owned*t.measured(costs.Order)/t.upkeep*t.sums.paces/t.sums.width*away, "those where rates move, encoded")
	sent += t.put(withShare, "bytes of reports", "B/s", t.sums.changes*away*t.measured(costs.Report), costs.Report+" × changes found")
	sent += t.put(withShare, "bytes of news", "B/s", t.sums.told*away*t.measured(costs.News), costs.News+" × changes of own channels × other pollers of each")
	sent += t.put(withShare, "bytes of notes", "B/s", t.sums.load*t.part()/t.seconds*away*t.measured(costs.Note), costs.Note+" × polls")
	sent += t.put(withShare, "bytes of heartbeats", "B/s", t.idle.sent.of(t.replicas, 0), "idle nodes: what does not go with the others")
	nodes := t.put(withNodes, "bytes of gossip and pings", "B/s", t.idle.sent.peer*t.others, "idle nodes: what goes with the number of others")
	nodes += t.put(withNodes, "bytes of leases", "B/s", float64(len(t.led))*t.others/renewEvery*t.measured(costs.Lease), costs.Lease+" × ranges led × other nodes, each 20 s")
	told := 2 * float64(primary.TradeoffBytes(t.told)) // to each other node, and in answer to each
	nodes += t.put(withNodes, "bytes of tradeoffs", "B/s", told*t.others/t.upkeep, "tradeoffs of the ranges led, encoded, told each other node and in answer each maintenance interval")
	t.put(withNodes, "bytes between nodes", "B/s", sent+nodes, "all of them")
}

func (t *tally) computes() {
	hops := t.others / t.nodes * (t.sums.changes + t.sums.told)
	own := t.put(withShare, "processor: polls", "cores", t.sums.load*t.part()/t.seconds*t.measured(costs.Poll), costs.Poll+" × polls")
	own += t.put(withShare, "processor: changes", "cores", t.change.base*t.sums.changes+t.change.hop*hops, "changes × what one takes all nodes of a live run, the streams of updates of each and the run's own looks at the plan included, and messages about them")
	own += t.put(withShare, "processor: plan of own channels", "cores", t.owned*t.measured(costs.Row)/t.upkeep, costs.Row+" × channels owned, each maintenance interval")
	own += t.put(withShare, "processor: heartbeats", "cores", t.idle.processor.of(t.replicas, 0), "idle nodes: what does not go with the others")
	nodes := t.put(withNodes, "processor: other ranges in the plan", "cores", float64(t.standIns)*t.measured(costs.Row)/t.upkeep, costs.Row+" × stand-ins of other ranges' clusters")
	nodes += t.put(withNodes, "processor: gossip and pings", "cores", t.idle.processor.peer*t.others, "idle nodes: what goes with the number of others")
	t.put(withNodes, "processor", "cores", own+nodes, "all of it")
}
