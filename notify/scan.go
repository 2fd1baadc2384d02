package notify

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// scan looks for what is to be delivered, in the store alone: at the start, and
// whenever a wake or a note found no room.
func (w *webhooks) scan(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.scanning:
		}
		w.metrics.scans.Inc()
		w.mu.Lock()
		wants := w.mu.scanWants
		w.mu.Unlock()
		if !w.scanChannels(ctx) {
			return
		}
		w.mu.Lock()
		w.mu.scanned = wants
		w.mu.Unlock()
	}
}

// wantScan has all channels looked at. Locked.
func (w *webhooks) wantScan() {
	w.mu.scanWants++
	signal(w.scanning)
}

// allFound reports whether every straggler of the store is known: no scan is under
// way or due. Locked.
func (w *webhooks) allFound() bool { return w.mu.scanned == w.mu.scanWants && w.mu.scans == 0 }

// scanChannels gives every channel that may have something to deliver a turn; false
// when all stops.
func (w *webhooks) scanChannels(ctx context.Context) bool {
	var after *channel.ID
	for {
		page, err := w.store.Channels(after, w.limits.page)
		if err != nil {
			w.metrics.storeFails.WithLabelValues("channels").Inc()
			w.log.Warn("store read failed, the scan of channels waits", "error", err)
			pause(ctx, retryStore)
			if ctx.Err() != nil {
				return false
			}
			continue
		}
		for _, info := range page {
			if info.Webhooks > 0 && (info.Version > 1 || info.Gone) && !w.settled(info) && !w.found(info.ID) {
				return false
			}
		}
		if len(page) < w.limits.page {
			return true
		}
		after = &page[len(page)-1].ID
	}
}

// settled reports whether the store says that everybody has everything: so it is
// with nearly all channels of a start, and they need no turn. Of a channel in memory
// the store may not know all; what happens to others from now on is a wake.
func (w *webhooks) settled(info channel.Channel) bool {
	if info.Gone || w.inMemory(info.ID) {
		return false
	}
	p, err := w.store.Progress(info.ID)
	if err != nil || p.Incarnation != info.Incarnation || len(p.Stragglers) > 0 ||
		p.Version != info.Version || p.Seq&channel.Told != 0 {
		return false // or a failed read, which the turn will meet again
	}
	behind, err := w.store.Webhooks(info.ID, p.Seq, 1)
	return err == nil && len(behind) == 0
}

func (w *webhooks) inMemory(id channel.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.channels[id] != nil
}

// found gives a channel a turn in which its stragglers get lanes, and waits for
// room before; false when all stops.
func (w *webhooks) found(id channel.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mu.runnable.len() > w.limits.runnable/2 && !w.mu.stopped {
		w.drained.Wait()
	}
	c := w.mu.channels[id]
	if c == nil {
		c = w.addChannel(id)
	}
	c.stale = true
	w.addDrain(c, drain{})
	return !w.mu.stopped
}
