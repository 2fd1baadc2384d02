package notify

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// savePositions commits what changed, a batch at a time, at most batchDelay after
// it did.
func (w *webhooks) savePositions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.unsaved:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(batchDelay):
		case <-w.urgent:
		}
		if w.saveBatch(ctx, time.Now().Add(-batchDelay)) != nil {
			pause(ctx, retryStore)
		}
	}
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

type change struct {
	channel  *channelState
	resets   int
	progress channel.Progress
}

// saveBatch commits the positions that changed. What has been fresh since before a
// time is written as a straggler, so that it holds nothing up.
func (w *webhooks) saveBatch(ctx context.Context, before time.Time) error {
	changes, positions, all := w.takeChanges(before)
	var err error
	if len(positions) > 0 {
		err = w.store.Advance(ctx, positions)
		w.countBatch(ctx, positions, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.saving = false
	if all && err == nil {
		w.mu.complete = w.mu.batches
	}
	for _, change := range changes {
		c := change.channel
		c.saving = false
		if c.resets == change.resets {
			c.pos.wrote(change.progress, err == nil)
		}
		w.touch(c)
	}
	return err
}

// saved reports whether what changed before batch n is in the store. Locked.
func (w *webhooks) saved(n uint64) bool {
	return w.mu.complete >= n || len(w.mu.dirty) == 0 && !w.mu.saving
}

func (w *webhooks) takeChanges(before time.Time) (changes []change, positions []channel.Progress, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.batches++
	w.mu.saving = true
	stragglers := 0
	for c := range w.mu.dirty {
		if len(changes) == maxBatch || stragglers > maxStragglers {
			signal(w.unsaved)
			signal(w.urgent)
			return changes, positions, false
		}
		delete(w.mu.dirty, c)
		c.saving = true
		c.pos.age(before)
		progress, changed := c.pos.save(maxStragglers)
		stragglers += len(progress.Stragglers)
		progress.Channel, progress.Incarnation = c.id, c.info.Incarnation
		changes = append(changes, change{c, c.resets, progress})
		if changed {
			positions = append(positions, progress)
		}
	}
	return changes, positions, true
}

const (
	maxBatch      = 1024 // channels in one commit of positions
	maxStragglers = 8192 // about as many of one channel, and three times as many in all
)

func (w *webhooks) countBatch(ctx context.Context, positions []channel.Progress, err error) {
	if err != nil {
		w.metrics.storeFails.WithLabelValues("advance").Inc()
		if ctx.Err() == nil {
			w.log.Warn("delivery positions were not committed, and will be again", "channels", len(positions), "error", err)
		}
		return
	}
	w.metrics.batches.Inc()
	w.metrics.positions.Add(float64(len(positions)))
	for _, p := range positions {
		w.metrics.stragglers.Add(float64(len(p.Stragglers)))
	}
}

// saveEndpoints commits the states of endpoints that changed. They have a loop of
// their own, since each is a commit by itself and many may fail at once.
func (w *webhooks) saveEndpoints(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.unsavedEndpoints:
		}
		pause(ctx, batchDelay) // most failures of a moment are over by then
		w.saveRecords(ctx)
	}
}

func (w *webhooks) saveRecords(ctx context.Context) {
	var all sync.WaitGroup
	room := make(chan struct{}, 16)
	for e, record := range w.takeRecords() {
		room <- struct{}{}
		all.Go(func() {
			w.saveRecord(ctx, e, record)
			<-room
		})
	}
	all.Wait()
}

// takeRecords returns the records to be saved. An endpoint that fails for as long
// as it took to come here gives back its lanes.
func (w *webhooks) takeRecords() map[*endpoint]channel.Endpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := make(map[*endpoint]channel.Endpoint)
	for e := range w.mu.unsavedAt {
		if !e.record.Healthy() {
			w.setAsideQueue(e)
		}
		if e.record == e.saved && !e.unsure {
			w.forgetEndpoint(e)
		} else if e.lostUntil.IsZero() || e.record.State != channel.EndpointActive {
			records[e], e.unsure = e.record, true
		}
	}
	clear(w.mu.unsavedAt)
	return records
}

func (w *webhooks) saveRecord(ctx context.Context, e *endpoint, record channel.Endpoint) {
	err := w.store.SetEndpoint(ctx, record)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		e.saved, e.unsure = record, false
		w.forgetEndpoint(e)
		return
	}
	w.metrics.storeFails.WithLabelValues("endpoint").Inc()
	w.mu.unsavedAt[e] = struct{}{}
	w.later(time.Now().Add(retryStore), func() { signal(w.unsavedEndpoints) })
}

// saveLast saves everything once more, when nothing is under way any longer.
func (w *webhooks) saveLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	for w.dirty() && w.saveBatch(ctx, time.Now()) == nil {
	}
	w.saveRecords(ctx)
}

func (w *webhooks) dirty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mu.dirty) > 0
}
