package engine

import "github.com/seed-91e7e7c1/corona/overlay"

// rowNumbers gives out rows of the ledger. Row 0 stands for none.
type rowNumbers struct {
	next int32 // that was never used
	free []int32
}

// take returns a free row, 0 when there are too many.
func (n *rowNumbers) take() int32 {
	if last := len(n.free) - 1; last >= 0 {
		number := n.free[last]
		n.free = n.free[:last]
		return number
	}
	if n.next >= mostRows {
		return 0
	}
	n.next++
	return n.next - 1
}

// give makes a row free, which is cleared in the file already.
func (n *rowNumbers) give(number int32) {
	if number != 0 {
		n.free = append(n.free, number)
	}
}

// restorer takes in the ledger's rows of an earlier run, one after the other. Those
// that say nothing any more are free.
func (s *schedule) restorer(now int64) func(number int32, row *ledgerRow) {
	return func(number int32, row *ledgerRow) {
		s.rows.next = number + 1
		if row == nil || !s.restore(number, row, now) {
			s.rows.give(number)
		}
	}
}

// restore takes in one row, and reports whether it still says something. Times
// ahead of now are of a clock that was wrong: what they forbid is over after the
// longest rest.
func (s *schedule) restore(number int32, row *ledgerRow, now int64) bool {
	switch row[4] {
	case channelKind:
		return s.restoreChannel(number, readChannelRow(row), now)
	case hostKind:
		return s.restoreHost(number, readHostRow(row), now)
	}
	return false
}

// restoreChannel makes a target that nobody has ordered yet: it is forgotten like
// any other, if nobody does within an interval.
func (s *schedule) restoreChannel(number int32, r channelRow, now int64) bool {
	t := s.targets.get(r.id)
	if t != nil && t.lastPoll >= r.lastPoll {
		return false
	}
	if t == nil {
		t = s.add(r.id)
		s.lay(t, now)
	} else {
		s.rows.give(t.row)
	}
	t.row = number
	t.incarnation, t.lastPoll = r.incarnation, min(r.lastPoll, now)
	t.size, t.status, t.failures, t.refused = r.size, r.status, r.failures, r.refused
	t.rate, t.rank, t.drift = r.rate, r.rank, r.drift
	t.width = clamp16(overlay.WidthOf(t.rate, s.pace.interval, s.pace.floor))
	t.polled, t.stray, t.shown = true, true, r.shown
	s.restored = max(s.restored, t.lastPoll)
	odd := oddities{notBefore: min(r.notBefore, now+int64(longestRest))}
	if t.failures > 0 || t.refused {
		odd.lastError = statusText(int(t.status))
	}
	t.setOddities(odd)
	return true
}

func (s *schedule) restoreHost(number int32, r hostRow, now int64) bool {
	if s.hosts[r.id] != nil {
		return false
	}
	longest := now + int64(longestRest)
	h := &host{id: r.id, pos: -1, row: number, rest: r.rest, freeAt: min(r.freeAt, longest)}
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
