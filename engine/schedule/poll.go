package schedule

import (
	"time"

	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Poll is one request of a target, from [Schedule.Begin] to [Schedule.End].
type Poll[C any] struct {
	Target   *Target[C]
	Host     *Host[C]     // that it asks
	Begun    time.Time    // of the request; the caller's to set
	Sent     time.Time    // when the request had been written, the caller's to set; zero: it was not
	Eligible int64        // when its slot had come and its host allowed it
	HostWait int64        // how long after its slot that was
	Body     int64        // bytes of memory to be set aside before it asks; 0: none
	Verdict  pace.Verdict // on its answer
	HostNews bool         // its host's [HostRecord] has changed

	class    admission.Class // it counts among the polls of this class
	hopped   bool            // a redirect has led it to its host
	reserves bool            // it waits for memory
	released bool            // its host may be asked again
}

// Lateness is how long after it might have begun the poll began: what the poller is
// to blame for. What its host made it wait is HostWait.
func (p *Poll[C]) Lateness() time.Duration {
	return max(0, time.Duration(p.Begun.UnixNano()-p.Eligible))
}

// Begin fills p in with the next poll, of which the caller sets Begun; ok is false
// when there is none, or no worker for it.
func (s *Schedule[C]) Begin(p *Poll[C], now int64) (ok bool) {
	for s.workers.InFlight < s.workers.Limit && !ok {
		h, some := s.ready.pop()
		if !some {
			break
		}
		ok = s.beginAt(p, h, now)
		s.unpark(now)
	}
	return ok
}

// beginAt takes the next poll of a ready host, unless that has to be parked, or
// all that waited there was dropped.
func (s *Schedule[C]) beginAt(p *Poll[C], h *Host[C], now int64) (ok bool) {
	h.state = hostQuiet
	if !s.mayAsk(h) {
		return false // any more
	}
	if h.freeAt > now { // since a request was sent later than its poll had begun
		s.place(h, now)
		return false
	}
	queue, of := s.choose(h)
	if s.workers.Full(of) {
		s.park(h, of)
		return false
	}
	t := s.pop(h, queue)
	for t != nil && t.dropped {
		s.leaveHop(t)
		s.makeIdle(t, false, now)
		t = s.pop(h, queue)
	}
	if t != nil {
		s.beginOf(p, t, of, now)
	}
	s.place(h, now)
	return t != nil
}

func (s *Schedule[C]) beginOf(p *Poll[C], t *Target[C], of admission.Class, now int64) {
	h := t.at()
	*p = Poll[C]{Target: t, Host: h, Eligible: max(t.due, h.freeAt), class: of}
	p.HostWait = p.Eligible - t.due
	if t.rare != nil {
		p.Body, p.hopped = t.rare.body, t.rare.hop != nil
	}
	p.reserves = p.Body > 0
	h.reserves = h.reserves || p.reserves
	t.state = busy
	h.busy++
	s.hosts.space(h, now)
	s.workers.Begin(of)
}

// MayAsk reports that a poll which has waited for memory may ask now. Meanwhile its
// host was not asked for anything else, so that its gap is kept; the host may have
// begun to rest. stands says that the order of the poll does.
func (s *Schedule[C]) MayAsk(p *Poll[C], stands bool, now int64) bool {
	h := p.Host
	p.reserves, h.reserves = false, false
	p.HostWait += max(0, now-p.Eligible)
	p.Eligible = max(p.Eligible, now)
	if !stands || p.Target.dropped || h.rest.Resting(now) {
		return false
	}
	s.hosts.space(h, now)
	s.place(h, now)
	return true
}

// Reply is what an exchange says of its host.
type Reply struct {
	Status     int // 0: there was no response
	RetryAfter pace.RetryAfter
	Took       time.Duration // 0: it says nothing about the host
	HasContent bool          // of the channel, which used to answer
}

// Release ends a poll's request: its host may be asked again, unless the answer
// says otherwise. The poll itself goes on. A second release does nothing.
func (s *Schedule[C]) Release(p *Poll[C], r Reply, now int64) {
	if p.released {
		return
	}
	p.released = true
	t, h := p.Target, p.Host
	h.reserves = h.reserves && !p.reserves
	if int(h.busy) >= s.hosts.parallelOf(h) {
		h.freeAt = max(h.freeAt, now)
	}
	h.busy--
	if r.Took > 0 {
		h.speed = speedOf(r.Took)
	}
	before := h.rest
	p.Verdict = h.rest.Note(pace.Answer{
		Status: r.Status, RetryAfter: r.RetryAfter, Begun: p.Begun.UnixNano(), Now: now, Phase: overlay.PhaseOf(t.ID),
		Answered: r.HasContent && t.pace.Failures == 0, Refused: t.refused,
	}, s.pace.Interval)
	p.HostNews = h.rest != before
	if p.Verdict == pace.HostRefuses {
		s.rests(h, now)
	}
	if p.Sent.Sub(p.Begun) > sentSoon {
		s.respace(h, min(p.Sent.UnixNano(), now), now)
	}
	s.place(h, now)
}

// sentSoon is how long after its poll has begun a request is sent that had a connection.
const sentSoon = time.Millisecond

// respace has a host's gap count from when a request was sent: a connection may have taken
// long, and the next request, which has one already, would follow at once.
func (s *Schedule[C]) respace(h *Host[C], sent, now int64) {
	if free := s.hosts.freeAfter(h, sent, 1); free > max(h.freeAt, now) {
		h.freeAt = free
		if h.state == hostSpaced {
			s.spaced.set(h, free)
		}
	}
}

// Asked notes when a target was asked last: the floor counts from when the request left,
// which on a busy machine, or one that suspends this process, is long after it began.
func (s *Schedule[C]) Asked(p *Poll[C], now int64) {
	asked := p.Begun
	if !p.Sent.IsZero() {
		asked = p.Sent
	}
	p.Target.pace.LastPoll = min(asked.UnixNano(), now) // the clock may have been set back meanwhile
}

// Blame says what the end of a poll means to its channel.
type Blame uint8

const (
	Succeeded Blame = iota // the origin answered
	Failed                 // the origin failed: it is asked less and less often
	Refused                // the host asked not to be asked so soon
	Canceled               // the origin was not asked, or not to its end, for a reason of ours
)

// Result is what a poll has shown, of a target whose order still stands.
type Result struct {
	Blame      Blame
	RetryAfter pace.RetryAfter
	Status     int
	Memory     int64 // bytes that the body took, or has to have the next time; 0: few, or not known
	Busy       bool  // there was no memory or connection for it
}

// largeBody is how much memory a body takes that polls wait for before they ask.
const largeBody = 1 << 20

// Conclude notes what a poll has shown of its target.
func (s *Schedule[C]) Conclude(p *Poll[C], r Result, now int64) {
	t := p.Target
	was := t.failing()
	rare := t.rareOf()
	rare.notBefore = 0
	if rare.others <= t.pace.LastPoll {
		rare.others = 0
	}
	switch {
	case r.Memory >= largeBody || r.Busy && r.Memory > 0: // what found no room is not to be thrown away twice
		rare.body = max(r.Memory, largeBody)
	case r.Status/100 == 2: // a 304 says nothing about it
		rare.body = 0
	}
	switch r.Blame {
	case Succeeded:
		t.pace.Failures = 0
	case Failed:
		t.pace.Failures = min(t.pace.Failures, 1<<15) + 1
	}
	if r.Blame != Canceled {
		rare.notBefore = p.spare(r, now)
		t.refused = p.Verdict != pace.NotRefused
	}
	t.setRare(rare)
	s.recount(t, was)
	s.pace.KeepFloor(&t.pace, overlay.PhaseOf(t.ID))
}

// spare returns until when a poll's channel is not to be asked for; 0: the origin did
// not say.
func (p *Poll[C]) spare(r Result, now int64) int64 {
	switch {
	case r.Blame != Refused && r.RetryAfter.After > 0:
		return now + int64(min(r.RetryAfter.After, pace.LongestRest))
	case r.Blame == Refused && p.hopped:
		return p.Host.rest.Until // not its own host rests
	}
	return 0
}

// End ends a poll: its worker is free. [Schedule.Follow] or [Schedule.Finish] comes
// next.
func (s *Schedule[C]) End(p *Poll[C], l admission.Load, now int64) {
	s.workers.Feedback(p.class, p.Begun.UnixNano(), p.Eligible, l, now)
	s.workers.End(p.class)
	s.unpark(now)
}

// Finish makes the target of an ended poll idle.
func (s *Schedule[C]) Finish(t *Target[C], now int64) {
	s.leaveHop(t)
	s.makeIdle(t, false, now)
}

// Follow queues the target of an ended poll where a redirect has led it, and reports
// whether it could: if the redirect or that host asks to wait, the poll ends without
// blame, and the next one begins after that.
func (s *Schedule[C]) Follow(t *Target[C], to *Host[C], retryAfter pace.RetryAfter, now int64) (followed bool) {
	s.hosts.refer(to, 1)
	s.leaveHop(t)
	r := t.rareOf()
	r.hop = to
	t.setRare(r)
	switch {
	case retryAfter.After > 0: // before the target is asked (RFC 9110, section 10.2.3)
		s.Strand(t, now+int64(min(retryAfter.After, pace.LongestRest)), now)
		return false
	case to.rest.Resting(now):
		s.Strand(t, to.rest.Until, now)
		return false
	}
	t.due = now
	s.push(t, now)
	return true
}

// Strand ends the poll of a target that a redirect has led to a host that may not be
// asked before until. The next one begins after that.
func (s *Schedule[C]) Strand(t *Target[C], until int64, now int64) {
	r := t.rareOf()
	r.notBefore = until
	t.setRare(r)
	s.leaveHop(t)
	s.makeIdle(t, true, now)
}

// leaveHop ends what redirects have led a target's poll to.
func (s *Schedule[C]) leaveHop(t *Target[C]) {
	r := t.rareOf()
	if r.hop == nil {
		return
	}
	s.hosts.refer(r.hop, -1)
	r.hop = nil
	t.setRare(r)
}
