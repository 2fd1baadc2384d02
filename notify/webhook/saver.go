package webhook

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// saver commits the positions that changed, a batch at a time (group commit).
type saver struct {
	*core
	channels *channels
	saving   bool   // a batch is under way
	batches  uint64 // begun
	complete uint64 // the newest that saved all there was
}

const (
	maxBatch      = 1024 // channels in one commit of positions
	maxStragglers = 8192 // about as many of one channel, and three times as many in all
)

// run saves a batch at most batchDelay after a position changed, until ctx ends.
func (s *saver) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.channels.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(batchDelay):
		case <-s.channels.urgent:
		}
		if s.saveBatch(ctx, time.Now().Add(-batchDelay)) != nil {
			pause(ctx, retryStore)
		}
	}
}

// last saves what is left, when nothing is under way any longer. It gives up when
// the store fails.
func (s *saver) last(ctx context.Context) {
	for s.dirty() && s.saveBatch(ctx, time.Now()) == nil {
	}
}

func (s *saver) dirty() bool {
	s.Lock()
	defer s.Unlock()
	return len(s.channels.unsaved) > 0
}

// next returns the number of a batch that will save everything of now. Locked.
func (s *saver) next() uint64 { return s.batches + 1 }

// saved reports whether what changed before batch n is in the store. Locked.
func (s *saver) saved(n uint64) bool {
	return s.complete >= n || len(s.channels.unsaved) == 0 && !s.saving
}

// change is one channel's part of a batch.
type change struct {
	channel  *channelState
	resets   int
	progress channel.Progress
}

// saveBatch commits the positions that changed. Offers that have been open since a
// time are written as stragglers, so that they stop nothing.
func (s *saver) saveBatch(ctx context.Context, since time.Time) error {
	changes, positions, all := s.takeChanges(since)
	var err error
	if len(positions) > 0 {
		err = s.store.Advance(ctx, positions)
		s.count(ctx, positions, err)
	}
	s.Lock()
	defer s.Unlock()
	s.saving = false
	if all && err == nil {
		s.complete = s.batches
	}
	for _, change := range changes {
		c := change.channel
		c.saving = false
		if c.resets == change.resets {
			c.pos.EndSave(change.progress, err == nil)
		}
		s.channels.touch(c)
	}
	return err
}

func (s *saver) takeChanges(since time.Time) (changes []change, positions []channel.Progress, all bool) {
	s.Lock()
	defer s.Unlock()
	s.batches++
	s.saving = true
	stragglers := 0
	for c := range s.channels.unsaved {
		if len(changes) == maxBatch || stragglers > maxStragglers {
			signal(s.channels.changed)
			signal(s.channels.urgent)
			return changes, positions, false
		}
		delete(s.channels.unsaved, c)
		c.saving = true
		c.pos.Expire(since)
		progress, changed := c.pos.BeginSave(maxStragglers)
		stragglers += len(progress.Stragglers)
		progress.Channel, progress.Incarnation = c.id, c.info.Incarnation
		changes = append(changes, change{c, c.resets, progress})
		if changed {
			positions = append(positions, progress)
		}
	}
	return changes, positions, true
}

func (s *saver) count(ctx context.Context, positions []channel.Progress, err error) {
	if err != nil {
		s.metrics.StoreFailed("advance")
		if ctx.Err() == nil {
			s.log.Warn("delivery positions were not committed, and will be again", "channels", len(positions), "error", err)
		}
		return
	}
	s.metrics.batches.Inc()
	s.metrics.positions.Add(float64(len(positions)))
	for _, p := range positions {
		s.metrics.stragglers.Add(float64(len(p.Stragglers)))
	}
}
