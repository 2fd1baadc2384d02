package primary

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// plan knows the factors of every owned channel, the rates that were ordered, and
// what the optimiser has to look at.
type plan struct {
	interval, floor time.Duration
	cost            honeycomb.Cost
	factors         table
	emptied         map[channel.ID]emptied       // channels without subscribers
	moved           map[channel.ID]channel.Moved // those that have
	hosts           hosts
	rows            rows
	columns         *columns // read only

	polled      int
	subscribers uint64  // Σ q
	once        uint64  // Σ cost of a poll of each whose cost is known
	sized       int     // of those polled
	usual       float64 // cost of a poll where it is not known: the mean of the others when all were last read
	budget      float64 // this node's part; 0: what the subscribers would cause alone
	ceiling     float64 // of Σ cost·rate, whatever the subscribers would cause; 0: none
	firsts      uint64  // channels that have come without content or have got their first, ever

	dirty []channel.ID // whose factors are not all in the columns; incomplete when stale
	stale bool         // the columns are to be rebuilt
}

// emptied is since when a channel has had no subscriber.
type emptied struct {
	since       time.Time
	incarnation uint64
}

func newPlan(c Config, columns *columns) plan {
	return plan{
		interval: c.Interval,
		floor:    c.Floor,
		cost:     c.Cost,
		emptied:  make(map[channel.ID]emptied),
		moved:    make(map[channel.ID]channel.Moved),
		hosts:    newHosts(c, float64(c.Interval)/float64(c.Floor)),
		columns:  columns,
		budget:   c.Budget * c.share(),
		ceiling:  c.Budget * c.share(),
		usual:    usualCost(c.Cost),
	}
}

// polling says what a change means for a channel's pollers.
type polling uint8

const (
	pollAsBefore polling = iota
	pollStart            // polled from now on, or under another incarnation
	pollAnew             // polled on, by an order that says something else
	pollStop
)

// update takes a channel's state in.
func (p *plan) update(ch channel.Channel, ended bool) polling {
	place, old := p.factors.at(ch.ID), factors{row: noRow, host: noHost}
	if place != nil {
		old = *place
	}
	if ended {
		if place == nil || old.incarnation != uint32(ch.Incarnation) {
			return pollAsBefore
		}
		p.forget(ch.ID, old)
		p.leave(old)
		p.factors.remove(ch.ID)
		return stopIf(old.polled())
	}
	next := old.next(ch)
	change := compare(old, next)
	if change == pollAsBefore && next.polled() && (p.moved[ch.ID] != ch.Moved || old.first && !next.first && p.width(next) > 1) {
		change = pollAnew
	}
	p.forget(ch.ID, old)
	p.follow(ch, old, &next, change)
	p.remember(ch, next)
	if place != nil {
		*place = next
	} else {
		p.factors.set(ch.ID, next)
	}
	return change
}

// width is how many nodes poll a channel: one until it has content, which is fetched once
// so, and not by each of them.
func (p *plan) width(f factors) int {
	if f.first {
		return 1
	}
	return overlay.WidthOf(f.rate.rate(), p.interval, p.floor)
}

// compare says what a channel's new factors mean for its pollers.
func compare(old, next factors) polling {
	switch {
	case !next.polled():
		return stopIf(old.polled())
	case !old.polled() || old.incarnation != next.incarnation:
		return pollStart
	case isFar(old.told, popular(next.subscribers)):
		return pollAnew
	}
	return pollAsBefore
}

// leastPopular is the least number of subscribers that is sent to origins.
const leastPopular = 10

// popular returns the number of subscribers that is sent to an origin, 0 for few.
func popular(subscribers uint32) uint32 {
	if subscribers < leastPopular {
		return 0
	}
	return subscribers
}

// isFar reports a number of subscribers that differs by more than an eighth.
func isFar(told, now uint32) bool { return max(told, now)-min(told, now) > told/8 }

func stopIf(stop bool) polling {
	if stop {
		return pollStop
	}
	return pollAsBefore
}

// follow gives a channel host, row and rate, or takes them from it.
func (p *plan) follow(ch channel.Channel, old factors, next *factors, change polling) {
	if change == pollStop {
		p.leave(old)
		next.host, next.row, next.rate = noHost, noRow, 0
		return
	}
	if change == pollStart || change == pollAnew {
		next.told = popular(next.subscribers)
		next.host = p.hosts.join(hostOf(ch))
		p.hosts.leave(old.host)
	}
	if !next.polled() {
		return
	}
	if next.row == noRow {
		next.row = p.rows.take()
	}
	if next.first != old.first || change == pollStart && next.first {
		p.firsts++
	}
	if change == pollStart {
		next.rate = p.provisional(*next).within(next.most)
	}
	if change == pollStart || next.host != old.host || p.hasMoved(*next) {
		p.touch(ch.ID, next)
	}
}

