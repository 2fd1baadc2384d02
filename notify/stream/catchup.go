package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

const catchUpPage = 64 // updates read from the store at a time by a stream that is behind

// errBehind says that a range has closed less than it had before.
var errBehind = errors.New("range is behind what it has closed")

// catchUp is a stream's way through the store to a place of the merge in memory.
type catchUp struct {
	table  []channel.Range
	merge  *merge
	start  place
	target place
}

// catchUp begins to read from the store what lies between the stream's place and a
// place that this node has read up to.
func (s *Stream) catchUp(target place) {
	table := s.hub.store.Table()
	const forEver = 1<<63 - 1
	s.behind = &catchUp{table: table, merge: newMerge(table, s.at.place, target, forEver), start: s.at.place, target: target}
	if !s.opened.covers(target) {
		s.silent = nil
	}
	s.retry = time.Time{}
}

// fromStore returns the next event that the stream has chosen and the store has; none
// when it is to be called again, or has come to the target.
func (s *Stream) fromStore(ctx context.Context) (*event, error) {
	for {
		e, ok := s.behind.merge.pop(time.Time{})
		if !ok {
			return nil, s.readOn(ctx)
		}
		s.at.place = s.at.place.merge(e.after)
		if s.hub.wants(s.reader, e.channel, e.version, e.gone, e.at) {
			return &e, nil
		}
	}
}

// readOn reads all ranges that the next event depends on, or ends the catch-up when
// there is none. A range that cannot be read is left for later: the others go on.
func (s *Stream) readOn(ctx context.Context) error {
	b := s.behind
	var wanted []int
	b.merge.wanted(func(i int, _ uint64) { wanted = append(wanted, i) })
	if len(wanted) == 0 {
		s.at.place = s.at.place.merge(b.merge.whole(b.target.base))
		s.behind = nil
		return nil
	}
	for n, page := range s.readPages(ctx, wanted) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(page.err, channel.ErrTooOld):
			s.tooOld()
			return nil
		case page.err != nil && !slices.Equal(b.table, s.hub.store.Table()):
			s.behind = nil // to begin again, with the ranges that there are now
			return nil
		case page.err != nil:
			s.hub.metrics.StoreFailed("catch up")
			s.hub.log.Debug("store read failed, a stream lacks the range", "range", b.table[wanted[n]].ID, "error", page.err)
			s.retry = time.Now().Add(retryFollow)
			b.merge.end(wanted[n])
		default:
			for _, lost := range page.lost {
				s.reportLost(lost.channel, lost.gap)
			}
			b.merge.fill(wanted[n], page.events, page.read)
		}
	}
	return nil
}

// tooOld has the stream go on from where it was opened, or from now when it is beyond
// that.
func (s *Stream) tooOld() {
	if s.at.place.covers(s.opened) {
		_, s.opened = s.hub.now()
		s.silent = nil
	}
	s.reset(s.at.place.merge(s.opened))
}

// reset has the stream go on from a place, and says so.
func (s *Stream) reset(at place) {
	s.at, s.behind = spot{place: at}, nil
	s.notice = append(s.notice, resetEvent(at))
}

// page is what was read of a range, and how far this is everything.
type page struct {
	events []event
	read   channel.Cursor
	lost   []lostUpdates // of a stream that has chosen channels
	err    error
}

// readPages reads a page of each of some ranges, all at once: one that does not answer
// costs the others no more than its limit. What has been read of all ranges and has not
// gone out is little more than a page.
func (s *Stream) readPages(ctx context.Context, ranges []int) []page {
	s.hub.metrics.catchUps.Inc()
	ctx, cancel := context.WithTimeout(ctx, s.hub.config.LagAfter)
	defer cancel()
	limit := max((catchUpPage-s.behind.merge.queued())/len(ranges), 1)
	chosen, all := s.hub.chosen(s.reader)
	read := func(i int) page {
		if s.hub.reading != nil {
			s.hub.reading <- struct{}{}
			defer func() { <-s.hub.reading }()
		}
		r, feed := s.behind.table[i], &s.behind.merge.feeds[i]
		if all {
			return s.readRange(ctx, r, feed.read, feed.until, limit)
		}
		return s.readChosen(ctx, chosen, r, feed.read, feed.until, limit)
	}
	pages := make([]page, len(ranges))
	if len(ranges) == 1 {
		pages[0] = read(ranges[0])
		return pages
	}
	var reads sync.WaitGroup
	for n, i := range ranges {
		reads.Go(func() { pages[n] = read(i) })
	}
	reads.Wait()
	return pages
}

// readRange reads a page of all updates of a range.
func (s *Stream) readRange(ctx context.Context, r channel.Range, after, until channel.Cursor, limit int) page {
	updates, closed, more, err := s.hub.store.Since(ctx, r, after, limit)
	if err != nil {
		return page{err: fmt.Errorf("read updates: %w", err)}
	}
	return s.pageOf(updates, closed, more, until)
}

// pageOf makes a page of what a range has told, which has to reach a cursor unless there is more.
func (s *Stream) pageOf(updates []channel.Update, closed uint64, more bool, until channel.Cursor) page {
	p := page{read: channel.EndOf(closed)}
	if more {
		p.read = updates[len(updates)-1].Cursor()
	} else if p.read.Less(until) {
		return page{err: errBehind}
	}
	p.events = s.eventsOf(updates)
	return p
}

// eventsOf returns the events that the stream may have chosen and lie behind where it
// began to read.
func (s *Stream) eventsOf(updates []channel.Update) (events []event) {
	for _, u := range updates {
		if !s.behind.start.has(u.Cursor()) && s.hub.wants(s.reader, u.Channel, u.Version, u.Gone, u.Cursor()) {
			events = append(events, updateEvent(u, s.hub.log))
		}
	}
	return events
}
