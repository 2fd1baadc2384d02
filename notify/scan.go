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
			if info.Webhooks > 0 && (info.Version > 1 || info.Gone) && !w.found(info.ID) {
				return false
			}
		}
		if len(page) < w.limits.page {
			return true
		}
		after = &page[len(page)-1].ID
	}
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
