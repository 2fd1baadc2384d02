package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// poll is one poll of a channel: what its worker needs of the target, as it was
// when the poll began. Orders may change the target meanwhile.
type poll struct {
	target      *target
	id          channel.ID
	url         string
	incarnation uint64
	version     uint64
	hash        deltas.Hash
	holding     holding
	loaded      bool
	held        bool
	stray       bool

	eligible int64 // when its slot had come and its host allowed it
	hostWait int64 // how long after its slot that was
	begun    time.Time
	manner   manner // it counts among the requests to hosts of this manner
	released bool   // its host may be asked again
}

// begin takes the next poll; ok is false when there is none, or no worker for it.
func (s *schedule) begin(now int64) (p poll, ok bool) {
	for s.inFlight < s.limits.workers {
		h, ok := s.ready.pop()
		if !ok {
			return poll{}, false
		}
		h.state = hostQuiet
		if s.requests[h.manner] >= s.limits.shares[h.manner] {
			h.state = hostParked
			s.parked[h.manner].push(h)
			continue
		}
		t := s.nextOf(h, now)
		if t == nil {
			s.unpark(h.manner, now) // another takes the turn that this host had
			continue
		}
		p := s.beginOf(t, now)
		s.settle(h, now)
		return p, true
	}
	return poll{}, false
}

// nextOf takes the host's next target that is still ordered, or nil.
func (s *schedule) nextOf(h *host, now int64) *target {
	for {
		t := h.pop()
		if t == nil {
			return nil
		}
		s.queued--
		if !t.dropped {
			return t
		}
		t.state = idle
		s.lay(t, now)
	}
}

func (s *schedule) beginOf(t *target, now int64) poll {
	h := t.host
	p := poll{target: t, eligible: max(t.due, h.freeAt), manner: h.manner}
	p.hostWait = p.eligible - t.due
	p.see(t)
	t.state = busy
	s.inFlight++
	h.busy++
	if gap := s.gapOf(h); gap > 0 {
		h.freeAt = now + gap
	}
	s.requests[p.manner]++
	return p
}

// see takes in the target as it is.
func (p *poll) see(t *target) {
	p.id, p.url, p.incarnation = t.id, t.url, t.incarnation
	p.version, p.hash = t.version, t.hash
	p.holding, p.loaded, p.held, p.stray = t.holding, t.loaded, t.held, t.stray
}

// release ends a poll's request, which took so long: its host may be asked again.
// The poll itself goes on. A second release does nothing. A took of 0 says
// nothing about the host.
func (s *schedule) release(p *poll, took time.Duration, now int64) {
	if p.released {
		return
	}
	p.released = true
	h := p.target.host
	if int(h.busy) >= s.parallel(h) {
		h.freeAt = max(h.freeAt, now)
	}
	h.busy--
	if took > 0 {
		s.manner(h, mannerOf(took), now)
	}
	s.settle(h, now)
	s.requests[p.manner]--
	s.unpark(p.manner, now)
}

// manner notes how a host behaves. One that was parked is so no more; one that
// was unparked leaves its place to the next.
func (s *schedule) manner(h *host, m manner, now int64) {
	old := h.manner
	h.manner = m
	switch {
	case old == m:
	case h.state == hostParked:
		h.state = hostQuiet
	case h.state == hostReady:
		s.unpark(old, now)
	}
}

// unpark readies one parked host, if its manner's share of workers allows.
func (s *schedule) unpark(m manner, now int64) {
	for s.requests[m] < s.limits.shares[m] {
		h, ok := s.parked[m].pop()
		if !ok {
			return
		}
		if h.state != hostParked || h.manner != m {
			continue
		}
		h.state = hostQuiet
		h.freeAt = max(h.freeAt, now)
		s.settle(h, now)
		if h.state == hostReady {
			return
		}
	}
}
