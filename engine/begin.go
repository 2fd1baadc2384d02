package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// poll is one poll of a channel: what its worker needs of the target, as it was
// when the poll began. Orders may change the target meanwhile.
type poll struct {
	target      *target
	id          channel.ID
	own         string // the channel's URL
	url         string // to be asked: own, or where redirects led
	host        *host  // that it is on
	hop         *hop   // how redirects led there; nil: they did not
	course      *course
	incarnation uint64
	version     uint64
	hash        deltas.Hash
	holding     store.Holding
	words       *words
	known       int64 // when a poll before it began that showed version; 0: not known
	subscribers uint32
	loaded      bool
	held        bool
	stray       bool
	first       bool // of a channel without content: rates do not plan it

	body     int64 // bytes of memory to be set aside before it asks; 0: none
	whole    bool  // the last body was taken in
	reserves bool  // it waits for that

	eligible int64 // when its slot had come and its host allowed it
	hostWait int64 // how long after its slot that was
	begun    time.Time
	class    manner // it counts among the polls of this class
	released bool   // its host may be asked again
	verdict  verdict

	row    int32            // in the ledger
	noted  store.ChannelRow // what stands there, but for this poll's begin
	atHost bool             // its host's row is to be written

	bound   bool          // the owner is to hear of:
	least   time.Duration // the time between two polls that the origin asks for
	resized bool          // the owner is to hear of its size
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
	if !s.mayAsk(h) {
		return poll{}, false // any more
	}
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
	if !s.open(h, queue) || s.full(class) && s.open(h, other) && !s.full(h.classOf(other)) {
		return other, h.classOf(other)
	}
	return queue, class
}

// full reports a class of polls that has its share of workers.
func (s *schedule) full(class manner) bool {
	if class == strange {
		return s.polls[class] >= s.opening
	}
	return s.polls[class] >= s.limits.shares[class]
}

// Strange polls begin with a sixteenth of the workers, and are never fewer than
// leastOpening.
const (
	openingShare = 16
	leastOpening = 4
)

// lateEnough is how late a poll has begun when strange ones are to leave it more of
// the processors: well above what a collection of garbage or a short stall takes.
const lateEnough = 50 * time.Millisecond

// ease follows what one poll, which is still counted, tells of our own load. Nobody
// knows how large the documents of an import are: each strange poll that comes in
// lets one more run, as long as all that may run do; one that found no memory or
// connection free halves them, and so does one of another class that began late; once
// for all that were waiting or under way with it. From then on their number grows by
// one in the time that all of them take. Without it a thousand first polls of long
// pages would ask for what most of them then have no room for, and the polls that are
// due would wait for the processors behind them. Lateness leaves as many as an import
// begins with: that is little work for the processors, and an import goes on, though
// many of its hosts may hang and others may be what makes polls late.
func (s *schedule) ease(p *poll, r *result, now int64) {
	if p.class != strange {
		if s.polls[strange] > 0 && p.eligible > s.eased && p.lateness() > lateEnough {
			s.yield(s.limits.opening, now)
		}
		return
	}
	switch {
	case p.begun.UnixNano() <= s.eased:
		return
	case r.busy:
		s.yield(min(leastOpening, s.limits.shares[strange]), now)
		return
	case r.outcome == canceled || s.polls[strange] < s.opening:
		return
	}
	if s.ended++; s.eased == 0 || s.ended >= s.opening {
		s.opening, s.ended = min(s.opening+1, s.limits.shares[strange]), 0
	}
}

// yield halves the strange polls that may be under way, down to a least number.
func (s *schedule) yield(least int, now int64) {
	s.opening, s.ended, s.eased = min(max(s.opening/2, least), s.opening), 0, now
}

// nextOf takes the next target of a host's queue that is still ordered, or nil.
func (s *schedule) nextOf(h *host, queue uint8, now int64) *target {
	h.turn = 1 - queue
	for {
		t := h.queues[queue].pop()
		if t == nil {
			return nil
		}
		if other := queueOf(t); other != queue && !t.dropped { // an order came meanwhile
			h.queues[other].push(t)
			continue
		}
		s.queued--
		if !t.dropped {
			return t
		}
		s.land(t)
		s.rest(t, now)
	}
}

