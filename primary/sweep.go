package primary

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership"
)

// sweeper ends channels that have had no subscriber for an interval.
type sweeper struct {
	config  Config
	store   Store
	metrics *metrics
	book    *book
}

// run sweeps each interval, until ctx is done.
func (s *sweeper) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.sweep(ctx)
		}
	}
}

// sweepInterval lets a channel outstay its interval by a quarter at most.
func sweepInterval(interval time.Duration) time.Duration {
	return min(max(interval/4, time.Second), time.Minute)
}

// sweepPage is how many due channels are looked up at a time.
const sweepPage = 1000

// sweep ends the channels that are due. What could not be ended is for the next
// sweep: a range whose store does not answer holds up no other.
func (s *sweeper) sweep(ctx context.Context) {
	failed := make(map[*tenure]bool)
	for more := true; more; {
		due := s.book.overdue(failed)
		before := len(failed)
		ended := s.end(ctx, due, failed)
		more = len(due) == sweepPage && (ended > 0 || len(failed) > before)
	}
}

// end ends channels and returns how many have ended. It adds to failed the tenures of
// the ranges that did not take it, and leaves out their other channels.
func (s *sweeper) end(ctx context.Context, due []emptyChannel, failed map[*tenure]bool) (ended int) {
	for _, ch := range due {
		t := s.book.tenureOf(ch.id)
		if t == nil || failed[t] {
			continue
		}
		switch err := s.store.EndChannel(ctx, ch.id, ch.incarnation); {
		case err == nil:
			s.metrics.ended.Inc()
			ended++
		case ctx.Err() != nil:
			return ended
		case !errors.Is(err, ownership.ErrStale): // else a subscription came meanwhile
			s.metrics.endFailures.Inc()
			s.config.Logger.Warn("cannot end channels of a range", "range", t.ID, "channel", ch.id, "error", err)
			failed[t] = true
		}
	}
	return ended
}
