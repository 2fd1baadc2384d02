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
	class    manner // it counts among the polls of this class
	released bool   // its host may be asked again
}

// begin takes the next poll; ok is false when there is none, or no worker for it.
func (s *schedule) begin(now int64) (p poll, ok bool) {
	for s.inFlight < s.limits.workers && !ok {
		h, some := s.ready.pop()
		if !some {
			break
		}
		p, ok = s.beginAt(h, now)
		s.unpark(now)
	}
	return p, ok
}

// beginAt takes the next poll of a ready host, unless that has to be parked, or
// all that waited there was dropped.
func (s *schedule) beginAt(h *host, now int64) (p poll, ok bool) {
	h.state = hostQuiet
	queue, class := s.choose(h)
	if s.full(class) {
		h.state, h.parked = hostParked, class
		s.parked[class].push(h)
		return poll{}, false
	}
	if t := s.nextOf(h, queue, now); t != nil {
		p, ok = s.beginOf(t, class, now), true
	}
	s.settle(h, now)
	return p, ok
}

// choose picks the queue of a host that is next, and its polls' class: the other
// one only when this one is empty, or its class has its share already.
func (s *schedule) choose(h *host) (queue uint8, class manner) {
	queue, class = h.turn, h.classOf(h.turn)
	other := 1 - queue
	if h.queues[queue].empty() || s.full(class) && !h.queues[other].empty() && !s.full(h.classOf(other)) {
		return other, h.classOf(other)
	}
	return queue, class
}

// full reports a class of polls that has its share of workers.
func (s *schedule) full(class manner) bool { return s.polls[class] >= s.limits.shares[class] }

// nextOf takes the next target of a host's queue that is still ordered, or nil.
func (s *schedule) nextOf(h *host, queue uint8, now int64) *target {
	h.turn = 1 - queue
	for {
		t := h.queues[queue].pop()
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

func (s *schedule) beginOf(t *target, class manner, now int64) poll {
	h := t.host
	p := poll{target: t, eligible: max(t.due, h.freeAt), class: class}
	p.hostWait = p.eligible - t.due
	p.see(t)
	t.state = busy
	s.inFlight++
	h.busy++
	if gap := s.gapOf(h); gap > 0 {
		h.freeAt = now + gap
	}
	s.polls[class]++
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
		s.manner(h, mannerOf(took))
	}
	s.settle(h, now)
}

// manner notes how a host behaves; one that was parked is so no more.
func (s *schedule) manner(h *host, m manner) {
	if h.manner != m && h.state == hostParked {
		h.state = hostQuiet
	}
	h.manner = m
}

// unpark readies one parked host of each class that has room. It is called
// whenever a poll ends, and after each turn of a ready host: that may have begun a
// poll of another class than it was readied for, or none, and so left its room to
// the next.
func (s *schedule) unpark(now int64) {
	for class := range manners {
		for !s.full(class) && !s.unparkOne(class, now) {
			if s.parked[class].len() == 0 {
				break
			}
		}
	}
}

// unparkOne takes the next of the hosts that are parked for a class, and returns
// whether it was still parked and is ready now.
func (s *schedule) unparkOne(class manner, now int64) bool {
	h, ok := s.parked[class].pop()
	if !ok || h.state != hostParked || h.parked != class {
		return false
	}
	h.state = hostQuiet
	h.freeAt = max(h.freeAt, now)
	s.settle(h, now)
	return h.state == hostReady
}
