package stream

import (
	"errors"
	"maps"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

// kept is what a stream has learned of its channels while it read them.
type kept struct {
	lost   map[channel.ID]channel.Gap
	passed map[channel.ID]passed
	done   []channel.ID // have nothing more up to the target
}

// passed is how far a stream has come in one channel: what of this incarnation has
// a version up to here does not lie behind its place.
type passed struct{ incarnation, version uint64 }

// take notes what a page has taught of channels.
func (s *Stream) take(p page) {
	for id, gap := range p.chosen.lost {
		s.reportLost(id, gap)
	}
	maps.Copy(s.passed, p.chosen.passed)
	for _, id := range p.chosen.done {
		s.behind.done[id] = true
	}
}

// readChosen reads a page of the chosen channels of a range, each alone: others may
// have lost updates that the stream never wanted.
func (s *Stream) readChosen(chosen map[channel.ID]uint64, r channel.Range, after, until channel.Cursor, limit int) page {
	p := page{read: until, chosen: kept{lost: make(map[channel.ID]channel.Gap), passed: make(map[channel.ID]passed)}}
	var found []channel.Update
	cut := false
	for id, from := range chosen {
		if !r.Has(id.Bucket()) || s.behind.done[id] {
			continue
		}
		updates, err := s.readKept(&p.chosen, id, from, after, until)
		if err != nil {
			return page{err: err}
		}
		if len(updates) == 0 {
			p.chosen.done = append(p.chosen.done, id)
		}
		found = append(found, updates...)
		slices.SortFunc(found, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
		cut = cut || len(found) >= limit || len(updates) >= catchUpPage
		found = found[:min(len(found), limit)]
	}
	if cut {
		p.read = found[len(found)-1].Cursor()
	}
	p.events = s.eventsOf(found)
	return p
}

// readKept returns what the store keeps of a channel behind a place and up to another,
// at most about a page, and notes a gap for what it does not keep.
func (s *Stream) readKept(k *kept, id channel.ID, from uint64, after, until channel.Cursor) ([]channel.Update, error) {
	ch, err := s.hub.store.Channel(id)
	if errors.Is(err, channel.ErrNotFound) {
		return nil, nil // it ended, with its subscriptions
	}
	if err != nil {
		return nil, err
	}
	if trimmed := (channel.Cursor{Stamp: ch.TrimmedStamp, Bucket: id.Bucket()}); !s.behind.start.has(trimmed) && after.Less(trimmed) && ch.Oldest > max(from, 2) {
		k.lost[id] = channel.Gap{From: max(from, 2), To: ch.Oldest - 1}
	}
	var updates []channel.Update
	if ch.Version >= from {
		updates, err = s.updatesOf(k, ch, after, until)
	}
	at := channel.Cursor{Stamp: ch.GoneStamp, Bucket: id.Bucket()}
	if after.Less(at) && !until.Less(at) && len(updates) < catchUpPage {
		updates = append(updates, channel.Update{Channel: id, URL: ch.URL, Incarnation: ch.Incarnation, Version: ch.Version, Stamp: ch.GoneStamp, Gone: true})
	}
	return updates, err
}

// updatesOf returns at most a page of a channel's updates behind a place and up to
// another. It begins where the last page led to: over all pages each update is read
// once or twice, however many there are.
func (s *Stream) updatesOf(k *kept, ch channel.Channel, after, until channel.Cursor) (found []channel.Update, err error) {
	at := s.passed[ch.ID].version
	if s.passed[ch.ID].incarnation != ch.Incarnation {
		at = 0
	}
	for {
		updates, _, err := s.hub.store.Updates(ch.ID, at, catchUpPage)
		if errors.Is(err, channel.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			at = u.Version
			if !after.Less(u.Cursor()) {
				k.passed[ch.ID] = passed{u.Incarnation, u.Version}
			} else if !until.Less(u.Cursor()) && len(found) < catchUpPage {
				found = append(found, u)
			}
		}
		if len(updates) < catchUpPage || len(found) == catchUpPage {
			return found, nil
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