func (s *schedule) beginOf(t *target, class manner, now int64) poll {
	h := t.at()
	p := poll{target: t, host: h, eligible: max(t.due, h.freeAt), class: class}
	p.hostWait = p.eligible - t.due
	p.see(t)
	if t.row == 0 {
		t.row = s.rows.Take()
	}
	p.row, p.noted = t.row, t.ledgerRow()
	p.reserves = p.body > 0
	h.reserves = h.reserves || p.reserves
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
	p.id, p.own, p.url, p.incarnation = t.id, t.url, t.url, t.incarnation
	odd := t.oddities()
	p.hop, p.course = odd.hop, odd.course
	p.body, p.whole = odd.body, t.failures == 0 && odd.lastError == ""
	if p.asksLearned() {
		p.own = p.course.own
	}
	if p.hop != nil {
		p.url = p.hop.url
	}
	p.version, p.hash = t.version, t.hash
	p.holding, p.loaded, p.held, p.stray = t.holding, t.loaded, t.held, t.stray
	p.words, p.subscribers, p.known, p.first = t.words, t.subscribers, t.known(), t.isFirst()
}

// ask reports that a poll which has waited for memory may ask now. Meanwhile its host
// was not asked for anything else, so that its gap is kept; its order may have ended, or
// its host have begun to rest.
func (s *schedule) ask(p *poll, now int64) bool {
	h := p.host
	p.reserves, h.reserves = false, false
	p.hostWait += max(0, now-p.eligible)
	p.eligible = max(p.eligible, now)
	if p.target.dropped || p.target.incarnation != p.incarnation || h.rest.resting(now) {
		return false
	}
	if gap := s.gapOf(h); gap > 0 {
		h.freeAt = now + gap
	}
	s.settle(h, now)
	return true
}

// release ends a poll's request: its host may be asked again, unless the answer
// says otherwise. The poll itself goes on. A second release does nothing. A
// request that took 0 says nothing about the host.
func (s *schedule) release(p *poll, r *result, now int64) {
	if p.released {
		return
	}
	p.released = true
	h := p.host
	h.reserves = h.reserves && !p.reserves
	if int(h.busy) >= s.parallel(h) {
		h.freeAt = max(h.freeAt, now)
	}
	h.busy--
	if r.took > 0 {
		s.manner(h, mannerOf(r.took))
	}
	s.hear(p, r, now)
	s.settle(h, now)
}

// hear goes by what an answer says about being asked.
func (s *schedule) hear(p *poll, r *result, now int64) {
	t, before := p.target, p.host.rest
	p.verdict = p.host.rest.hear(reply{
		status: r.status, retryAfter: r.retryAfter, begun: p.begun.UnixNano(), now: now, phase: overlay.PhaseOf(t.id),
		answered: t.version > 0 && t.failures == 0, refused: t.refused,
	}, s.pace.interval)
	p.atHost = p.host.rest != before
	if p.verdict == hostRefuses {
		s.clear(p.host, now)
	}
}

// clear has what waits at a host that rests from now on planned anew: each target
// for its turn after that, so that nothing piles up and nothing comes in a burst.
// Until that is done nobody is asked there.
func (s *schedule) clear(h *host, now int64) {
	s.resting[h] = struct{}{}
	if h.clearing || h.empty() {
		return
	}
	h.clearing = true
	s.clearing.push(h)
	s.clearSome(now)
}

// clearSome plans anew what waits at hosts that rest, the first of them first.
func (s *schedule) clearSome(now int64) {
	for range s.limits.batch {
		h, ok := s.clearing.peek()
		if !ok {
			return
		}
		if t := s.unqueue(h); t != nil {
			s.replan(t, h, now)
			continue
		}
		s.clearing.pop()
		h.clearing = false
		s.settle(h, now)
	}
}

// unqueue takes whoever waits at a host, those with content first; nil: nobody does.
func (s *schedule) unqueue(h *host) *target {
	t := h.queues[dueQueue].pop()
	if t == nil {
		t = h.queues[firstQueue].pop()
	}
	if t != nil {
		s.queued--
	}
	return t
}

// replan makes a target idle that waited at a host that rests. The rest may be over
// by now: then its next slot is as good.
func (s *schedule) replan(t *target, h *host, now int64) {
	if t.oddities().hop != nil {
		s.strand(t, h.rest.until, restsText, now)
		return
	}
	s.rest(t, now)
}

// countResting returns how many hosts rest.
func (s *schedule) countResting(now int64) int {
	for h := range s.resting {
		if !h.rest.resting(now) {
			delete(s.resting, h)
		}
	}
	return len(s.resting)
}

// rest makes a target idle, and lays it or plans it.
func (s *schedule) rest(t *target, now int64) {
	t.state = idle
	if t.dropped {
		s.lay(t, now)
		return
	}
	s.readdress(t)
	s.plan(t, now)
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
