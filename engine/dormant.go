package engine

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// dormancy is a target without an order, and since when it has none. It is void
// when the target was ordered again meanwhile, or forgotten.
type dormancy struct {
	target *target
	since  int64
}

// drop makes a target dormant: an order within an interval finds it as it was.
func (s *schedule) drop(id channel.ID, now int64) {
	t := s.targets[id]
	if t == nil || t.dropped {
		return
	}
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
		if t := d.target; s.targets[t.id] == t && t.dropped && t.state == idle && t.due == d.since {
			t.state = busy
			return t
		}
	}
}

// orphan claims a channel that nobody has ordered since the start; nil when it is
// known. The placeholder keeps an order that comes now from polling before the
// cache is rid of the channel.
func (s *schedule) orphan(id channel.ID) *target {
	if s.targets[id] != nil {
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
	t.holding, t.loaded = holding{}, true
	s.plan(t, now)
}

// forget removes a target, which is idle, and its host if that has no other.
func (s *schedule) forget(t *target) {
	delete(s.targets, t.id)
	h := t.host
	if h == nil {
		return
	}
	h.targets--
	if h.targets == 0 {
		s.resting.remove(h)
		delete(s.hosts, h.key)
	}
}

// sweep rids memory and cache of channels that have not been ordered for an
// interval, until the context ends; among them, an interval after the start, what
// an earlier run left behind.
func (e *Engine) sweep(ctx context.Context) {
	ticker := time.NewTicker(e.config.Interval)
	defer ticker.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if first {
			e.sweepOrphans(ctx)
		}
		e.sweepDormant(ctx)
	}
}

func (e *Engine) sweepDormant(ctx context.Context) {
	for ctx.Err() == nil {
		e.mu.Lock()
		t := e.mu.schedule.expired(wallNow() - int64(e.config.Interval))
		e.mu.Unlock()
		if t == nil {
			return
		}
		e.purge(t)
	}
}

func (e *Engine) sweepOrphans(ctx context.Context) {
	err := e.cache.each(func(id channel.ID) bool {
		e.mu.Lock()
		t := e.mu.schedule.orphan(id)
		e.mu.Unlock()
		if t != nil {
			e.purge(t)
		}
		return ctx.Err() == nil
	})
	e.cacheFailed("look for orphans", err)
}

// purge empties a claimed target's part of the cache, and gives it free.
func (e *Engine) purge(t *target) {
	e.cacheFailed("purge", e.cache.purge(t.id))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.schedule.unclaim(t, wallNow())
	e.wakeIfSooner()
}
