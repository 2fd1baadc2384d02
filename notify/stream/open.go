package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Open opens a stream of the updates that filter chooses, behind a cursor that an
// event had as its ID. With an empty cursor it begins now, and for the subscriptions
// of the filter at their first version. The error wraps [ErrCursor] or
// [channel.ErrNotFound]. The caller closes the stream.
//
// Streams wait for each other while they open: with hundreds that read at a time, as after a
// start, none would be done within the time that its caller has, and all would come again. One
// that waits for too long has not enough time left, and ends with context.DeadlineExceeded.
func (h *Hub) Open(ctx context.Context, chosen api.StreamFilter, cursor string) (*Stream, error) {
	select {
	case h.opening <- struct{}{}:
		defer func() { <-h.opening }()
	case <-time.After(openingWait):
		return nil, fmt.Errorf("other streams are opening: %w", context.DeadlineExceeded)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	table, now := h.now()
	s := &Stream{hub: h, reader: &reader{filter: newFilter(chosen)}, opened: now, at: spot{place: now}, lost: make(map[channel.ID]uint64)}
	if cursor != "" {
		if err := s.resume(cursor); err != nil {
			return nil, err
		}
	}
	if err := s.choose(ctx, chosen, cursor == ""); err != nil {
		return nil, err
	}
	h.add(s.reader, chosen.Subscriptions, table, now)
	if cursor != "" {
		h.closeAgain(s.at.place)
	}
	if err := h.recheck(ctx, chosen.Subscriptions); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (h *Hub) beginnings(ctx context.Context, subs []string, exist bool) ([]channel.Beginning, error) {
	if len(subs) == 0 {
		return nil, nil
	}
	found, err := h.store.Beginnings(ctx, subs, exist)
	if err != nil {
		return found, fmt.Errorf("subscriptions of a stream: %w", err)
	}
	return found, nil
}

// resume puts a stream behind a cursor, or resets it to now when the cursor is of
// another epoch, or lies ahead of what a cursor may name. One that is too old shows
// when it is read from.
func (s *Stream) resume(cursor string) error {
	epoch, at, err := decodeCursor(cursor)
	if err != nil {
		return err
	}
	if epoch != s.hub.config.Epoch || s.hub.isAhead(at, s.at.place) {
		s.reset(s.at.place)
		return nil
	}
	s.at.place = at
	return nil
}

// isAhead reports whether a place lies ahead of everything that has happened. A clock
// gave it that has been set back since: behind it, updates of the time in between would
// be missed. A node that alone knows all that is closed finds such a place by that
// alone. In a cluster another node may have closed more, and this one may have slept:
// there the stream waits, unless the place is also far ahead of this node's clock. No
// range is asked to close it, since a reader may have made it up.
func (h *Hub) isAhead(at, closed place) bool {
	all := channel.Range{To: lastBucket}
	limit := closed.highest(all)
	if h.config.Ahead > 0 {
		wall := uint64(max(time.Now().UnixMicro(), 0))
		limit = channel.EndOf(max(limit.Stamp, wall) + uint64(h.config.Ahead.Microseconds()))
	}
	return limit.Less(at.highest(all))
}

// closeAgain asks ranges that have closed less than a reader's cursor says they had, as
// far as another range here has closed it. On a node that is alone the clock may have
// been set back since: what such a range commits next would lie before the cursor.
func (h *Hub) closeAgain(at place) {
	s := h.session()
	if s == nil {
		return
	}
	newest := uint64(0)
	for _, f := range s.followers {
		newest = max(newest, h.store.ClosedIn(f.Range))
	}
	for i, f := range s.followers {
		if a := (ask{i, min(at.highest(f.Range).Stamp, newest), true}); !s.hasClosed(a) {
			s.demand(a)
		}
	}
}

// choose fills the filter. A stream that begins with subscriptions begins at the
// first update that any of them gets.
func (s *Stream) choose(ctx context.Context, chosen api.StreamFilter, begins bool) error {
	for _, id := range chosen.Channels {
		s.reader.filter.add(id, selector{after: s.at.place.of(id.Bucket())})
	}
	found, err := s.hub.beginnings(ctx, chosen.Subscriptions, false)
	if err != nil {
		return err
	}
	news := make(map[channel.ID]bool)
	for i, b := range found {
		id := chosen.Subscriptions[i]
		if b.Missing {
			return fmt.Errorf("subscription %s: %w", id, channel.ErrNotFound)
		}
		s.reader.filter.add(b.Channel, selector{sub: id, from: b.From})
		if begins && b.Gap != nil {
			s.reportLost(b.Channel, *b.Gap)
		}
		if begins && b.News != (channel.Cursor{}) {
			s.at.place = s.at.place.before(b.News.Before())
			news[b.Channel] = true
		}
	}
	if !begins {
		return nil
	}
	s.silent = make(map[channel.ID]bool)
	for _, b := range found {
		if !news[b.Channel] {
			s.silent[b.Channel] = true
		}
	}
	return nil
}
