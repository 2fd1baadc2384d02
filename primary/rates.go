package primary

import (
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

// planner finds the rates of all channels that this node leads, and orders them.
type planner struct {
	config  Config
	store   Store
	metrics *metrics
	book    *book

	solving  sync.Mutex // taken before the book's lock
	rates    rates      // guarded by solving
	exchange *exchange  // nil: other nodes are told nothing

	// Guarded by the book's lock.
	capacity  capacity
	firsts    uint64        // of the plan, at the last look
	full      time.Time     // when the latest solve of all began
	fullTook  time.Duration // columns, rates and orders
	updates   uint64        // solves since
	notBefore time.Time     // of the next solve
	sums      sums          // at the latest
	latest    Plan          // of it
}

// rates is the optimiser and what it has found.
type rates struct {
	config   honeycomb.Config
	columns  *columns     // written under the book's lock as well
	others   local.Others // what the latest solve of all knew of them
	capacity float64      // in the unit of costs; 0: no limit was met
	plan     *local.Plan  // nil: nothing is solved
	boundary boundary     // of a solution, once it was asked for
}

// optimiserConfig is the optimiser's part of what an owner is told.
func (c Config) optimiserConfig() honeycomb.Config {
	return honeycomb.Config{
		Policy: c.Policy, Ladder: c.Ladder, Cost: c.Cost, Target: c.Target, Budget: c.Budget,
		Nodes: c.pollers(), Interval: c.Interval, Floor: c.Floor,
	}
}

// run solves for columns of which some rows are others than they were; nil: all.
func (r *rates) run(changed []int, corrector *local.Corrector) (err error) {
	if r.plan != nil && changed != nil && !r.columns.rebuild {
		if err = r.plan.Update(changed...); err != nil {
			r.plan = nil
		}
		return err
	}
	r.columns.rebuild, r.plan = false, nil // its memory goes first
	r.plan, err = local.Solve(r.config, r.columns.Channels, r.others, corrector, r.capacity)
	r.others.Between = true
	return err
}

// solve reads what has changed, or everything, finds the rates and orders them.
func (pl *planner) solve(full bool) error {
	pl.solving.Lock()
	defer pl.solving.Unlock()
	began := time.Now()
	var all sums
	var err error
	used := process.Timed(func() {
		if err = pl.rates.run(pl.read(full), pl.exchange.corrector()); err == nil {
			all = pl.apply()
		}
	})
	if err != nil {
		pl.fail()
		return err
	}
	pl.conclude(began, used, full, all)
	if full && pl.exchange != nil {
		pl.metrics.told.Inc()
		pl.config.Tell(pl.exchange.sum(pl.rates.plan, pl.rates.columns.buckets))
	}
	return nil
}

// read brings the columns up to date and returns the rows that changed, nil for all.
func (pl *planner) read(full bool) (changed []int) {
	now := pl.config.Now()
	if full {
		pl.begin()
		pl.book.walk(func(run []entry) {
			for i := range run {
				pl.readOne(run[i].id.Bucket(), &run[i].factors, now)
			}
		})
		return nil
	}
	changed = []int{}
	for some := range slices.Chunk(pl.takeDirty(), walkChunk) {
		changed = pl.readSome(some, now, changed)
	}
	return append(changed, pl.clearLeft()...) // which no channel gets before the optimiser has seen them empty
}

// sparse is how many rows there may be for each polled channel.
const sparse = 4

// begin makes the columns ready to be written in all rows.
func (pl *planner) begin() {
	columns := pl.rates.columns
	if n, fit := pl.roomNeeded(); !fit {
		columns = pl.newColumns(n)
	}
	share, pollers := pl.config.share(), pl.config.pollers()
	pl.book.Lock()
	defer pl.book.Unlock()
	p, r := &pl.book.plan, &pl.rates
	p.stale, p.dirty, p.usual = false, nil, p.mean()
	r.columns, p.columns = columns, columns
	p.budget, p.hosts.pollers, r.config.Nodes = pl.config.Budget*share, pollers, pollers
	p.ceiling, r.capacity = pl.ceiling(), pl.capacityLoad()
	r.others = pl.exchange.others(share, &pl.book.led)
	r.config.HostCaps = p.hosts.count()
	columns.house(len(r.config.HostCaps) > 0)
	pl.clear()
}

// roomNeeded returns how many rows there are to be, and whether the columns have room
// for them. When not, memory is given back before more is taken; and when few rows are
// used, they are renumbered.
func (pl *planner) roomNeeded() (n int, fit bool) {
	pl.book.Lock()
	defer pl.book.Unlock()
	p, r := &pl.book.plan, &pl.rates
	r.plan = nil
	n = int(p.rows.n)
	idle := n > sparse*p.polled+fewRows
	if idle {
		n = p.polled
		p.renumber()
	}
	if fit = !idle && n <= r.columns.Len(); !fit {
		r.columns = pl.newColumns(0)
		p.columns = r.columns
	}
	return n, fit
}

// takeDirty returns the channels whose factors are to be read.
func (pl *planner) takeDirty() (dirty []channel.ID) {
	pl.book.Lock()
	defer pl.book.Unlock()
	dirty, pl.book.plan.dirty = pl.book.plan.dirty, nil
	return dirty
}

func (pl *planner) clearLeft() []int {
	pl.book.Lock()
	defer pl.book.Unlock()
	return pl.clear()
}

// clear empties the rows that channels have left. Both locks are held.
func (pl *planner) clear() []int {
	cleared := []int{}
	for _, i := range pl.book.plan.rows.cleared() {
		if int(i) < pl.rates.columns.Len() {
			pl.rates.columns.empty(i)
			cleared = append(cleared, int(i))
		}
	}
	return cleared
}

// readSome writes the rows of some channels and adds them to those that changed.
func (pl *planner) readSome(ids []channel.ID, now time.Time, changed []int) []int {
	pl.book.Lock()
	defer pl.book.Unlock()
	for _, id := range ids {
		if f := pl.book.plan.factors.at(id); f != nil && pl.readOne(id.Bucket(), f, now) {
			changed = append(changed, int(f.row))
		}
	}
	return changed
}

// readOne writes a channel's row if there is one for it. Both locks are held.
func (pl *planner) readOne(bucket channel.Bucket, f *factors, now time.Time) bool {
	p := &pl.book.plan
	if !f.polled() {
		f.dirty = false
		return false
	}
	if f.row == noRow {
		f.row = p.rows.take()
	}
	if int(f.row) >= pl.rates.columns.Len() {
		f.dirty, p.stale = true, true
		return false
	}
	f.dirty = false
	pl.rates.columns.write(f.row, p.rowOf(*f, now))
	pl.rates.columns.place(f.row, bucket)
	return true
}

// sums are of all channels, at the rates that are ordered.
type sums struct {
	rate  float64 // Σ r
	load  float64 // Σ cost·r
	wait  float64 // Σ q/r, in intervals
	crowd float64 // Σ q
	alone float64 // Σ q·cost
	paced int     // channels whose rate was changed
}

// apply orders the rates that were found, where they are others than those ordered.
// A channel that has changed meanwhile waits for the next time.
func (pl *planner) apply() (all sums) {
	var paces []engine.Pace
	var whole []channel.ID
	pl.book.walk(func(run []entry) {
		paces = paces[:0]
		ordered := len(run) > 0 && pl.book.isOrdered(run[0].id.Bucket())
		for i := range run {
			e := &run[i]
			if !e.polled() {
				continue
			}
			if pl.repace(&e.factors) && ordered {
				paces = append(paces, pl.book.pace(e))
			}
			all.add(e.factors, pl.book.plan.costOf(e.factors))
		}
		if all.paced += len(paces); len(paces) > 0 {
			whole = append(whole, pl.book.poller.Repace(paces...)...)
		}
	})
	for some := range slices.Chunk(whole, walkChunk) {
		pl.book.orderWhole(some)
	}
	return all
}

// repace gives a channel the rate that was found for it, and reports whether that is
// another one.
func (pl *planner) repace(f *factors) bool {
	if f.dirty || f.row == noRow {
		return false
	}
	rate := pl.rates.plan.Problem.Rate(int(f.row))
	if rate == f.rate.float() { // nearly always
		return false
	}
	before := f.rate
	f.rate = paceOf(rate)
	return f.rate != before
}

func (s *sums) add(f factors, cost float64) {
	q, r := float64(f.subscribers), f.rate.float()
	s.rate += r
	s.load += cost * r
	s.wait += q / r
	s.crowd += q
	s.alone += q * cost
}
