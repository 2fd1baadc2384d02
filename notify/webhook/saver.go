package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// saver commits the positions that changed, a batch at a time (group commit), of each
// range by itself: one that does not answer holds up its own positions only.
type saver struct {
	*core
	channels *channels
	saved    func(*tenure)  // told when a commit has returned. Locked.
	batches  sync.WaitGroup // under way, at most one of each range
}

const (
	maxBatch      = 1024 // channels in one commit of positions
	maxStragglers = 8192 // about as many of one channel, and three times as many in all
)

// run saves a batch at most batchDelay after a position changed, until ctx ends. It
// returns when no batch is under way.
func (s *saver) run(ctx context.Context) {
	defer s.batches.Wait()
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
		for _, b := range s.begin(time.Now().Add(-batchDelay)) {
			s.batches.Go(func() { s.save(ctx, b) })
		}
	}
}

// save commits a batch. When that fails, its range rests for a moment.
func (s *saver) save(ctx context.Context, b *batch) {
	if s.commit(ctx, b) != nil && s.holds(b.tenure) {
		pause(ctx, retryStore)
	}
	s.Lock()
	defer s.Unlock()
	b.tenure.saving = false
	s.saved(b.tenure)
	if len(b.tenure.unsaved) > 0 {
		signal(s.channels.changed)
	}
}

// last saves what is left, when nothing is under way any longer. It gives up a range
// when the store fails.
func (s *saver) last(ctx context.Context) {
	for batches := s.begin(time.Now()); len(batches) > 0; batches = s.begin(time.Now()) {
		for _, b := range batches {
			s.batches.Go(func() {
				if s.commit(ctx, b) == nil {
					s.Lock()
					defer s.Unlock()
					b.tenure.saving = false
				}
			})
		}
		s.batches.Wait()
	}
}

// batch is what is committed of one range at a time.
type batch struct {
	tenure    *tenure
	changes   []change
	positions []channel.Progress
}

// change is one channel's part of a batch.
type change struct {
	channel  *channelState
	resets   int
	progress channel.Progress
}

// begin takes a batch of each range that has anything to save and is not being saved.
// Offers that have been open since a time are written as stragglers, so that they stop
// nothing.
func (s *saver) begin(since time.Time) (batches []*batch) {
	s.Lock()
	defer s.Unlock()
	for _, t := range s.led.All() {
		if len(t.unsaved) > 0 && !t.saving {
			t.saving = true
			batches = append(batches, s.take(t, since))
		}
	}
	return batches
}

// take makes a batch of what has changed in a range, or of so much of it that the rest
// is a batch by itself. Locked.
func (s *saver) take(t *tenure, since time.Time) *batch {
	b := &batch{tenure: t}
	stragglers := 0
	for c := range t.unsaved {
		if len(b.changes) == maxBatch || stragglers > maxStragglers {
			signal(s.channels.urgent)
			return b
		}
		delete(t.unsaved, c)
		c.saving = true
		c.pos.Expire(since)
		progress, changed := c.pos.BeginSave(maxStragglers)
		stragglers += len(progress.Stragglers)
		progress.Channel, progress.Incarnation = c.id, c.info.Incarnation
		b.changes = append(b.changes, change{c, c.resets, progress})
		if changed {
			b.positions = append(b.positions, progress)
		}
	}
	return b
}

// commit commits a batch and notes the outcome at its channels.
func (s *saver) commit(ctx context.Context, b *batch) (err error) {
	if len(b.positions) > 0 {
		err = s.store.Advance(ctx, b.positions)
		s.count(ctx, b, err)
	}
	s.Lock()
	defer s.Unlock()
	for _, change := range b.changes {
		c := change.channel
		c.saving = false
		if c.resets == change.resets {
			c.pos.EndSave(change.progress, err == nil)
		}
		s.channels.touch(c)
	}
	return err
}

func (s *saver) count(ctx context.Context, b *batch, err error) {
	if err != nil {
		s.metrics.StoreFailed("advance")
		if ctx.Err() == nil {
			s.log.Warn("delivery positions were not committed, and will be again", "range", b.tenure.ID, "channels", len(b.positions), "error", err)
		}
		return
	}
	s.metrics.batches.Inc()
	s.metrics.positions.Add(float64(len(b.positions)))
	for _, p := range b.positions {
		s.metrics.stragglers.Add(float64(len(p.Stragglers)))
	}
}
