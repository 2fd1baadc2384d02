package memstore

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Split divides the buckets among ranges of new IDs.
func (s *Store) Split(ranges int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := uint32(0)
	if n := len(s.table); n > 0 {
		id = s.table[n-1].ID + 1
	}
	s.table = nil
	for i := range ranges {
		from, to := channel.Buckets*i/ranges, channel.Buckets*(i+1)/ranges-1
		s.table = append(s.table, channel.Range{ID: id + uint32(i), From: channel.Bucket(from), To: channel.Bucket(to)})
	}
	s.ringAll()
}

// ErrSplit is what reads of a range fail with that is no more.
var ErrSplit = errors.New("no such range")

// Table returns all ranges.
func (s *Store) Table() []channel.Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.table)
}

// Range returns the range of a channel.
func (s *Store) Range(id channel.ID) channel.Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rangeOf(id)
}

func (s *Store) rangeOf(id channel.ID) channel.Range {
	return s.table[slices.IndexFunc(s.table, func(r channel.Range) bool { return r.Has(id.Bucket()) })]
}

func (s *Store) Since(_ context.Context, of channel.Range, after channel.Cursor, limit int) (out []channel.Update, closed uint64, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b, stamp := range s.trimmed {
		if of.Has(b) && after.Less(channel.Cursor{Stamp: stamp, Bucket: b}) {
			err = channel.ErrTooOld
		}
	}
	if err := errors.Join(s.readable(of), err); err != nil {
		return nil, 0, false, err
	}
	out, closed, more = s.since(of, after, limit, func(channel.ID) bool { return true })
	return out, closed, more, nil
}

func (s *Store) SinceOf(_ context.Context, of channel.Range, chosen []channel.ID, after channel.Cursor, limit int) (kept channel.Kept, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions++
	s.loads += len(chosen)
	if err := s.readable(of); err != nil {
		return kept, err
	}
	for _, id := range chosen {
		c := s.channels[id]
		if c == nil {
			continue
		}
		if lost := (channel.Lost{Channel: id, Oldest: c.Oldest, Stamp: c.TrimmedStamp}); lost.Stamp > 0 && after.Less(lost.Cursor()) {
			kept.Lost = append(kept.Lost, lost)
		}
	}
	kept.Updates, kept.Closed, kept.More = s.since(of, after, limit, func(id channel.ID) bool { return slices.Contains(chosen, id) })
	s.reads += len(kept.Updates)
	return kept, nil
}

func (s *Store) readable(of channel.Range) error {
	if !slices.Contains(s.table, of) {
		return ErrSplit
	}
	return errors.Join(s.down, s.away[of.ID])
}

func (s *Store) since(of channel.Range, after channel.Cursor, limit int, chosen func(channel.ID) bool) (out []channel.Update, closed uint64, more bool) {
	closed = s.closed(of.ID)
	first := sort.Search(len(s.order), func(i int) bool { return after.Less(s.order[i].Cursor()) })
	for _, u := range s.order[first:] {
		switch {
		case u.Stamp > closed:
			return out, closed, false
		case !of.Has(u.Channel.Bucket()) || !chosen(u.Channel):
		case len(out) == limit:
			return out, closed, true
		default:
			out = append(out, u)
		}
	}
	return out, closed, false
}

// Closed returns what all ranges have closed.
func (s *Store) Closed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	closed := s.closed(s.table[0].ID)
	for _, r := range s.table {
		closed = min(closed, s.closed(r.ID))
	}
	return closed
}

func (s *Store) ClosedIn(r channel.Range) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed(r.ID)
}

func (s *Store) closed(id uint32) uint64 {
	if held := s.held[id]; held != 0 {
		return held - 1
	}
	return max(s.stamp, uint64(time.Now().UnixMicro())-1)
}

func (s *Store) Changed(r channel.Range) <-chan struct{} {
	id := r.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed[id] == nil {
		s.changed[id] = make(chan struct{})
	}
	return s.changed[id]
}

func (s *Store) ring(id uint32) {
	if c := s.changed[id]; c != nil {
		close(c)
		delete(s.changed, id)
	}
}

func (s *Store) ringAll() {
	for id := range s.changed {
		s.ring(id)
	}
}

func (s *Store) Demand(r channel.Range, stamp uint64) {
	id := r.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands[id]++
	s.demanded = max(s.demanded, stamp)
	if s.closed(id) >= stamp {
		s.ring(id)
	}
}

// Demands returns how many times a range was asked to close a stamp.
func (s *Store) Demands(id uint32) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demands[id]
}

// Demanded returns the newest stamp that any range was asked to close.
func (s *Store) Demanded() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demanded
}

// Hold keeps stamps of a range from being readable from s on, as a pending commit
// does; 0 releases them.
func (s *Store) Hold(id uint32, stamp uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id] = stamp
	s.ring(id)
}

// HoldAll holds all ranges.
func (s *Store) HoldAll(stamp uint64) {
	for _, r := range s.Table() {
		s.Hold(r.ID, stamp)
	}
}

// Away makes reads of a range fail with err, nil to heal.
func (s *Store) Away(id uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[id] = err
	s.ring(id)
}
