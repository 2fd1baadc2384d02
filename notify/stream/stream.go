package stream

import (
	"context"
	"encoding/json"
	"io"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Stream is a reader's place in the order of all updates. It implements
// [api.EventStream]: one goroutine reads it, any may close it.
type Stream struct {
	hub    *Hub
	reader *reader

	at     channel.Cursor        // everything up to here was returned, or was not chosen
	page   []channel.Update      // read from the store, behind at
	notice []event               // to be returned before anything else
	lost   map[channel.ID]uint64 // versions up to which a gap was reported
	passed map[channel.ID]passed // versions that need not be read again
}

// Close ends the stream: Next returns io.EOF.
func (s *Stream) Close() { s.hub.remove(s.reader) }

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
	s.hub.metrics.events.WithLabelValues(e.kind).Inc()
	out := api.StreamEvent{Type: e.kind, Data: json.RawMessage(e.data)}
	if e.at != (channel.Cursor{}) {
		out.ID = encodeCursor(s.hub.config.Epoch, e.at)
	}
	return out
}

// step returns the next event, or what to wait for; neither when it is to be called
// again.
func (s *Stream) step() (*event, <-chan struct{}, error) {
	if s.hub.over(s.reader) {
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
		if s.hub.wants(s.reader, u) {
			e := updateEvent(u, s.hub.log)
			return &e, nil, nil
		}
	}
	e, to, grown := s.hub.next(s.reader, s.at)
	if e == nil && grown == nil {
		return nil, nil, s.catchUp(to)
	}
	s.at = to
	return e, grown, nil
}
