package engine

import (
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// hop is a redirect that a poll follows: a request like any other, which waits for
// its turn at the host that it really contacts. It is not changed once it is made.
type hop struct {
	url   string   // to be asked
	host  *host    // that it is on
	trail []string // the URLs that redirected here, the first one first
	moved string   // where permanent redirects alone have led; empty: nowhere
}

// beyond returns the next hop of a poll that asked p.url and was redirected.
func (p *poll) beyond(r *result, h *host) *hop {
	var trail []string
	moved := ""
	if p.hop != nil {
		trail, moved = p.hop.trail, p.hop.moved
	}
	if r.permanent && (p.hop == nil || moved == p.url) {
		moved = r.location
	}
	return &hop{url: r.location, host: h, trail: append(slices.Clip(trail), p.url), moved: moved}
}

// trail returns the URLs that redirected to the poll's.
func (p *poll) trail() []string {
	if p.hop == nil {
		return nil
	}
	return p.hop.trail
}

// movedHere reports that none but permanent redirects led to the URL that is asked.
func (p *poll) movedHere() bool { return p.hop == nil || p.hop.moved == p.url }

// at returns the host that a target is asked at next: its own, or where a redirect
// has led the poll that is under way.
func (t *target) at() *host {
	if hop := t.oddities().hop; hop != nil {
		return hop.host
	}
	return t.host
}

// follow queues a busy target where a redirect has led its poll.
func (s *schedule) follow(p *poll, r *result, now int64) {
	t := p.target
	h := s.hostOf(r.location)
	s.tie(h, 1)
	next := p.beyond(r, h)
	s.land(t)
	t.setHop(next)
	switch {
	case r.retryAfter.After > 0: // before the target is asked (RFC 9110, section 10.2.3)
		s.strand(t, now+int64(min(r.retryAfter.After, longestRest)), "the origin asked not to come before", now)
		return
	case h.rest.resting(now):
		s.strand(t, h.rest.until, restsText, now)
		return
	}
	t.state, t.due = queued, now
	s.queued++
	s.enqueue(t, now)
}

const restsText = "which asked not to be asked so soon"

// strand ends the poll of a target that was led to where nobody is to be asked
// before until. Nobody is to blame: the next one begins after that.
func (s *schedule) strand(t *target, until int64, why string, now int64) {
	t.polled = true
	o := t.oddities()
	o.notBefore = until
	o.lastError = clipProblem("redirected to " + channel.Host(o.hop.url) + ", " + why)
	t.setOddities(o)
	s.land(t)
	s.rest(t, now)
}

// land ends what redirects have led a target's poll to.
func (s *schedule) land(t *target) {
	hop := t.oddities().hop
	if hop == nil {
		return
	}
	t.setHop(nil)
	s.tie(hop.host, -1)
}

func (t *target) setHop(h *hop) {
	o := t.oddities()
	o.hop = h
	t.setOddities(o)
}

// tie counts the ties of channels to a host. One without any is remembered for as
// long as its manners matter: it may be redirected to again.
func (s *schedule) tie(h *host, more int32) {
	h.targets += more
	if h.targets == 0 && !h.guest {
		h.guest = true
		s.guests.push(h)
	}
}

// dismiss forgets hosts without channels that need no more be remembered, of at
// most so many, and returns the ledger's rows that they had.
func (s *schedule) dismiss(most int, now int64) (rows []int32) {
	for range most {
		h, ok := s.guests.pop()
		switch {
		case !ok:
			return rows
		case h.targets > 0:
			h.guest = false
		case h.remembered(now):
			s.guests.push(h)
		default:
			s.spaced.remove(h)
			delete(s.resting, h)
			delete(s.hosts, h.id)
			if h.row != 0 {
				rows = append(rows, h.row)
			}
		}
	}
	return rows
}

// remembered reports a host that another request must still spare.
func (h *host) remembered(now int64) bool {
	return h.freeAt > now || h.rest.count > 0 && max(h.rest.until, h.rest.last)+int64(longestRest) > now
}
