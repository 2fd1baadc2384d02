package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Open opens a stream of the updates that filter chooses, behind a cursor that an
// event had as its ID. With an empty cursor it begins now, and for the subscriptions
// of the filter at their first version. The error wraps [ErrCursor] or
// [channel.ErrNotFound]. The caller closes the stream.
func (h *Hub) Open(ctx context.Context, chosen api.StreamFilter, cursor string) (*Stream, error) {
	now := channel.EndOf(h.store.Closed())
	s := &Stream{hub: h, reader: &reader{filter: newFilter(chosen)}, at: now, lost: make(map[channel.ID]uint64), passed: make(map[channel.ID]passed)}
	if cursor != "" {
		if err := s.resume(cursor); err != nil {
			return nil, err
		}
	}
	if err := s.choose(ctx, chosen, cursor == ""); err != nil {
		return nil, err
	}
	h.add(s.reader, chosen.Subscriptions, now)
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
			s.hub.Unsubscribed(id)
		case err != nil:
			return fmt.Errorf("subscription %s: %w", id, err)
		}
	}
	return nil
}

// resume puts a stream behind a cursor, or resets it to now when the cursor is of
// another epoch, lies ahead of all that is closed, or, on a stream of everything, is
// too old. A stream of chosen channels is never too old: it gets what is kept of
// them, and a gap for what is not. A place ahead was given before a restart by a
// clock that has been set back since: behind it updates of the time in between would
// be missed.
func (s *Stream) resume(cursor string) error {
	epoch, at, err := decodeCursor(cursor)
	if err != nil {
		return err
	}
	if epoch == s.hub.config.Epoch && s.reader.filter.all {
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

// choose fills the filter. A stream that begins with subscriptions begins at the
// first update that any of them gets.
func (s *Stream) choose(ctx context.Context, chosen api.StreamFilter, begins bool) error {
	now := s.at
	for _, id := range chosen.Channels {
		s.reader.filter.add(id, selector{after: now})
	}
	for _, id := range chosen.Subscriptions {
		if err := ctx.Err(); err != nil {
			return err
		}
		sub, err := s.hub.store.Subscription(id)
		if err != nil {
			return fmt.Errorf("subscription %s: %w", id, err)
		}
		s.reader.filter.add(sub.Channel, selector{sub: id, from: sub.FromVersion})
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
		s.reportLost(sub.Channel, *gap)
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
