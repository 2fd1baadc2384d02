package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// dormancy is a target without an order, and since when it has none. It is void
// when the target was ordered again meanwhile, or forgotten.
type dormancy struct {
	target *target
	since  int64
}

// drop makes a target dormant: an order within an interval finds it as it was.
func (s *schedule) drop(id channel.ID, now int64) {
	t := s.targets.get(id)
	if t == nil || t.dropped {
		return
	}
	defer s.recount(t, t.failing())
	t.dropped = true
	s.live--
	if t.state == idle {
		s.lay(t, now)
	}
}

// lay puts a dropped target that is idle to rest.
func (s *schedule) lay(t *target, now int64) {
	s.due.remove(t)
	t.due = now
	s.dormant.push(dormancy{t, now})
}

// expired takes the next target that has been dormant since before a time, and
// claims it; nil when there is none.
func (s *schedule) expired(before int64) *target {
	for {
		d, ok := s.dormant.peek()
		if !ok || d.since > before {
			return nil
		}
		s.dormant.pop()
		if t := d.target; s.targets.get(t.id) == t && t.dropped && t.state == idle && t.due == d.since {
			t.state = busy
			return t
		}
	}
}

// orphan claims a channel that nobody has ordered since the start; nil when it is
// known. The placeholder keeps an order that comes now from polling before the
// cache is rid of the channel.
func (s *schedule) orphan(id channel.ID) *target {
	if s.targets.get(id) != nil {
		return nil
	}
	t := s.add(id)
	t.state = busy
	return t
}

// unclaim forgets a claimed target whose part of the cache is purged, unless an
// order came meanwhile: then it starts from nothing.
func (s *schedule) unclaim(t *target, now int64) {
	t.state = idle
	if t.dropped {
		s.forget(t)
		return
	}
	t.holding, t.loaded = store.Holding{}, true
	s.readdress(t)
	s.plan(t, now)
}

// forget removes a target, which is idle.
func (s *schedule) forget(t *target) {
	s.targets.remove(t.id)
	if t.host != nil {
		s.tie(t.host, -1)
	}
	s.rows.Give(t.row)
	s.ends.remove(t.courseOf().final, t)
}

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
	left := e.mu.schedule.guests.len()
	e.mu.Unlock()
	for ; left > 0 && ctx.Err() == nil; left -= chunk {
		e.mu.Lock()
		rows := e.mu.schedule.dismiss(min(left, chunk), wallNow())
		e.mu.Unlock()
		for _, row := range rows {
			e.ledger.Clear(row)
		}
		e.mu.Lock()
		for _, row := range rows {
			e.mu.schedule.rows.Give(row)
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
	for t := e.mu.schedule.expired(before); t != nil; t = e.mu.schedule.expired(before) {
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
		t := e.mu.schedule.orphan(id)
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
		err = errors.Join(err, e.cache.Purge(t.id))
	}
	e.cache.Failed("purge", errors.Join(err, e.cache.Sync()))
	for _, t := range claimed {
		e.ledger.Clear(t.row)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for _, t := range claimed {
		e.mu.schedule.unclaim(t, now)
	}
	e.wakeIfSooner()
}