// hostOf is the host that a channel's polls go to.
func hostOf(ch channel.Channel) string {
	if ch.Moved.Learned {
		return channel.Host(ch.Moved.To)
	}
	return channel.Host(ch.URL)
}

// leave takes host and row from a channel.
func (p *plan) leave(f factors) {
	p.hosts.leave(f.host)
	if f.row != noRow {
		p.rows.leave(f.row)
	}
}

// fewChannels is the number of polled channels below which each change of subscribers
// is solved for.
const fewChannels = 10_000

// hasMoved reports whether a channel's subscribers differ from the columns' by enough
// to be solved for before the next solve of all.
func (p *plan) hasMoved(f factors) bool {
	known := p.columns.subscribersOf(f.row)
	if p.polled < fewChannels {
		return known != f.subscribers
	}
	return isFar(known, f.subscribers)
}

// touch notes that a channel's factors are to be read before the next solve of all.
// When too many are noted, all are read instead.
func (p *plan) touch(id channel.ID, f *factors) {
	if p.hosts.uncounted(f.host) || len(p.dirty) > p.polled/dirtyShare+fewDirty {
		p.stale, p.dirty = true, nil
	}
	if !f.dirty && !p.stale {
		p.dirty = append(p.dirty, id)
	}
	f.dirty = true
}

// With more changed channels than this share of all, all are solved for: that takes as
// long.
const (
	dirtyShare = 16
	fewDirty   = 64
)

// renumber takes all rows back: channels get others when they are read next.
func (p *plan) renumber() {
	p.rows = rows{}
	for _, run := range p.factors.runs {
		for i := range run {
			run[i].row = noRow
		}
	}
}

// bound takes in how much time is to lie between two polls of a channel, and reports
// whether its pollers need another order. A rate that is more than that goes down at
// once.
func (p *plan) bound(id channel.ID, incarnation uint64, atLeast time.Duration) bool {
	most := paceWithin(atLeast, p.interval)
	f := p.factors.at(id)
	if f == nil || f.incarnation != uint32(incarnation) || f.most == most {
		return false
	}
	f.most, f.rate = most, f.rate.within(most)
	if !f.polled() {
		return false
	}
	p.touch(id, f)
	return true
}

// of returns what is known of a channel's incarnation.
func (p *plan) of(ch channel.Channel) factors {
	f, _ := p.factors.get(ch.ID)
	if f.incarnation != uint32(ch.Incarnation) || ch.Subscribers == 0 || ch.Gone {
		return factors{}
	}
	return f
}

// forget takes a channel's old factors out of all but the factors themselves, host
// and row.
func (p *plan) forget(id channel.ID, old factors) {
	delete(p.emptied, id)
	delete(p.moved, id)
	p.add(old, -1)
}

// abandon forgets the channels of a bucket, and returns those that were polled.
func (p *plan) abandon(bucket channel.Bucket) (polled []channel.ID) {
	for _, e := range p.factors.take(bucket) {
		p.forget(e.id, e.factors)
		p.leave(e.factors)
		if e.polled() {
			polled = append(polled, e.id)
		}
	}
	return polled
}

// remember takes a channel's new factors into all but these.
func (p *plan) remember(ch channel.Channel, next factors) {
	if next.subscribers == 0 {
		p.emptied[ch.ID] = emptied{ch.EmptiedAt, ch.Incarnation}
	}
	if ch.Moved != (channel.Moved{}) {
		p.moved[ch.ID] = ch.Moved
	}
	p.add(next, 1)
}

func (p *plan) add(f factors, sign int) {
	if !f.polled() {
		return
	}
	p.polled += sign
	p.subscribers += uint64(sign * int(f.subscribers))
	if p.cost == honeycomb.Bytes && f.size > 0 {
		p.sized += sign
		p.once += uint64(sign) * f.size.bytes()
	}
}

// emptyChannel is a channel that may end.
type emptyChannel struct {
	id          channel.ID
	incarnation uint64
}

// empty returns at most limit channels without subscribers since before, of those that
// are wanted.
func (p *plan) empty(before time.Time, limit int, wanted func(channel.ID) bool) []emptyChannel {
	var due []emptyChannel
	for id, e := range p.emptied {
		if e.since.Before(before) && wanted(id) {
			due = append(due, emptyChannel{id, e.incarnation})
			if len(due) == limit {
				break
			}
		}
	}
	return due
}
