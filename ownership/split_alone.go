package ownership

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// adoptAlone goes by a table on a node that is alone: the ranges that were split off begin. It is
// of one goroutine, and table the newest: by an older one, ranges would be forgotten and begin
// again beside themselves.
func (p *replicas) adoptAlone(ctx context.Context, table *wire.Meta) error {
	if err := p.setRoutes(table); err != nil {
		return err
	}
	for _, r := range table.Ranges {
		way := p.byID(r.Id)
		if way == nil || way.local() != nil {
			continue
		}
		for p.occupancy.covered(way.Range) { // until the observer has been told of the split
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := p.beginAlone(way, table); err != nil {
			return fmt.Errorf("begin range %d: %w", r.Id, err)
		}
		select {
		case <-way.local().ready:
		case <-ctx.Done():
			return fmt.Errorf("wait for range %d: %w", r.Id, context.Cause(ctx))
		}
	}
	return nil
}

// beginAlone begins a range that was split off, on a node that is alone. Its raft stands for
// election by itself: see hurry.
func (p *replicas) beginAlone(way *route, table *wire.Meta) error {
	if _, err := p.children.found(way.ID, string(p.meta.raftID)); err != nil {
		return err
	}
	g, err := p.stores.group(way.Range, tables.Widest(table, way.ID), loneSeat(p.meta.raftID))
	if err == nil {
		err = g.begin(true)
	}
	if err == nil {
		err = g.start()
	}
	if err != nil {
		return err
	}
	way.own.Store(g)
	p.list()
	return nil
}
