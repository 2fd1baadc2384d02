package schedule

import "github.com/seed-91e7e7c1/corona/engine/admission"

// turns is round robin over the hosts at which targets wait. A host with waiting
// targets is ready, spaced until its gap is over, parked, or has as many requests
// under way as it may get. At a host that rests no target waits: they are planned
// again, a batch at a time.
type turns[C any] struct {
	hosts   hosts[C]
	workers admission.Workers

	ready    fifo[*Host[C]]
	spaced   dueHeap[*Host[C]]
	parked   [admission.Classes]fifo[*Host[C]] // each host once; those that left it meanwhile are skipped
	clearing fifo[*Host[C]]                    // of those that rest, some at which targets wait still
	queued   int                               // targets that wait
	noFirsts bool                              // first polls wait in their queues
}

// place finds the place of a quiet host.
func (s *turns[C]) place(h *Host[C], now int64) {
	switch {
	case h.state != hostQuiet || !s.mayAsk(h):
	case h.freeAt > now:
		h.state = hostSpaced
		s.spaced.set(h, h.freeAt)
	default:
		h.state = hostReady
		s.ready.push(h)
	}
}

// mayAsk reports a host that gets another request, as soon as its gap is over.
func (s *turns[C]) mayAsk(h *Host[C]) bool {
	return !h.clearing && !h.reserves && int(h.busy) < s.hosts.parallelOf(h) && (s.open(h, dueQueue) || s.open(h, firstQueue))
}

// open reports a queue with a target that may be asked for.
func (s *turns[C]) open(h *Host[C], queue uint8) bool {
	return !h.queues[queue].empty() && (queue == dueQueue || !s.noFirsts)
}

// push has a target wait at its host. A host that is parked for the sake of first
// polls is not parked for others.
func (s *turns[C]) push(t *Target[C], now int64) {
	t.state = queued
	s.queued++
	h, queue := t.at(), queueOf(t)
	h.waiting++
	s.hosts.weigh(h)
	h.queues[queue].push(t)
	if h.state == hostParked && !s.workers.Full(h.classOf(queue)) {
		h.state = hostQuiet
	}
	s.place(h, now)
}

// pop takes the next target of a host's queue, nil if there is none; it is the other
// queue's turn then. Targets that an order has moved to the other queue go there.
func (s *turns[C]) pop(h *Host[C], queue uint8) *Target[C] {
	h.turn = 1 - queue
	for {
		t := h.queues[queue].pop()
		if t == nil {
			return nil
		}
		if other := queueOf(t); other != queue && !t.dropped {
			h.queues[other].push(t)
			continue
		}
		s.queued--
		h.waiting--
		return t
	}
}

// popAny takes a target that waits at a host, those of the due queue first; nil if
// there is none.
func (s *turns[C]) popAny(h *Host[C]) *Target[C] {
	t := h.queues[dueQueue].pop()
	if t == nil {
		t = h.queues[firstQueue].pop()
	}
	if t != nil {
		s.queued--
		h.waiting--
	}
	return t
}

// choose picks the queue of a host that is next, and its polls' class: the other
// one only when this one is empty, or its class has its share already.
func (s *turns[C]) choose(h *Host[C]) (queue uint8, of admission.Class) {
	queue, of = h.turn, h.classOf(h.turn)
	other := 1 - queue
	if !s.open(h, queue) || s.workers.Full(of) && s.open(h, other) && !s.workers.Full(h.classOf(other)) {
		return other, h.classOf(other)
	}
	return queue, of
}

// park has a host wait until a class has room for its next poll. If it left that queue for
// another poll it still has its place there.
func (s *turns[C]) park(h *Host[C], of admission.Class) {
	h.state, h.parked = hostParked, of
	if !h.awaits[of] {
		h.awaits[of] = true
		s.parked[of].push(h)
	}
}

// unpark readies one parked host of each class that has room. It is called
// whenever a poll ends, and after each turn of a ready host, which may have begun a
// poll of another class than it was readied for, or none, and left the room free.
func (s *turns[C]) unpark(now int64) {
	for of := range admission.Classes {
		for !s.workers.Full(of) && !s.unparkOne(of, now) {
			if s.parked[of].len() == 0 {
				break
			}
		}
	}
}

// unparkOne takes the next of the hosts that are parked for a class, and returns
// whether it was still parked and is ready now.
func (s *turns[C]) unparkOne(of admission.Class, now int64) bool {
	h, ok := s.parked[of].pop()
	if !ok {
		return false
	}
	h.awaits[of] = false
	if h.state != hostParked || h.parked != of {
		return false
	}
	h.state = hostQuiet
	h.freeAt = max(h.freeAt, now)
	s.place(h, now)
	return h.state == hostReady
}

// ungap readies hosts whose gap is over, at most so many.
func (s *turns[C]) ungap(most int, now int64) {
	for range most {
		free, h, ok := s.spaced.min()
		if !ok || free > now {
			return
		}
		s.spaced.remove(h)
		h.state = hostQuiet
		s.place(h, now)
	}
}

// allowFirsts says whether first polls may begin.
func (s *turns[C]) allowFirsts(allowed bool, now int64) {
	if s.noFirsts == !allowed {
		return
	}
	s.noFirsts = !allowed
	for _, h := range s.hosts.byID {
		s.place(h, now)
	}
}

// shift follows a wall clock that was set. Times noted since are of the new clock already:
// so no gap may end later than a gap from now.
func (s *turns[C]) shift(step, now int64) {
	if s.hosts.restored != 0 {
		s.hosts.restored = min(s.hosts.restored+step, now)
	}
	s.workers.Shift(step, now)
	for _, h := range s.hosts.byID {
		h.freeAt = min(h.freeAt+step, now+s.hosts.gapOf(h, s.hosts.shares.unasked))
		h.granted += step
		h.rest.Shift(step, now)
		if h.state == hostSpaced {
			s.spaced.set(h, h.freeAt)
		}
	}
}

// waiting returns since when the longest waiting poll could have begun, of the due polls
// at the first so many ready hosts that are steady; now if there is none. First polls,
// and those on strange and slow hosts, yield to others and do not count.
func (s *turns[C]) waiting(most int, now int64) (since int64) {
	since = now
	for _, h := range s.ready.next(most) {
		if t := h.queues[dueQueue].head(); t != nil && h.speed == admission.Steady && !h.clearing {
			since = min(since, max(t.due, h.freeAt))
		}
	}
	return since
}
