package primary

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
)

// rates is the optimiser and what it has found.
type rates struct {
	config   honeycomb.Config
	columns  *columns     // written under Owner.mu as well
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

// solve takes in what has changed, or everything, finds the rates and orders them.
func (o *Owner) solve(full bool) error {
	o.solving.Lock()
	defer o.solving.Unlock()
	began := time.Now()
	if err := o.rates.run(o.read(full), o.exchange.corrector()); err != nil {
		o.fail()
		return err
	}
	o.conclude(began, full, o.apply())
	if full {
		o.tell()
	}
	return nil
}

// read brings the columns up to date and returns the rows that changed, nil for all.
func (o *Owner) read(full bool) (changed []int) {
	now := o.config.Now()
	if full {
		o.begin()
		o.walk(func(run []entry) {
			for i := range run {
				o.readOne(run[i].id.Bucket(), &run[i].factors, now)
			}
		})
		return nil
	}
	dirty, changed := o.takeDirty()
	for some := range slices.Chunk(dirty, walkChunk) {
		changed = o.readSome(some, now, changed)
	}
	return changed
}

// sparse is how many rows there may be for each polled channel.
const sparse = 4

// begin makes the columns ready to be written in all rows.
func (o *Owner) begin() {
	columns := o.rates.columns
	if n, fit := o.roomNeeded(); !fit {
		columns = o.newColumns(n)
	}
	share, pollers := o.config.share(), o.config.pollers()
	o.mu.Lock()
	defer o.mu.Unlock()
	p, r := &o.mu.plan, &o.rates
	p.stale, p.dirty, p.usual = false, nil, p.mean()
	r.columns, p.columns = columns, columns
	p.budget, p.hosts.pollers, r.config.Nodes = o.config.Budget*share, pollers, pollers
	p.ceiling, r.capacity = o.ceiling(), o.capacityLoad()
	r.others = o.others(share)
	r.config.HostCaps = p.hosts.count()
	columns.house(len(r.config.HostCaps) > 0)
	o.clear()
}

// roomNeeded returns how many rows there are to be, and whether the columns have room
// for them. When not, memory is given back before more is taken; and when few rows are
// used, they are renumbered.
func (o *Owner) roomNeeded() (n int, fit bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, r := &o.mu.plan, &o.rates
	r.plan = nil
	n = int(p.rows.n)
	idle := n > sparse*p.polled+fewRows
	if idle {
		n = p.polled
		p.renumber()
	}
	if fit = !idle && n <= r.columns.Len(); !fit {
		r.columns = o.newColumns(0)
		p.columns = r.columns
	}
	return n, fit
}

// takeDirty returns the channels whose factors are to be read, and the rows that were
// left and are empty now.
func (o *Owner) takeDirty() (dirty []channel.ID, cleared []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dirty, o.mu.plan.dirty = o.mu.plan.dirty, nil
	return dirty, o.clear()
}

// clear empties the rows that channels have left. Both locks are held.
func (o *Owner) clear() []int {
	cleared := []int{}
	for _, i := range o.mu.plan.rows.cleared() {
		if int(i) < o.rates.columns.Len() {
			o.rates.columns.empty(i)
			cleared = append(cleared, int(i))
		}
	}
	return cleared
}

// readSome writes the rows of some channels and adds them to those that changed.
func (o *Owner) readSome(ids []channel.ID, now time.Time, changed []int) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		if f := o.mu.plan.factors.at(id); f != nil && o.readOne(id.Bucket(), f, now) {
			changed = append(changed, int(f.row))
		}
	}
	return changed
}

// readOne writes a channel's row if there is one for it. Both locks are held.
func (o *Owner) readOne(bucket channel.Bucket, f *factors, now time.Time) bool {
	p := &o.mu.plan
	if !f.polled() {
		f.dirty = false
		return false
	}
	if f.row == noRow {
		f.row = p.rows.take()
	}
	if int(f.row) >= o.rates.columns.Len() {
		f.dirty, p.stale = true, true
		return false
	}
	f.dirty = false
	o.rates.columns.write(f.row, p.rowOf(*f, now))
	o.rates.columns.place(f.row, bucket)
	return true
}

// walkChunk is how many channels are looked at under one lock, or as many as a run
// has.
const walkChunk = 512

// walk visits all channels, run by run, some under each lock.
func (o *Owner) walk(visit func(run []entry)) {
	for bucket := 0; bucket < channel.Buckets; {
		bucket = o.walkSome(bucket, visit)
	}
}

func (o *Owner) walkSome(bucket int, visit func(run []entry)) (next int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n := 0; bucket < channel.Buckets && n < walkChunk; bucket++ {
		run := o.mu.plan.factors.runs[bucket]
		visit(run)
		n += len(run)
	}
	return bucket
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
func (o *Owner) apply() (all sums) {
	var paces []engine.Pace
	var whole []channel.ID
	o.walk(func(run []entry) {
		paces = paces[:0]
		ordered := len(run) > 0 && o.isOrdered(run[0].id.Bucket())
		for i := range run {
			e := &run[i]
			if !e.polled() {
				continue
			}
			if o.repace(&e.factors) && ordered {
				paces = append(paces, o.pace(e))
			}
			all.add(e.factors, o.mu.plan.costOf(e.factors))
		}
		if all.paced += len(paces); len(paces) > 0 {
			whole = append(whole, o.mu.poller.Repace(paces...)...)
		}
	})
	for some := range slices.Chunk(whole, walkChunk) {
		o.orderWhole(some)
	}
	return all
}

// orderWhole orders channels of which some pollers know nothing. What cannot be read is
// ordered at the latest with the range's next takeover.
func (o *Owner) orderWhole(ids []channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		ch, err := o.store.Channel(id)
		if err == nil && o.isOrdered(id.Bucket()) && o.mu.plan.of(ch).rate != 0 {
			o.mu.poller.Order(o.orderOf(ch))
		}
	}
}

// isOrdered says whether the channels of a bucket have orders. o.mu is held.
func (o *Owner) isOrdered(bucket channel.Bucket) bool {
	t := o.mu.led.At(bucket)
	return t != nil && t.ordered
}

// repace gives a channel the rate that was found for it, and reports whether that is
// another one.
func (o *Owner) repace(f *factors) bool {
	if f.dirty || f.row == noRow {
		return false
	}
	rate := o.rates.plan.Problem.Rate(int(f.row))
	if rate == f.rate.float() { // nearly always
		return false
	}
	before := f.rate
	f.rate = paceOf(rate)
	return f.rate != before
}

// pace is what a channel's pollers are told, whichever they are. o.mu is held.
func (o *Owner) pace(e *entry) engine.Pace {
	return engine.Pace{
		Channel: e.id, Incarnation: uint64(e.incarnation), Rate: e.rate.rate(),
		Width: o.mu.plan.width(e.factors),
	}
}

func (s *sums) add(f factors, cost float64) {
	q, r := float64(f.subscribers), f.rate.float()
	s.rate += r
	s.load += cost * r
	s.wait += q / r
	s.crowd += q
	s.alone += q * cost
}
