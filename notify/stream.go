package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Stream is a reader's place in the order of all updates. It implements
// [api.EventStream]: one goroutine reads it, any may close it.
type Stream struct {
	hub    *hub
	filter filter // guarded by hub.mu
	closed bool   // guarded by hub.mu

	at     channel.Cursor        // everything up to here was returned, or was not chosen
	page   []channel.Update      // read from the store, behind at
	notice []event               // to be returned before anything else
	lost   map[channel.ID]uint64 // versions up to which a gap was told of
	passed map[channel.ID]passed // versions that need not be read again
}

const catchUpPage = 16 // updates read from the store at a time by a stream that is behind

// open makes a stream.
func (h *hub) open(ctx context.Context, chosen api.StreamFilter, cursor string) (*Stream, error) {
	now := channel.EndOf(h.store.Closed())
	s := &Stream{hub: h, at: now, lost: make(map[channel.ID]uint64), passed: make(map[channel.ID]passed)}
	if cursor != "" {
		if err := s.resume(cursor, newFilter(chosen).all); err != nil {
			return nil, err
		}
	}
	if err := s.choose(ctx, chosen, cursor == ""); err != nil {
		return nil, err
	}
	h.add(s, chosen.Subscriptions, now)
	if err := s.recheck(chosen.Subscriptions); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// recheck finds subscriptions that were deleted before the hub knew the stream.
func (s *Stream) recheck(subs []string) error {
	for _, id := range subs {
		_, err := s.hub.store.Subscription(id)
		switch {
		case errors.Is(err, channel.ErrNotFound):
			s.hub.unsubscribed(id)
		case err != nil:
			return fmt.Errorf("subscription %s: %w", id, err)
		}
	}
	return nil
}

// resume puts a stream behind a cursor, or starts it anew when the cursor is of
// another epoch, lies ahead of all that is closed, or, on a stream of everything, is
// too old: a stream of chosen channels gets what is kept of them, and a gap for what is
// not. A place ahead is from before a restart, when the clock was: behind it updates
// of the time in between would be missed.
func (s *Stream) resume(cursor string, all bool) error {
	epoch, at, err := decodeCursor(cursor)
	if err != nil {
		return err
	}
	if epoch == s.hub.config.Epoch && all {
		_, err = s.hub.store.UpdatesSince(at, 1)
	}
	switch {
	case epoch != s.hub.config.Epoch, s.at.Less(at), errors.Is(err, channel.ErrTooOld):
		s.notice = append(s.notice, resetEvent(s.at))
	case err != nil:
		return fmt.Errorf("read updates: %w", err)
	default:
		s.at = at
	}
	return nil
}

// choose makes the filter. A stream that begins with subscriptions begins at the
// first update that any of them gets.
func (s *Stream) choose(ctx context.Context, chosen api.StreamFilter, begins bool) error {
	s.filter = newFilter(chosen)
	now := s.at
	for _, id := range chosen.Channels {
		s.filter.add(id, want{after: now})
	}
	for _, id := range chosen.Subscriptions {
		if err := ctx.Err(); err != nil {
			return err
		}
		sub, err := s.hub.store.Subscription(id)
		if err != nil {
			return fmt.Errorf("subscription %s: %w", id, err)
		}
		s.filter.add(sub.Channel, want{sub: id, from: sub.FromVersion})
		if begins {
			if err := s.reach(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach moves the beginning back to a subscription's first update.
func (s *Stream) reach(sub channel.Subscription) error {
	updates, gap, err := s.hub.store.Updates(sub.Channel, sub.FromVersion-1, 1)
	if err != nil && !errors.Is(err, channel.ErrNotFound) {
		return fmt.Errorf("read updates: %w", err)
	}
	if gap != nil {
		s.tellLost(sub.Channel, *gap)
	}
	if len(updates) == 0 {
		return s.reachGone(sub)
	}
	s.back(updates[0].Cursor())
	return nil
}

// reachGone moves the beginning back to the notice that the channel is gone,
// which is the first news for a subscription that has no update.
func (s *Stream) reachGone(sub channel.Subscription) error {
	ch, err := s.hub.store.Channel(sub.Channel)
	if err != nil && !errors.Is(err, channel.ErrNotFound) {
		return fmt.Errorf("read channel: %w", err)
	}
	if ch.GoneStamp > 0 {
		s.back(channel.Cursor{Stamp: ch.GoneStamp, Bucket: ch.ID.Bucket()})
	}
	return nil
}

// back moves the beginning so that it is before a place.
func (s *Stream) back(at channel.Cursor) {
	if start := at.Before(); start.Less(s.at) {
		s.at = start
	}
}

func resetEvent(at channel.Cursor) event {
	return event{kind: api.StreamReset, at: at, data: []byte("{}")}
}

// add makes a stream known to the hub, which follows the store from now on.
func (h *hub) add(s *Stream, subs []string, now channel.Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.streams) == 0 {
		h.mu.start, h.mu.end, h.mu.events, h.mu.bytes = now, now, nil, 0
		signal(h.wake)
	}
	h.mu.streams[s] = struct{}{}
	for _, id := range subs {
		if h.mu.bySub[id] == nil {
			h.mu.bySub[id] = make(map[*Stream]struct{})
		}
		h.mu.bySub[id][s] = struct{}{}
	}
	h.metrics.streams.Inc()
}

// Close ends the stream: Next returns io.EOF.
func (s *Stream) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	delete(h.mu.streams, s)
	for _, id := range s.filter.subs() {
		delete(h.mu.bySub[id], s)
		if len(h.mu.bySub[id]) == 0 {
			delete(h.mu.bySub, id)
		}
	}
	h.wakeStreams()
	h.metrics.streams.Dec()
}

// Next waits for the next event. It returns io.EOF when the stream was closed, the
// node stops, or all of its subscriptions were deleted. After an error the stream
// may be read on.
func (s *Stream) Next(ctx context.Context) (api.StreamEvent, error) {
	for {
		e, grown, err := s.step()
		if err != nil {
			return api.StreamEvent{}, err
		}
		if e != nil {
			return s.emit(*e), nil
		}
		if grown == nil { // behind: it may be for many pages that bring nothing
			if err := ctx.Err(); err != nil {
				return api.StreamEvent{}, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return api.StreamEvent{}, ctx.Err()
		case <-grown:
		}
	}
}

func (s *Stream) emit(e event) api.StreamEvent {
	s.hub.metrics.streamEvents.WithLabelValues(e.kind).Inc()
	out := api.StreamEvent{Type: e.kind, Data: json.RawMessage(e.data)}
	if e.at != (channel.Cursor{}) {
		out.ID = encodeCursor(s.hub.config.Epoch, e.at)
	}
	return out
}

// step returns the next event, or what to wait for; neither when it is to be called
// again.
func (s *Stream) step() (*event, <-chan struct{}, error) {
	if s.over() {
		return nil, nil, io.EOF
	}
	if len(s.notice) > 0 {
		e := s.notice[0]
		s.notice = s.notice[1:]
		return &e, nil, nil
	}
	for len(s.page) > 0 {
		u := s.page[0]
		s.page = s.page[1:]
		s.at = u.Cursor()
		if s.wants(u.Channel, u.Version, u.Gone, s.at) {
			e := s.hub.encode(u)
			return &e, nil, nil
		}
	}
	e, grown, behind := s.live()
	if behind != nil {
		return nil, nil, s.catchUp(*behind)
	}
	return e, grown, nil
}

func (s *Stream) over() bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.closed || s.hub.mu.stopped || s.filter.empty()
}

func (s *Stream) wants(id channel.ID, version uint64, gone bool, at channel.Cursor) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.filter.wants(id, version, gone, at)
}

// live takes the next event from memory. Behind is not nil when what comes next is
// no longer there: then it is where memory begins.
func (s *Stream) live() (e *event, grown <-chan struct{}, behind *channel.Cursor) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if start := h.mu.start; s.at.Less(start) {
		return nil, nil, &start
	}
	for _, e := range h.mu.events[h.after(s.at):] {
		s.at = e.at
		if s.filter.wants(e.channel, e.version, e.gone, e.at) {
			return &e, nil, nil
		}
	}
	if s.at.Less(h.mu.end) {
		s.at = h.mu.end
	}
	return nil, h.mu.grown, nil
}

// catchUp reads the next page from the store. Where memory begins everything before
// is closed, so that an empty page leads there.
func (s *Stream) catchUp(start channel.Cursor) error {
	s.hub.metrics.catchUps.Inc()
	page, err := s.readPage()
	switch {
	case errors.Is(err, channel.ErrTooOld):
		s.at = channel.EndOf(s.hub.store.Closed())
		s.notice = append(s.notice, resetEvent(s.at))
	case err != nil:
		return fmt.Errorf("read updates: %w", err)
	case len(page) == 0:
		s.at = start
	default:
		s.page = page
	}
	return nil
}
