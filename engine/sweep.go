package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// sweeper forgets what is not ordered any more.
type sweeper struct{ e *Engine }

// run removes channels that have not been ordered for an interval from memory and
// cache, and their hosts from memory, until the context ends. The ledger names those of
// an earlier run too; where it may lack some, the whole cache is searched once.
func (s *sweeper) run(ctx context.Context) {
	ticker := time.NewTicker(s.e.config.Interval)
	defer ticker.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if first && s.e.ledger.Partial {
			s.orphans(ctx)
		}
		s.dormant(ctx)
		s.hosts(ctx)
	}
}

// hosts forgets hosts that have no channels any more.
func (s *sweeper) hosts(ctx context.Context) {
	const chunk = 256 // hosts under one lock
	s.e.mu.Lock()
	left := s.e.mu.channels.schedule.Count(wallNow()).Guests
	s.e.mu.Unlock()
	for ; left > 0 && ctx.Err() == nil; left -= chunk {
		s.e.mu.Lock()
		over := s.e.mu.channels.schedule.Dismiss(min(left, chunk), wallNow())
		s.e.mu.Unlock()
		for _, h := range over {
			s.e.ledger.Clear(h.Row)
		}
		s.e.mu.Lock()
		for _, h := range over {
			s.e.mu.channels.rows.Give(h.Row)
		}
		s.e.mu.Unlock()
	}
}

// sweepBatch is how many channels are removed together: one sync of the cache serves
// them all, and orders of theirs wait for it.
const sweepBatch = 256

func (s *sweeper) dormant(ctx context.Context) {
	for ctx.Err() == nil {
		over := s.claimExpired()
		if len(over) == 0 {
			return
		}
		s.purge(over)
	}
}

// claimExpired claims channels that have been dormant for an interval.
func (s *sweeper) claimExpired() (over []*target) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	before := wallNow() - int64(s.e.config.Interval)
	for t := s.e.mu.channels.schedule.Expired(before); t != nil; t = s.e.mu.channels.schedule.Expired(before) {
		if over = append(over, t); len(over) == sweepBatch {
			break
		}
	}
	return over
}

func (s *sweeper) orphans(ctx context.Context) {
	var found []*target
	err := s.e.cache.Each(func(id channel.ID) bool {
		s.e.mu.Lock()
		t := s.e.mu.channels.orphan(id)
		s.e.mu.Unlock()
		if t != nil {
			found = append(found, t)
		}
		if len(found) == sweepBatch {
			s.purge(found)
			found = found[:0]
		}
		return ctx.Err() == nil
	})
	s.e.cache.Failed("look for orphans", err)
	s.purge(found)
}

// purge removes claimed targets from cache and ledger. A later run finds a channel by
// its row, so the row is cleared after the cache's removal is synced.
func (s *sweeper) purge(claimed []*target) {
	if len(claimed) == 0 {
		return
	}
	var err error
	for _, t := range claimed {
		err = errors.Join(err, s.e.cache.Purge(t.ID))
	}
	s.e.cache.Failed("purge", errors.Join(err, s.e.cache.Sync()))
	for _, t := range claimed {
		s.e.ledger.Clear(t.Channel.row)
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	now := wallNow()
	for _, t := range claimed {
		s.e.mu.channels.unclaim(t, now)
	}
	s.e.wakeIfSooner()
}
