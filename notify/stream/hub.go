// Package stream delivers updates to cursor sinks.
//
// A [Stream] is read: each event carries a cursor, and a reader that comes back
// with it goes on exactly behind that event, since what it missed is read from the
// store. The order of all updates is (stamp, bucket), across all channels, so one
// place in that order resumes any stream, filtered or not.
//
// While any stream is open the [Hub] follows that order and keeps its newest events
// in memory, encoded once for all streams. A stream has no buffer: its state is a
// place. If the place is within memory it takes its next event from there, else it
// reads a page from the store, so no stream is waited for.
package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
)

// Hub feeds streams. It is safe for concurrent use.
type Hub struct {
	config  Config
	store   Store
	log     *slog.Logger
	metrics *metrics
	wake    chan struct{} // 1: there may be more in the store

	// Guards its fields, and those of readers. No other lock is taken while it is
	// held, and the store is not called.
	mu struct {
		sync.Mutex
		readers   map[*reader]struct{}
		bySub     map[string]map[*reader]struct{}
		announced uint64 // the newest stamp that a hook announced
		tail      tail
		grown     chan struct{} // closed when the tail grows, or the hub stops
		stopped   bool
	}
}

// reader is what the hub knows of a stream.
type reader struct {
	filter filter
	closed bool
}

const (
	followPage  = 64 // updates read from the store at a time
	minRecheck  = time.Millisecond
	maxRecheck  = 16 * time.Millisecond
	retryFollow = time.Second
)

// NewHub returns a hub on a store, with a configuration that is valid and whose
// defaults are decided; [Hub.Run] starts it.
func NewHub(config Config, store Store, log *slog.Logger, factory *metric.Factory) *Hub {
	h := &Hub{config: config, store: store, log: log, metrics: newMetrics(factory), wake: make(chan struct{}, 1)}
	h.mu.readers = make(map[*reader]struct{})
	h.mu.bySub = make(map[string]map[*reader]struct{})
	h.mu.grown = make(chan struct{})
	return h
}

// Committed notes that there is an update, or the notice that a channel is gone.
func (h *Hub) Committed(u channel.Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.announced = max(h.mu.announced, u.Stamp)
	if len(h.mu.readers) > 0 {
		h.signal()
	}
}

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

// Run follows the store until ctx ends, and ends all streams then. What a hook
// announced is not readable as long as an older stamp may still be committed elsewhere. No
// hook announces the end of that: the hub looks again after 1, 2, 4 … 16 ms.
func (h *Hub) Run(ctx context.Context) {
	defer h.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	recheck := minRecheck
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			recheck = minRecheck
		case <-timer.C:
		}
		more, err := h.follow()
		switch {
		case err != nil:
			h.metrics.StoreFailed("follow")
			h.log.Warn("store read failed, streams wait", "error", err)
			timer.Reset(retryFollow)
		case more:
			timer.Reset(recheck)
			recheck = min(2*recheck, maxRecheck)
		}
	}
}

func (h *Hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.stopped = true
	close(h.mu.grown)
}

// follow reads what is new in the store, and reports whether a hook announced
// more than can be read yet.
func (h *Hub) follow() (more bool, err error) {
	for {
		after, open := h.end()
		if !open {
			return false, nil
		}
		closed := h.store.Closed() // before reading: what is closed then is in the page
		page, err := h.store.UpdatesSince(after, followPage)
		if errors.Is(err, channel.ErrTooOld) {
			h.restart(channel.EndOf(closed))
			continue
		}
		if err != nil {
			return false, err
		}
		events := make([]event, 0, len(page))
		for _, u := range page {
			events = append(events, updateEvent(u, h.log))
		}
		if len(page) == followPage {
			h.extend(events, events[len(events)-1].at)
			continue
		}
		return h.extend(events, channel.EndOf(closed)), nil
	}
}

// end returns the end of the tail, and whether any stream is open.
func (h *Hub) end() (end channel.Cursor, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.tail.end, len(h.mu.readers) > 0
}

// restart forgets all events: what streams have not seen they find in the store, or
// find lost.
func (h *Hub) restart(at channel.Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.tail = tail{start: at, end: at}
	h.wakeReaders()
}

// extend adds events and moves the end, and reports whether a hook announced more.
func (h *Hub) extend(events []event, end channel.Cursor) (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.tail.extend(events, end, h.config.TailBytes)
	if len(events) > 0 {
		h.wakeReaders()
	}
	return h.mu.announced > h.mu.tail.end.Stamp
}

// Locked.
func (h *Hub) wakeReaders() {
	if !h.mu.stopped {
		close(h.mu.grown)
		h.mu.grown = make(chan struct{})
	}
}

func (h *Hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// add makes a reader known, for which the hub follows the store from now on.
func (h *Hub) add(r *reader, subs []string, now channel.Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.readers) == 0 {
		h.mu.tail = tail{start: now, end: now}
		h.signal()
	}
	h.mu.readers[r] = struct{}{}
	for _, id := range subs {
		if h.mu.bySub[id] == nil {
			h.mu.bySub[id] = make(map[*reader]struct{})
		}
		h.mu.bySub[id][r] = struct{}{}
	}
	h.metrics.streams.Inc()
}

// remove closes a reader. It may be called again.
func (h *Hub) remove(r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	delete(h.mu.readers, r)
	for _, id := range r.filter.subs() {
		delete(h.mu.bySub[id], r)
		if len(h.mu.bySub[id]) == 0 {
			delete(h.mu.bySub, id)
		}
	}
	h.wakeReaders()
	h.metrics.streams.Dec()
}

// over reports whether a reader gets nothing more.
func (h *Hub) over(r *reader) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.closed || h.mu.stopped || r.filter.empty()
}

// wants reports whether a reader has chosen an update.
func (h *Hub) wants(r *reader, u channel.Update) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.filter.matches(u.Channel, u.Version, u.Gone, u.Cursor())
}

// chosen returns the channels of a reader's filter with the first version that is
// wanted of each; all when it has none.
func (h *Hub) chosen(r *reader) (channels map[channel.ID]uint64, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.filter.firsts(), r.filter.all
}

// next returns the first event in memory behind a place that a reader has chosen,
// and the place that this brings it to. Without such an event, grown is closed when
// there may be one. With neither, the place lies before memory, and to is where
// memory begins.
func (h *Hub) next(r *reader, at channel.Cursor) (e *event, to channel.Cursor, grown <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if start := h.mu.tail.start; at.Less(start) {
		return nil, start, nil
	}
	for _, e := range h.mu.tail.behind(at) {
		at = e.at
		if r.filter.matches(e.channel, e.version, e.gone, e.at) {
			return &e, at, nil
		}
	}
	if at.Less(h.mu.tail.end) {
		at = h.mu.tail.end
	}
	return nil, at, h.mu.grown
}
