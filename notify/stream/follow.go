package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

const followPage = 256 // updates of a range read from the store at a time

// follow reads a range whenever it may have more and its queue is empty.
func (s *session) follow(ctx context.Context, i int) {
	f, failing := s.followers[i], false
	for ctx.Err() == nil {
		changed, poke := s.hub.store.Changed(f.Range), f.poke
		var retry <-chan time.Time
		f.reading.Lock()
		full, err := s.read(ctx, i)
		f.reading.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, channel.ErrTooOld), err != nil && s.divided():
			s.hub.restart(s)
			return
		case err != nil:
			s.hub.metrics.StoreFailed("follow")
			if !failing {
				s.hub.log.Warn("store read failed, streams wait for the range", "range", f.Range.ID, "error", err)
			}
			retry, poke = time.After(retryFollow), nil
		default:
			s.bring(ctx)
		}
		if failing = err != nil; full {
			changed = nil
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-poke:
		case <-retry:
		}
	}
}

// divided reports whether the cluster has other ranges than when the session began.
func (s *session) divided() bool {
	return !slices.EqualFunc(s.followers, s.hub.store.Table(), func(f *follower, r channel.Range) bool { return f.Range == r })
}

// read reads the next page of a range into the merge. Full says that there is more to
// read, or was no room: the follower is poked when there is. The caller holds the
// follower's reading.
func (s *session) read(ctx context.Context, i int) (full bool, err error) {
	h, f := s.hub, s.followers[i]
	after, room := s.reached(i)
	if !room {
		return true, nil
	}
	page, closed, full, err := h.store.Since(ctx, f.Range, after, followPage)
	if err != nil {
		return false, err
	}
	events := make([]event, 0, len(page))
	for _, u := range page {
		events = append(events, updateEvent(u, h.log))
	}
	to := channel.EndOf(closed)
	if full {
		to = page[len(page)-1].Cursor()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.full = full
	s.merge.fill(i, events, to)
	return full, nil
}

// reached returns how far a range was read, and whether its queue has room for more.
func (s *session) reached(i int) (channel.Cursor, bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	feed, f := &s.merge.feeds[i], s.followers[i]
	f.full = len(feed.queue) > 0
	return feed.read, !f.full
}

// bring moves what may go out. Ranges of which this node has closed what an event waits
// for are read here, one after the other: to wake a follower for each takes longer.
// The others are asked to close it.
func (s *session) bring(ctx context.Context) {
	asks, waits := s.advance()
	if len(asks) > 0 {
		s.readAll(ctx, asks)
		_, waits = s.advance()
	}
	if waits {
		signal(s.stir)
	}
}

func (s *session) readAll(ctx context.Context, asks []ask) {
	ctx, cancel := context.WithTimeout(ctx, s.hub.config.LagAfter)
	defer cancel()
	for _, a := range asks {
		f := s.followers[a.feed]
		if !s.hasClosed(a) {
			s.demand(a)
			continue
		}
		if !f.reading.TryLock() {
			continue // its own follower brings what it reads
		}
		_, err := s.read(ctx, a.feed)
		f.reading.Unlock()
		if err != nil {
			signal(f.poke) // its own follower finds out what to do
		}
	}
}
