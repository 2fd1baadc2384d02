package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// sweep rids memory and cache of channels that have not been ordered for an
// interval, and memory of their hosts, until the context ends. What an earlier run
// left behind is among them, by the ledger; where that may lack some the cache is
// looked through, once, which reads all of it.
func (e *Engine) sweep(ctx context.Context) {
	ticker := time.NewTicker(e.config.Interval)
	defer ticker.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if first && e.ledger.Partial {
			e.sweepOrphans(ctx)
		}
		e.sweepDormant(ctx)
		e.sweepHosts(ctx)
	}
}

// sweepHosts forgets hosts that have no channels any more.
func (e *Engine) sweepHosts(ctx context.Context) {
	const chunk = 256 // hosts under one lock
	e.mu.Lock()
	left := e.mu.channels.schedule.Count(wallNow()).Guests
	e.mu.Unlock()
	for ; left > 0 && ctx.Err() == nil; left -= chunk {
		e.mu.Lock()
		over := e.mu.channels.schedule.Dismiss(min(left, chunk), wallNow())
		e.mu.Unlock()
		for _, h := range over {
			e.ledger.Clear(h.Row)
		}
		e.mu.Lock()
		for _, h := range over {
			e.mu.channels.rows.Give(h.Row)
		}
		e.mu.Unlock()
	}
}

// sweepBatch is how many channels are rid of together: one sync of the cache serves
// them all, and orders of theirs wait for it.
const sweepBatch = 256

func (e *Engine) sweepDormant(ctx context.Context) {
	for ctx.Err() == nil {
		over := e.claimExpired()
		if len(over) == 0 {
			return
		}
		e.purge(over)
	}
}

// claimExpired claims channels that have been dormant for an interval.
func (e *Engine) claimExpired() (over []*target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := wallNow() - int64(e.config.Interval)
	for t := e.mu.channels.schedule.Expired(before); t != nil; t = e.mu.channels.schedule.Expired(before) {
		if over = append(over, t); len(over) == sweepBatch {
			break
		}
	}
	return over
}

func (e *Engine) sweepOrphans(ctx context.Context) {
	var orphans []*target
	err := e.cache.Each(func(id channel.ID) bool {
		e.mu.Lock()
		t := e.mu.channels.orphan(id)
		e.mu.Unlock()
		if t != nil {
			orphans = append(orphans, t)
		}
		if len(orphans) == sweepBatch {
			e.purge(orphans)
			orphans = orphans[:0]
		}
		return ctx.Err() == nil
	})
	e.cache.Failed("look for orphans", err)
	e.purge(orphans)
}

// purge empties claimed targets' parts of cache and ledger, and gives them free. By
// its row a later run knows of a channel, so the row goes when all else is gone for
// good.
func (e *Engine) purge(claimed []*target) {
	if len(claimed) == 0 {
		return
	}
	var err error
	for _, t := range claimed {
		err = errors.Join(err, e.cache.Purge(t.ID))
	}
	e.cache.Failed("purge", errors.Join(err, e.cache.Sync()))
	for _, t := range claimed {
		e.ledger.Clear(t.Channel.row)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for _, t := range claimed {
		e.mu.channels.unclaim(t, now)
	}
	e.wakeIfSooner()
}
