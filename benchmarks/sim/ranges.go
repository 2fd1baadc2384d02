package sim

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// ranges are this project's system: owners of parts of the ID space, each of
// which solves for its own channels, exactly, and for all others by their
// summaries; rates are any whole number, and pollers take turns.
type ranges struct {
	options  Options
	workload *workload
	demand   demand
	config   honeycomb.Config

	owners    []*owner
	timelines []timeline
	rates     []overlay.Rate
	intervals []float64                             // update intervals as owners know them, seconds
	learn     func(c int, at time.Duration) float64 // nil: they know them
	events    []event
}

// An owner is one range's.
type owner struct {
	upkeep    time.Duration // of its maintenance, within the interval
	channels  []int32
	board     *local.Board
	corrector local.Corrector
}

// rangeCount is how many ranges a cluster is born with.
const rangeCount = 16

// newRanges returns the system at time 0: every channel is to be polled once an
// interval from its first subscriber on.
func newRanges(o Options, w *workload, q demand, config honeycomb.Config) *ranges {
	r := &ranges{options: o, workload: w, demand: q, config: config,
		timelines: make([]timeline, o.Channels), rates: make([]overlay.Rate, o.Channels), intervals: w.updateInterval}
	for n := range rangeCount {
		r.owners = append(r.owners, &owner{upkeep: w.within(o.Maintenance, forUpkeep, uint64(n), 0), board: local.NewBoard(o.Maintenance)})
	}
	for c, id := range w.ids {
		own := r.owners[int(id.Bucket())*rangeCount/channel.Buckets]
		own.channels = append(own.channels, int32(c))
		r.timelines[c].floor = config.Floor
		r.set(c, q.first(c), overlay.Rate{Polls: 1, Intervals: 1})
	}
	return r
}

func (r *ranges) set(c int, at time.Duration, rate overlay.Rate) {
	if r.rates[c] == rate {
		return
	}
	r.rates[c] = rate
	r.timelines[c].set(at, r.config.Interval, rate, overlay.PhaseOf(r.workload.ids[c]))
}

// run lets every owner do its maintenance, each at its own time, until
// the end or until a round's step says that it is enough.
func (r *ranges) run(step func() bool) {
	order := make([]int, len(r.owners))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(r.owners[a].upkeep - r.owners[b].upkeep) })
	for round := range r.options.rounds() {
		for _, n := range order {
			at := time.Duration(round)*r.options.Maintenance + r.owners[n].upkeep
			r.events = happen(r.events, at)
			if at < r.options.horizon() {
				r.maintain(n, uint64(round), at)
			}
		}
		if !step() {
			return
		}
	}
}

// maintain solves for one range, orders the new rates, and tells the others.
func (r *ranges) maintain(n int, round uint64, at time.Duration) {
	own := r.owners[n]
	others := own.board.Others(at, []uint32{uint32(n)}, func(uint32) float64 { return 1.0 / rangeCount })
	p, err := local.Prepare(r.config, r.channels(own, at), others, &own.corrector)
	if err != nil {
		panic(err) // the workload is ours, and checked
	}
	p.Solve()
	for i, c := range own.channels {
		if r.demand.first(int(c)) <= at {
			polls, intervals := honeycomb.Fraction(p.Rate(i))
			r.set(int(c), at, overlay.Rate{Polls: polls, Intervals: intervals})
		}
	}
	told := local.Told{Range: uint32(n), Term: 1, Sequence: round, Summary: local.Summarise(p)}
	for _, o := range r.owners {
		o.board.Put(told, at)
	}
}

func (r *ranges) channels(own *owner, at time.Duration) honeycomb.Channels {
	ch := honeycomb.Channels{
		Subscribers:    make([]float64, len(own.channels)),
		UpdateInterval: make([]float64, len(own.channels)),
	}
	for i, c := range own.channels {
		ch.Subscribers[i] = r.demand.at(int(c), at)
		if r.learn != nil {
			r.intervals[c] = r.learn(int(c), at)
		}
		ch.UpdateInterval[i] = r.intervals[c]
	}
	return ch
}

// membershipDelay is how long a death goes unnoticed.
const membershipDelay = 10 * time.Second

// die takes nodes away: what they would have polled is lost until their deaths
// are noticed; then others, in rendezvous order, have their ranks, and no
// channel is polled more often than who is left may. Ranges fail over within
// seconds, and are taken not to miss a maintenance.
func (r *ranges) die(at time.Duration, dead func(node int) bool) {
	alive := 0
	for n := range r.workload.nodes {
		if !dead(n) {
			alive++
		}
	}
	for c := range r.timelines {
		width := r.timelines[c].width()
		var ranks []int
		for rank, node := range overlay.Pollers(r.workload.ids[c], r.workload.nodes, width) {
			if dead(node) {
				ranks = append(ranks, rank)
			}
		}
		if len(ranks) > 0 {
			r.timelines[c].silence(at, ranks)
			r.timelines[c].revive(at + membershipDelay)
		}
		if most := uint32(float64(alive) * float64(r.config.Interval) / float64(r.config.Floor)); r.rates[c].Polls > most {
			r.set(c, at+membershipDelay, overlay.Rate{Polls: most, Intervals: 1})
		}
	}
	r.config.Nodes = alive
}

// join gives all nodes back: there is more capacity from the next maintenance on.
// Who has a rank keeps it.
func (r *ranges) join(time.Duration) { r.config.Nodes = len(r.workload.nodes) }

// polling returns how a channel was polled.
func (r *ranges) polling(c int) polling { return &r.timelines[c] }

// width returns a channel's rate at the end, in polls per interval.
func (r *ranges) width(c int) float64 { return r.rates[c].Float() }
