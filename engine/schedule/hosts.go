package schedule

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
)

// hosts is the table of hosts, with the rules of how often each may be asked.
type hosts[C any] struct {
	byID            map[channel.ID]*Host[C]
	resting         map[*Host[C]]struct{} // those that rest, and some that did
	guests          fifo[*Host[C]]        // without targets; entries that have some again are skipped
	restored        int64                 // when an earlier run last asked, whichever host; 0: never
	parallel        int                   // requests to a host at a time, of all nodes
	gap, privateGap int64                 // between requests of one node alone
	shares          shares[C]
}

func newHosts[C any](c Config) hosts[C] {
	return hosts[C]{
		byID:     make(map[channel.ID]*Host[C]),
		resting:  make(map[*Host[C]]struct{}),
		parallel: c.HostParallel,
		gap:      int64(c.HostGap), privateGap: int64(c.PrivateHostGap),
		shares: newShares[C](c),
	}
}

// get returns a host, which it makes if it is not known. A host that is met first
// after a start may have been asked just before by a channel that is not ordered yet.
func (s *hosts[C]) get(id channel.ID, private func() bool) *Host[C] {
	h := s.byID[id]
	if h == nil {
		h = &Host[C]{ID: id, heapAt: -1}
		s.byID[id] = h
	}
	if h.targets == 0 {
		h.private = private() // a restart does not know
		if s.restored != 0 {
			h.freeAt = max(h.freeAt, s.restored+s.gapOf(h, s.shares.unasked))
		}
	}
	return h
}

// refer counts the targets of a host. A host without any is remembered for as long as
// its gap and its refusals matter: it may be redirected to again.
func (s *hosts[C]) refer(h *Host[C], more int32) {
	h.targets += more
	if h.targets == 0 && !h.guest {
		h.guest = true
		s.guests.push(h)
	}
}

// restore makes a host of an earlier run, nil if its record no longer matters. Rests
// end after the longest rest: times ahead of now are of a clock that was wrong.
func (s *hosts[C]) restore(r HostRecord, now int64) *Host[C] {
	if s.byID[r.ID] != nil {
		return nil
	}
	longest := now + int64(pace.LongestRest)
	h := &Host[C]{ID: r.ID, heapAt: -1, rest: r.Refusals, freeAt: min(r.FreeAt, longest)}
	h.rest.Until, h.rest.Last, h.rest.Good = min(h.rest.Until, longest), min(h.rest.Last, now), min(h.rest.Good, now)
	if h.rest.Count == 0 {
		h.rest.Until = 0 // it was over before the clock was set back
	}
	if !h.remembered(now) {
		return nil
	}
	s.byID[h.ID] = h
	s.refer(h, 0)
	if h.rest.Resting(now) {
		s.resting[h] = struct{}{}
	}
	return h
}

// heed has a host rest that refused another node, also one that is not known here: it
// may be by the next order. nil: that changes nothing.
func (s *hosts[C]) heed(rest channel.Rest, now int64) *Host[C] {
	h := s.byID[rest.Host]
	if h == nil {
		h = &Host[C]{ID: rest.Host, heapAt: -1}
	}
	if !h.rest.Heed(rest, now) {
		return nil
	}
	s.byID[h.ID] = h
	s.refer(h, 0)
	return h
}

// parallelOf returns how many requests a host may get at a time from this node: of what is
// granted the part that this node has, one at least.
func (s *hosts[C]) parallelOf(h *Host[C]) int {
	switch {
	case h.speed != admission.Steady || h.rest.Count > 0:
		return 1
	case s.shares.unasked == channel.WholeCap:
		return s.parallel
	}
	return max(int(int64(s.parallel)*h.grant/(channel.WholeCap-channel.KeptBack)), 1)
}

// capGap returns the time between requests of all nodes that keeps to a host's cap where it
// has not refused; 0: it has no cap.
func (s *hosts[C]) capGap(h *Host[C]) int64 {
	gap := s.gap
	if h.private {
		gap = s.privateGap
	}
	return s.shares.apart(gap)
}

// longestGap keeps gaps of small parts within the range of times: 36 years.
const longestGap = 1 << 60

// gapOf returns the time between the beginnings of two requests for a part of a host's
// cap, in nanoseconds.
func (s *hosts[C]) gapOf(h *Host[C], part int64) int64 {
	gap := s.capGap(h)
	if part != channel.WholeCap {
		gap = int64(min(float64(gap)/float64(part)*channel.WholeCap, longestGap))
	}
	return h.rest.Gap(gap)
}

// space starts a host's gap.
func (s *hosts[C]) space(h *Host[C], now int64) {
	if free := s.freeAfter(h, now, 1); free > now {
		h.freeAt = free
	}
}

// countResting returns how many hosts rest.
func (s *hosts[C]) countResting(now int64) int {
	for h := range s.resting {
		if !h.rest.Resting(now) {
			delete(s.resting, h)
		}
	}
	return len(s.resting)
}
