package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

const catchUpPage = 16 // updates read from the store at a time by a stream that is behind

// catchUp reads the next page from the store. Where memory begins everything before
// is closed, so that an empty page leads to start.
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

// readPage reads the next updates behind the stream's place. A stream of chosen
// channels reads those alone: others may have lost updates that it never wanted.
func (s *Stream) readPage() ([]channel.Update, error) {
	chosen, all := s.hub.chosen(s.reader)
	if all {
		return s.hub.store.UpdatesSince(s.at, catchUpPage)
	}
	closed := s.hub.store.Closed() // first: what it closes, the reads below see
	var page []channel.Update
	for id, from := range chosen {
		kept, err := s.readKept(id, from, closed)
		if err != nil {
			return nil, err
		}
		page = append(page, kept...)
		slices.SortFunc(page, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
		page = page[:min(len(page), catchUpPage)]
	}
	return page, nil
}

// readKept returns a page of what the store keeps of a channel behind the stream's
// place, and a gap event for what it does not keep.
func (s *Stream) readKept(id channel.ID, from, closed uint64) ([]channel.Update, error) {
	ch, err := s.hub.store.Channel(id)
	if errors.Is(err, channel.ErrNotFound) {
		return nil, nil // it ended, with its subscriptions
	}
	if err != nil {
		return nil, err
	}
	if s.at.Less(channel.Cursor{Stamp: ch.TrimmedStamp, Bucket: id.Bucket()}) && ch.Oldest > max(from, 2) {
		s.reportLost(id, channel.Gap{From: max(from, 2), To: ch.Oldest - 1})
	}
	kept, err := s.behind(ch, closed)
	if at := (channel.Cursor{Stamp: ch.GoneStamp, Bucket: id.Bucket()}); s.at.Less(at) && at.Stamp <= closed && len(kept) < catchUpPage {
		kept = append(kept, channel.Update{Channel: id, URL: ch.URL, Incarnation: ch.Incarnation, Version: ch.Version, Stamp: ch.GoneStamp, Gone: true})
	}
	return kept, err
}

// passed is how far a stream has come in one channel: what of this incarnation has
// a version up to here does not lie behind its place.
type passed struct{ incarnation, version uint64 }

// behind returns at most a page of a channel's updates behind the stream's place.
// It begins where the last page led to: over all pages each update is read once
// or twice, however many there are.
func (s *Stream) behind(ch channel.Channel, closed uint64) ([]channel.Update, error) {
	after := s.passed[ch.ID].version
	if s.passed[ch.ID].incarnation != ch.Incarnation {
		after = 0
	}
	var kept []channel.Update
	for {
		updates, _, err := s.hub.store.Updates(ch.ID, after, catchUpPage)
		if errors.Is(err, channel.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			after = u.Version
			if !s.at.Less(u.Cursor()) {
				s.passed[ch.ID] = passed{u.Incarnation, u.Version}
			} else if u.Stamp <= closed && len(kept) < catchUpPage {
				kept = append(kept, u)
			}
		}
		if len(updates) < catchUpPage || len(kept) == catchUpPage {
			return kept, nil
		}
	}
}

// reportLost makes a gap event of versions that are no longer kept, unless the
// stream has reported them before.
func (s *Stream) reportLost(id channel.ID, gap channel.Gap) {
	gap.From = max(gap.From, s.lost[id]+1)
	if gap.From > gap.To {
		return
	}
	s.lost[id] = gap.To
	s.notice = append(s.notice, gapEvent(event{channel: id}, gap, payload.ReasonRetention))
}
