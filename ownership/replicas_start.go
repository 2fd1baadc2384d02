package ownership

import (
	"errors"
	"sync"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// openAll reads this node's replicas, and learns the way to all other ranges.
func (p *replicas) openAll(table *wire.Meta, born bool) error {
	if err := p.setRoutes(table); err != nil {
		return err
	}
	defer p.list() // also of a start that fails half way
	if p.net != nil {
		return p.openHeld(table, born)
	}
	return p.openAlone(table, born)
}

// openAlone reads the replicas of a node that is alone.
func (p *replicas) openAlone(table *wire.Meta, born bool) error {
	for _, r := range table.Ranges {
		way := p.byID(r.Id)
		if way == nil || r.Parent > 0 && !p.children.begun(r.Id) {
			continue // see adoptAlone
		}
		g, err := p.stores.group(way.Range, tables.Widest(table, r.Id), loneSeat(p.meta.raftID))
		if err != nil {
			return err
		}
		way.own.Store(g)
		if err := g.begin(born); err != nil {
			return err
		}
	}
	return nil
}

// openHeld opens the replicas of one of several nodes, and deletes what the disk has of those
// that the table has forgotten.
func (p *replicas) openHeld(table *wire.Meta, born bool) (err error) {
	for _, r := range table.Ranges {
		way := p.byID(r.Id)
		if way == nil || r.Parent > 0 && p.held.replicas[r.Id] == "" {
			continue // see placer.place
		}
		if err := p.openHere(way, r, born); err != nil {
			return err
		}
		p.list() // a range that was split off it is covered by it
	}
	return nil
}

// openHere opens this node's replica of a range, if it has one.
func (p *replicas) openHere(way *route, r *wire.Range, born bool) error {
	founders, has, err := seatOf(p.net, r.Id, r.Replicas, len(r.Replicas))
	if err == nil {
		err = way.setReplicas(r)
	}
	if err != nil {
		return disk.Corrupt("range table: range %d: %w", r.Id, err)
	}
	want := p.net.replicaHere(r)
	if err := p.holdOnly(way, want); errors.Is(err, ErrCorrupt) && !p.held.onlyCopy(p.known.Load()) {
		return errors.Join(err, p.held.condemn(err))
	} else if err != nil {
		return err
	}
	if want == "" || p.repairs.has(r.Id, want) {
		return nil
	}
	if r.Parent > 0 && !p.children.begun(r.Id) { // it was noted, and its log was not on the disk yet
		if founded, err := p.children.found(r.Id, want); err != nil {
			return err
		} else if !founded && p.occupancy.covered(way.Range) {
			return p.held.set(r.Id, "") // nor was its state: see beginSplit
		}
	}
	g, err := p.open(way, want)
	if err == nil && has && !(r.Parent > 0 && g.empty()) { // else it is being filled: its log may be empty
		g.seat.founders = founders.founders
		err = g.begin(born || r.Parent > 0)
	}
	if isDamage(err) {
		p.repairs.note(r.Id, want, err)
		return nil
	}
	if err == nil {
		way.own.Store(g)
	}
	return err
}

// start starts all replicas of this node at once.
func (p *replicas) start() error {
	errs := make([]error, len(p.groups()))
	var starting sync.WaitGroup
	for i, g := range p.groups() {
		starting.Go(func() { errs[i] = g.start() })
	}
	starting.Wait()
	for i, g := range p.groups() {
		if p.repairs != nil && isDamage(errs[i]) {
			p.repairs.note(g.id, string(g.seat.id), errs[i])
			p.of(g.all.From).own.Store(nil)
			errs[i] = nil
		}
	}
	p.list()
	return errors.Join(errs...)
}
