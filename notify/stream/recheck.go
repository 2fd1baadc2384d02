package stream

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// recheckPage is how many subscriptions are asked for at a time.
	recheckPage = 1_000
	// recheckRest is how many times as long as a recheck takes it rests at least, up to
	// recheckMost: ranges without a leader take seconds each.
	recheckRest = 20
	recheckMost = time.Minute
)

// Unsubscribed ends what streams carry for a deleted subscription.
func (h *Hub) Unsubscribed(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.mu.bySub[id] {
		r.filter.drop(id)
	}
	if len(h.mu.bySub[id]) > 0 {
		h.wakeReaders()
	}
	delete(h.mu.bySub, id)
}

// recheck finds which of some subscriptions were deleted without this hub being told.
func (h *Hub) recheck(ctx context.Context, subs []string) error {
	found, err := h.beginnings(ctx, subs, true)
	for i, b := range found {
		if b.Missing {
			h.Unsubscribed(subs[i])
		}
	}
	return err
}

// recheckAll rechecks the subscriptions of all streams again and again until ctx ends.
// What cannot be read now is read the next time.
func (h *Hub) recheckAll(ctx context.Context) {
	for rest := h.config.Recheck; rest > 0; {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		for page := range slices.Chunk(h.subscriptions(), recheckPage) {
			if err := h.recheck(ctx, page); err != nil && ctx.Err() == nil {
				h.log.Warn("cannot look which subscriptions of streams were deleted", "error", err)
			}
		}
		rest = max(h.config.Recheck, min(recheckRest*time.Since(began), recheckMost))
	}
}

// subscriptions returns those of all streams, those of a range beside each other.
func (h *Hub) subscriptions() []string {
	h.mu.Lock()
	ids := slices.Collect(maps.Keys(h.mu.bySub))
	h.mu.Unlock()
	slices.Sort(ids)
	return ids
}
