// Package stream delivers updates to cursor sinks.
//
// A [Stream] is read: each event carries a cursor, and a reader that comes back
// with it goes on exactly behind that event, since what it missed is read from the
// store. A cursor is a place: how far the stream has come in every range. The common
// order of all updates is (stamp, bucket), so one stamp says this for all ranges but
// those that lag.
//
// While any stream is open the [Hub] follows all ranges, merges them in that order and
// keeps the newest events in memory, encoded once for all streams. A stream has no
// buffer: its state is a place. What memory has behind the place it takes from there,
// the rest it reads from the store in pages, so no stream is waited for.
package stream

import (
	"context"
	"log/slog"
	"slices"
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
	wake    chan struct{} // 1: there is a session to run
	opening chan struct{} // streams that read where they begin
	reading chan struct{} // readings of ranges by streams that are behind; nil: any number

	// Guards its fields, and those of readers. No other lock is taken while it is
	// held, and the store is not called.
	mu struct {
		sync.Mutex
		readers map[*reader]struct{}
		bySub   map[string]map[*reader]struct{}
		session *session // nil while no stream is open
		tail    tail
		grown   chan struct{} // closed when the tail grows, or the hub stops
		stopped bool
	}
}

// How many streams read where they begin at a time, and how long another waits for that.
const (
	openings    = 8
	openingWait = 2 * time.Second
)

// reader is what the hub knows of a stream.
type reader struct {
	filter filter
	closed bool
}

// NewHub returns a hub on a store, with a configuration that is valid and whose
// defaults are decided; [Hub.Run] starts it.
func NewHub(config Config, store Store, log *slog.Logger, factory *metric.Factory) *Hub {
	h := &Hub{config: config, store: store, log: log, metrics: newMetrics(factory), wake: make(chan struct{}, 1), opening: make(chan struct{}, openings)}
	if config.Readings > 0 {
		h.reading = make(chan struct{}, config.Readings)
	}
	h.mu.readers = make(map[*reader]struct{})
	h.mu.bySub = make(map[string]map[*reader]struct{})
	h.mu.grown = make(chan struct{})
	return h
}

// Run follows the store while streams are open, until ctx ends, and ends all streams
// then.
func (h *Hub) Run(ctx context.Context) {
	defer h.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		for s := h.session(); s != nil && ctx.Err() == nil; s = h.session() {
			s.run(ctx)
		}
	}
}

func (h *Hub) session() *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.session
}

func (h *Hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.stopped = true
	close(h.mu.grown)
}

// now returns all ranges, and the place behind what each has closed: what is committed
// from now on lies behind it, whatever the ranges' clocks say.
func (h *Hub) now() (table []channel.Range, at place) {
	table = h.store.Table()
	closed := make([]uint64, len(table))
	for i, r := range table {
		closed[i] = h.store.ClosedIn(r)
	}
	at.base = channel.EndOf(slices.Max(closed))
	for i, r := range table {
		at.add(r.From, r.To, channel.EndOf(closed[i]))
	}
	return table, at
}

// restart has memory begin again from now: what streams have not seen they find in
// the store, or find lost.
func (h *Hub) restart(old *session) {
	table, now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.session == old {
		h.begin(table, now)
		h.wakeReaders()
	}
}

// begin begins a session, and ends the one before. Locked.
func (h *Hub) begin(table []channel.Range, now place) {
	h.endSession()
	h.mu.tail.restart(now)
	h.mu.session = newSession(h, table, now)
	signal(h.wake)
}

// Locked.
func (h *Hub) endSession() {
	if h.mu.session != nil {
		close(h.mu.session.ended)
		h.metrics.lagging.Set(0)
	}
	h.mu.session = nil
}

// Locked.
func (h *Hub) wakeReaders() {
	if !h.mu.stopped {
		close(h.mu.grown)
		h.mu.grown = make(chan struct{})
	}
}

// add makes a reader known, for which the hub follows the store from now on.
func (h *Hub) add(r *reader, subs []string, table []channel.Range, now place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.session == nil {
		h.begin(table, now)
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
	if len(h.mu.readers) == 0 {
		h.endSession()
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
func (h *Hub) wants(r *reader, id channel.ID, version uint64, gone bool, at channel.Cursor) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.filter.matches(id, version, gone, at)
}

// chosen returns the channels of a reader's filter with the first version that is
// wanted of each; all when it has none.
func (h *Hub) chosen(r *reader) (channels map[channel.ID]uint64, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.filter.firsts(), r.filter.all
}

// spot is where a stream is: its place, and the number of the next event in memory
// that may be behind it.
type spot struct {
	place place
	next  uint64
}

// found is what memory has for a reader: an event, or what is closed when there may be
// one; or, where the reader's place is nowhere near memory, what to read up to.
type found struct {
	event  *event
	grown  <-chan struct{}
	target place
}

// next brings a stream to the first event in memory behind its place that it has
// chosen, or to the end. Ranges in which the place lies before memory are not told of
// until the stream has read them from the store; if it may do so now, it is told up to
// where.
func (h *Hub) next(r *reader, s *spot, mayRead bool) found {
	h.mu.Lock()
	defer h.mu.Unlock()
	tail := &h.mu.tail
	if s.next < tail.first {
		s.next = tail.find(s.place)
	}
	from, whole := tail.place(s.next), true
	if !s.place.same(from) {
		whole = s.place.covers(from)
		if !whole && mayRead {
			return found{target: from}
		}
	}
	for i := range tail.events[s.next-tail.first:] {
		e := &tail.events[s.next-tail.first+uint64(i)]
		if s.place.has(e.at) || !whole && s.place.of(e.at.Bucket).Less(from.of(e.at.Bucket)) {
			continue
		}
		if r.filter.matches(e.channel, e.version, e.gone, e.at) {
			s.place, s.next = s.place.follow(from, e.after), s.next+uint64(i)+1
			chosen := *e
			return found{event: &chosen}
		}
	}
	s.next = tail.end()
	s.place = s.place.follow(from, tail.place(s.next))
	return found{grown: h.mu.grown}
}
