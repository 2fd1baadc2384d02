package ownership

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// A node of several keeps the newest table of the cluster that it knows, and its replicas
// are those that the table gives it: it opens the ones that are planned, and deletes the
// ones that the table has forgotten.

// placer makes this node's replicas those that the newest table gives it.
type placer struct {
	*metaCalls
	replicas *replicas
	mend     *mender
	adopted  *wire.Meta // noted durably; of run
	waits    bool       // a replica is to be opened once another one here is split, or has gone; of run
}

// placeRetry is the pause before the replicas are compared with the table again.
const placeRetry = time.Second

// run makes this node's replicas those of each table that it learns, until ctx ends.
func (p *placer) run(ctx context.Context) {
	var retry <-chan time.Time
	for {
		select {
		case <-p.learned:
		case <-p.repairs.found:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		err := p.mend.secure()
		if errors.Is(err, errEnds) {
			return
		}
		if err := errors.Join(err, p.adopt(p.known.Load())); err != nil {
			p.tools.log.Warn("replicas are not those of the cluster's table yet", "error", err)
			retry = time.After(placeRetry)
		}
		if p.waits {
			retry = time.After(placeRetry)
		}
	}
}

// adopt makes a table the one that this node goes by, durably.
func (p *placer) adopt(table *wire.Meta) error {
	if table != p.adopted {
		if err := p.adoptNew(table); err != nil {
			return err
		}
		p.adopted = table
	}
	if slices.ContainsFunc(table.Ranges, (*wire.Range).GetPlanned) { // once it begins, the state is flushed
		if err := p.replicas.stores.flush.lighten(); err != nil {
			return err
		}
	}
	p.waits = false
	var errs []error
	for _, r := range slices.Backward(table.Ranges) { // what is split off begins before its parent may go
		if way := p.byID(r.Id); way != nil {
			errs = append(errs, p.place(way, r))
		}
	}
	return errors.Join(errs...)
}

// adoptNew notes a table that is new, and tells the others.
func (p *placer) adoptNew(table *wire.Meta) error {
	if err := p.meta.store.SetTable(table); err != nil {
		return err
	}
	if err := raiseFormat(p.replicas.stores.cfg.Dir, tables.VersionOf(table)); err != nil {
		return err
	}
	p.net.join(table, p.cluster)
	if p.meta.leads() {
		p.announce(p.running, table)
	}
	return p.setRoutes(table)
}

// place makes this node's replica of a range the one that the table has.
func (p *placer) place(way *route, r *wire.Range) error {
	if err := way.setReplicas(r); err != nil {
		return err
	}
	want := p.net.replicaHere(r)
	if way.local() == nil && (want != "" || r.Parent > 0) {
		founding, err := p.founding(r)
		if err != nil {
			return err
		}
		if founding || !p.replicas.occupancy.reserve(way.Range) {
			p.waits = true
			return nil
		}
		defer p.replicas.occupancy.release()
		if err := p.beginSplit(r, want); err != nil {
			return err
		}
	}
	if err := p.replicas.holdOnly(way, want); err != nil {
		return err
	}
	if slices.Contains(r.Replicas, want) || len(r.Replicas) >= int(p.known.Load().Replicas) {
		p.repairs.whole(r.Id)
	}
	if slices.Contains(r.Damaged, want) {
		p.repairs.note(r.Id, want, errToldDamaged)
	}
	if want == "" || way.local() != nil || p.repairs.has(r.Id, want) {
		return nil
	}
	g, err := p.replicas.open(way, want)
	if err == nil {
		err = g.start()
	}
	if isDamage(err) {
		p.repairs.note(r.Id, want, err)
		return nil
	}
	if err != nil {
		return err
	}
	way.own.Store(g)
	p.replicas.list()
	p.tools.log.Info("replica opened", "range", r.Id, "replica", want)
	if r.Parent > 0 && !g.empty() && p.byID(r.Parent-1).serves() {
		p.loops.Go(func() { p.replicas.children.standFirst(g) })
	}
	return nil
}

// founding reports whether a range that this one was split off, directly or not, was split off
// here and has not begun yet: its state has the buckets of this one.
func (p *placer) founding(r *wire.Range) (bool, error) {
	for parent := r.Parent; parent > 0; {
		of := p.known.Load().Ranges[parent-1]
		parent = of.Parent
		if p.replicas.held.replicas[of.Id] != "" {
			continue
		}
		begins, err := p.state.Founding(of.Id)
		if err != nil {
			return false, err
		}
		if begins != nil && begins.Span.GetTo() >= r.From {
			return true, nil
		}
	}
	return false, nil
}

// beginSplit founds this node's replica of a range that was split off, or removes what there is
// of one that this node is not to have, or that comes of a damaged replica: others have it whole.
// It is of run; no other replica has the buckets.
func (p *placer) beginSplit(r *wire.Range, want string) error {
	if r.Parent == 0 || p.replicas.held.replicas[r.Id] != "" {
		return nil
	}
	begins, err := p.state.Founding(r.Id)
	if err != nil || begins == nil {
		return err
	}
	parent := p.known.Load().Ranges[r.Parent-1]
	have := p.replicas.held.replicas[parent.Id]
	damaged := have != "" && (p.repairs.has(parent.Id, have) || slices.Contains(parent.Damaged, have))
	if damaged && !lastWhole(parent, have) {
		return p.replicas.delete(r.Id)
	}
	founded, err := p.replicas.children.found(r.Id, want)
	switch {
	case err != nil:
		return err
	case founded:
		return p.replicas.held.set(r.Id, want)
	default:
		return p.replicas.delete(r.Id)
	}
}
