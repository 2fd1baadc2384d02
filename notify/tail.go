package notify

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// hub feeds streams. While any is open, one goroutine follows the store's order of
// updates and keeps the newest events in memory, encoded once for all. A stream
// that has fallen behind them reads the store by itself, so no stream is waited
// for, and none has a buffer.
type hub struct {
	config  Config
	store   Store
	log     *slog.Logger
	metrics *metrics
	wake    chan struct{} // 1: there may be more in the store

	mu struct {
		sync.Mutex
		streams map[*Stream]struct{}
		bySub   map[string]map[*Stream]struct{}
		told    uint64         // the newest stamp that a hook told of
		start   channel.Cursor // events are all there are behind start, up to end
		end     channel.Cursor //
		events  []event        // in order
		bytes   int            // of events
		grown   chan struct{}  // closed when end moves, or the hub stops
		stopped bool
	}
}

// event is what streams carry. Version is that of an update, or the one after
// which the channel is gone.
type event struct {
	kind    string         // api.StreamUpdate, …
	at      channel.Cursor // zero: moves no cursor
	channel channel.ID
	version uint64
	gone    bool
	data    []byte
}

const (
	maxEvents   = 4096 // in memory, whatever their size
	followPage  = 64   // updates read from the store at a time
	eventBytes  = 128  // of an event besides its data
	minRecheck  = time.Millisecond
	maxRecheck  = 16 * time.Millisecond
	retryFollow = time.Second
)

func newHub(config Config, store Store, m *metrics) *hub {
	h := &hub{config: config, store: store, log: config.Logger, metrics: m, wake: make(chan struct{}, 1)}
	h.mu.streams = make(map[*Stream]struct{})
	h.mu.bySub = make(map[string]map[*Stream]struct{})
	h.mu.grown = make(chan struct{})
	return h
}

// committed notes that there is an update with a stamp.
func (h *hub) committed(stamp uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.told = max(h.mu.told, stamp)
	if len(h.mu.streams) > 0 {
		signal(h.wake)
	}
}

// run follows the store until ctx ends. What a hook told of is not readable as long
// as an older stamp may still be committed elsewhere, which nobody tells: it looks
// again soon.
func (h *hub) run(ctx context.Context) {
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
			h.metrics.storeFails.WithLabelValues("follow").Inc()
			h.log.Warn("store read failed, streams wait", "error", err)
			timer.Reset(retryFollow)
		case more:
			timer.Reset(recheck)
			recheck = min(2*recheck, maxRecheck)
		}
	}
}

func (h *hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.stopped = true
	close(h.mu.grown)
}

// follow takes over what is new in the store, and reports whether a hook told of
// more than can be read yet.
func (h *hub) follow() (more bool, err error) {
	for {
		after, open := h.position()
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
			events = append(events, h.encode(u))
		}
		if len(page) == followPage {
			h.extend(events, events[len(events)-1].at)
			continue
		}
		return h.extend(events, channel.EndOf(closed)), nil
	}
}

func (h *hub) position() (after channel.Cursor, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.end, len(h.mu.streams) > 0
}

// restart forgets all events: what streams have not seen they find in the store, or
// find lost.
func (h *hub) restart(at channel.Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.start, h.mu.end, h.mu.events, h.mu.bytes = at, at, nil, 0
	h.wakeStreams()
}

// extend adds events and moves the end, and reports whether a hook told of more.
func (h *hub) extend(events []event, end channel.Cursor) (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.mu.events = append(h.mu.events, e)
		h.mu.bytes += len(e.data) + eventBytes
		h.mu.end = e.at
	}
	h.trim()
	if h.mu.end.Less(end) {
		h.mu.end = end
	}
	if len(events) > 0 {
		h.wakeStreams()
	}
	return h.mu.told > h.mu.end.Stamp
}

// trim forgets the oldest events beyond what may be kept. Locked.
func (h *hub) trim() {
	n := 0
	for h.mu.bytes > h.config.TailBytes || len(h.mu.events)-n > maxEvents {
		h.mu.bytes -= len(h.mu.events[n].data) + eventBytes
		h.mu.start = h.mu.events[n].at
		h.mu.events[n] = event{} // or its data would live as long as the array
		n++
	}
	h.mu.events = h.mu.events[n:]
}

// Locked.
func (h *hub) wakeStreams() {
	if !h.mu.stopped {
		close(h.mu.grown)
		h.mu.grown = make(chan struct{})
	}
}

// encode makes an event of an update.
func (h *hub) encode(u channel.Update) event {
	e := event{kind: api.StreamUpdate, at: u.Cursor(), channel: u.Channel, version: u.Version, gone: u.Gone}
	if u.Gone {
		e.kind = api.StreamGone
		e.data = quoted(api.ChannelGone{Channel: u.Channel, URL: u.URL, Reason: reasonGone})
		return e
	}
	data, err := encodeUpdate(u)
	if err != nil {
		h.log.Error("committed update is unreadable", "channel", u.Channel, "version", u.Version, "error", err)
		return gapEvent(e, channel.Gap{From: u.Version, To: u.Version}, reasonUnreadable)
	}
	e.data = data
	return e
}

func gapEvent(e event, gap channel.Gap, reason string) event {
	e.kind = api.StreamGap
	e.data = quoted(api.ChannelGap{Channel: e.channel, From: gap.From, To: gap.To, Reason: reason})
	return e
}

// after returns where the events behind a cursor begin. Locked.
func (h *hub) after(c channel.Cursor) int {
	return sort.Search(len(h.mu.events), func(i int) bool { return c.Less(h.mu.events[i].at) })
}

// unsubscribed ends what a stream carries for a subscription.
func (h *hub) unsubscribed(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.mu.bySub[id] {
		s.filter.drop(id)
	}
	if len(h.mu.bySub[id]) > 0 {
		h.wakeStreams()
	}
	delete(h.mu.bySub, id)
}
