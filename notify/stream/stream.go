package stream

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Stream is a reader's place in the updates of all ranges. It implements
// [api.EventStream]: one goroutine reads it, any may close it.
type Stream struct {
	hub    *Hub
	reader *reader

	opened place                 // now, when it was opened
	silent map[channel.ID]bool   // chosen channels that had no news up to there, of a stream that began then
	at     spot                  // everything up to here was returned, or was not chosen
	notice []event               // to be returned before anything else
	behind *catchUp              // while it reads from the store
	retry  time.Time             // when to read ranges again that could not be read; zero: at once
	lost   map[channel.ID]uint64 // versions up to which a gap was reported
}

// Close ends the stream: Next returns io.EOF.
func (s *Stream) Close() { s.hub.remove(s.reader) }

// Next waits for the next event. It returns io.EOF when the stream was closed, the
// node stops, or all of its subscriptions were deleted. After an error the stream
// may be read on.
func (s *Stream) Next(ctx context.Context) (api.StreamEvent, error) {
	for {
		e, grown, err := s.step(ctx)
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
		if err := s.wait(ctx, grown); err != nil {
			return api.StreamEvent{}, err
		}
	}
}

// wait waits until there may be more in memory, or a range can be read again.
func (s *Stream) wait(ctx context.Context, grown <-chan struct{}) error {
	var retry <-chan time.Time
	if !s.retry.IsZero() {
		timer := time.NewTimer(time.Until(s.retry))
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-grown:
	case <-retry:
	}
	return nil
}

func (s *Stream) emit(e event) api.StreamEvent {
	s.hub.metrics.events.WithLabelValues(e.kind).Inc()
	out := api.StreamEvent{Type: e.kind, Data: json.RawMessage(e.data)}
	if e.at != (channel.Cursor{}) {
		out.ID = encodeCursor(s.hub.config.Epoch, s.at.place)
	}
	return out
}

// step returns the next event, or what to wait for; neither when it is to be called
// again.
func (s *Stream) step(ctx context.Context) (*event, <-chan struct{}, error) {
	if s.hub.over(s.reader) {
		return nil, nil, io.EOF
	}
	if len(s.notice) > 0 {
		e := s.notice[0]
		s.notice = s.notice[1:]
		return &e, nil, nil
	}
	if s.behind != nil {
		e, err := s.fromStore(ctx)
		return e, nil, err
	}
	mayRead := s.retry.IsZero() || !time.Now().Before(s.retry)
	found := s.hub.next(s.reader, &s.at, mayRead)
	if found.event == nil && found.grown == nil {
		s.catchUp(found.target)
	} else if mayRead {
		s.retry = time.Time{} // nothing is left to be read
	}
	return found.event, found.grown, nil
}
