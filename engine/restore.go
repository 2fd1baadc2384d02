package engine

import (
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// restorer takes the ledger's rows of an earlier run into a schedule. Those that say
// nothing any more are free. Times ahead of now are of a clock that was wrong: what
// they forbid is over after the longest rest.
type restorer struct {
	s   *schedule
	now int64
}

func (s *schedule) restorer(now int64) restorer { return restorer{s, now} }

// Free implements [store.Rows].
func (r restorer) Free(number int32) { r.note(number, false) }

// Channel implements [store.Rows].
func (r restorer) Channel(number int32, row *store.ChannelRow) {
	r.note(number, r.s.restoreChannel(number, row, r.now))
}

// Host implements [store.Rows].
func (r restorer) Host(number int32, row *store.HostRow) {
	r.note(number, r.s.restoreHost(number, row, r.now))
}

// note counts a row, which is free if it is not in use.
func (r restorer) note(number int32, inUse bool) {
	r.s.rows.Used(number)
	if !inUse {
		r.s.rows.Give(number)
	}
}

// restoreChannel makes a target that nobody has ordered yet: it is forgotten like
// any other, if nobody does within an interval.
func (s *schedule) restoreChannel(number int32, r *store.ChannelRow, now int64) bool {
	t := s.targets.get(r.ID)
	if t != nil && t.lastPoll >= r.LastPoll {
		return false
	}
	if t == nil {
		t = s.add(r.ID)
		s.lay(t, now)
	} else {
		s.rows.Give(t.row)
	}
	t.row = number
	t.incarnation, t.lastPoll = r.Incarnation, min(r.LastPoll, now)
	t.size, t.status, t.failures, t.refused = r.Size, r.Status, r.Failures, r.Refused
	t.rate, t.rank, t.drift = r.Rate, r.Rank, r.Drift
	t.width = clamp16(overlay.WidthOf(t.rate, s.pace.interval, s.pace.floor))
	t.polled, t.stray, t.shown = true, true, r.Shown
	s.restored = max(s.restored, t.lastPoll)
	odd := oddities{notBefore: min(r.NotBefore, now+int64(longestRest))}
	if t.failures > 0 || t.refused {
		odd.lastError = statusText(int(t.status))
	}
	t.setOddities(odd)
	return true
}

func (s *schedule) restoreHost(number int32, r *store.HostRow, now int64) bool {
	if s.hosts[r.ID] != nil {
		return false
	}
	longest := now + int64(longestRest)
	h := &host{id: r.ID, pos: -1, row: number, rest: refusals{until: r.Until, last: r.Last, good: r.Good, count: r.Count, denied: r.Denied}, freeAt: min(r.FreeAt, longest)}
	h.rest.until, h.rest.last, h.rest.good = min(h.rest.until, longest), min(h.rest.last, now), min(h.rest.good, now)
	if h.rest.count == 0 {
		h.rest.until = 0 // it was over before the clock was set back
	}
	if !h.remembered(now) {
		return false
	}
	s.hosts[h.id] = h
	s.tie(h, 0)
	if h.rest.resting(now) {
		s.resting[h] = struct{}{}
	}
	return true
}

// ledgerRow returns what the ledger keeps of a target.
func (t *target) ledgerRow() store.ChannelRow {
	return store.ChannelRow{
		ID: t.id, Incarnation: t.incarnation, LastPoll: t.lastPoll, NotBefore: t.oddities().notBefore,
		Size: t.size, Status: t.status, Failures: t.failures, Refused: t.refused, Shown: t.shown,
		Rate: t.rate, Rank: t.rank, Drift: t.drift,
	}
}

// ledgerRow returns what the ledger keeps of a host that has refused, or that
// redirects led to: the polls of its own channels are in theirs.
func (h *host) ledgerRow() store.HostRow {
	r := h.rest
	return store.HostRow{ID: h.id, FreeAt: h.freeAt, Until: r.until, Last: r.last, Good: r.good, Count: r.count, Denied: r.denied}
}
