// Package schedule decides which channel is polled next, and when. It is pure: it
// takes values and the time, returns values, and has no goroutine, lock, clock or
// I/O.
//
// Each channel is a [Target] that goes idle (due heap) → queued (its host's queue)
// → busy (a worker) → idle. When a channel is due package pace says, from values that
// a target and its host keep. Hosts take turns (turns.go), and polls of each class have
// a share of the workers (package admission). testdata has timelines.
package schedule

import (
	"iter"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Config says how polls are spaced. Every field must be set but the gaps.
type Config struct {
	Interval                time.Duration // τ, that rates refer to
	Floor                   time.Duration // shortest time between two polls of a channel
	Workers                 int           // polls under way
	HostParallel            int           // requests under way at a host, of all nodes
	HostGap, PrivateHostGap time.Duration // between the beginnings of two requests to a host, of all nodes; 0: none
	Nodes                   int           // that share what a host takes; 0: 1
}

// Schedule holds the targets that are ordered, and those that lately were. C is what
// the caller keeps of each. Its methods are for one caller at a time, and times are
// nanoseconds since 1970.
type Schedule[C any] struct {
	turns[C]
	agenda[C]
	batch int // of one thing that is done in one call

	// idle is called with a target that is idle again, before its next poll is planned.
	// stranded says that its poll ended where a redirect had led it, at a host that rests.
	idle func(t *Target[C], stranded bool)
}

// batch is how much is done of one thing at a time: workers wait for the lock
// meanwhile, and after a stall, or at a host that refuses, thousands may be waiting.
const batch = 512

// New returns an empty schedule. It calls idle with each target that has become idle
// again, before it plans its next poll: the caller may attach it to another host
// then. stranded says that its poll has ended where a redirect had led it, at a host
// that rests.
func New[C any](c Config, idle func(t *Target[C], stranded bool)) *Schedule[C] {
	return &Schedule[C]{
		turns:  turns[C]{hosts: newHosts[C](c), workers: admission.New(c.Workers)},
		agenda: agenda[C]{pace: pace.Pace{Interval: c.Interval, Floor: c.Floor}},
		batch:  batch,
		idle:   idle,
	}
}

// NewTarget returns a target that is neither ordered nor at a host.
func NewTarget[C any](id channel.ID) *Target[C] {
	return &Target[C]{ID: id, heapAt: -1, dropped: true}
}

// Host returns a host; private is asked whether its gap is that of private hosts.
func (s *Schedule[C]) Host(id channel.ID, private func() bool) *Host[C] {
	return s.hosts.get(id, private)
}

// Attach has the polls of a target, which must not be queued, ask a host first.
func (s *Schedule[C]) Attach(t *Target[C], h *Host[C]) {
	if t.host != nil {
		s.hosts.refer(t.host, -1)
	}
	load := t.load()
	s.hosts.bear(t.host, -load)
	t.host = h
	s.hosts.refer(h, 1)
	s.hosts.bear(h, load)
}

// SetRate moves a target to the slots of another rate, of which it is one of width
// pollers. The caller plans it.
func (s *Schedule[C]) SetRate(t *Target[C], rate overlay.Rate, width, rank int, now int64) {
	was := t.load()
	s.agenda.setRate(t, rate, width, rank, now)
	s.hosts.bear(t.host, t.load()-was)
}

// Drop makes a target dormant: an order within an interval finds it as it was. Its
// poll, if it is under way, goes on.
func (s *Schedule[C]) Drop(t *Target[C], now int64) {
	was := t.load()
	s.agenda.drop(t, now)
	s.hosts.bear(t.host, t.load()-was)
}

// Revive ends a target's dormancy: it is ordered.
func (s *Schedule[C]) Revive(t *Target[C]) {
	was := t.load()
	s.agenda.revive(t)
	s.hosts.bear(t.host, t.load()-was)
}

// Restore has a new target be as an earlier run knew it; it is dormant from now on.
// Restoring it again replaces that.
func (s *Schedule[C]) Restore(t *Target[C], r Record, now int64) {
	if t.pace.LastPoll == 0 {
		s.sleep(t, now)
	}
	t.pace.LastPoll = min(r.LastPoll, now)
	t.pace.Failures, t.refused = r.Failures, r.Refused
	t.pace.Rate, t.pace.Rank, t.pace.Drift = r.Rate, r.Rank, r.Drift
	t.pace.Width = clamp16(overlay.WidthOf(t.pace.Rate, s.pace.Interval, s.pace.Floor))
	rare := t.rareOf()
	rare.notBefore = min(r.NotBefore, now+int64(pace.LongestRest))
	t.setRare(rare)
	s.hosts.restored = max(s.hosts.restored, t.pace.LastPoll)
}

// RestoreHost returns a host as an earlier run knew it, nil if that no longer matters.
func (s *Schedule[C]) RestoreHost(r HostRecord, now int64) *Host[C] { return s.hosts.restore(r, now) }

// makeIdle ends a target's waiting or poll: it is dormant or planned from now on.
func (s *Schedule[C]) makeIdle(t *Target[C], stranded bool, now int64) {
	t.state = idle
	s.idle(t, stranded)
	if t.dropped {
		s.sleep(t, now)
		return
	}
	s.Plan(t, now)
}

// NextDue returns when [Schedule.Promote] next has something to do; 0: at once.
func (s *Schedule[C]) NextDue() int64 { return s.NextTurn(never, never) }

// NextTurn is [Schedule.NextDue] where targets that come due after a time wait for others until
// a later one. Hosts whose gap is over do not wait: that would make the gap longer.
func (s *Schedule[C]) NextTurn(after, until int64) int64 {
	next := int64(never)
	if s.clearing.len() > 0 {
		return 0
	}
	if due, _, ok := s.due.min(); ok {
		if next = due; due > after {
			next = max(due, until)
		}
	}
	if free, _, ok := s.spaced.min(); ok {
		next = min(next, free)
	}
	return next
}

// Promote queues targets that are due at their hosts, or plans them again where the
// host rests, and readies hosts whose gap is over. What it leaves, NextDue still
// names. It has no first polls begin unless firsts says so: while the disk is nearly
// full what they bring would be thrown away.
func (s *Schedule[C]) Promote(firsts bool, now int64) {
	s.allowFirsts(firsts, now)
	s.clearSome(now)
	s.ungap(s.batch, now)
	for range s.batch {
		due, t, ok := s.due.min()
		if !ok || due > now {
			return
		}
		if t.host.rest.Resting(now) {
			s.Plan(t, now)
			continue
		}
		s.due.remove(t)
		s.push(t, now)
	}
}

// rests plans the targets again that wait at a host that rests from now on, each for
// its turn after the rest, so that none come in a burst. Until that is done the host is
// not asked.
func (s *Schedule[C]) rests(h *Host[C], now int64) {
	s.hosts.resting[h] = struct{}{}
	if h.clearing || h.empty() {
		return
	}
	h.clearing = true
	s.clearing.push(h)
	s.clearSome(now)
}

// Heed has a host rest that refused another node, and returns it; nil: it rests already.
func (s *Schedule[C]) Heed(rest channel.Rest, now int64) *Host[C] {
	h := s.hosts.heed(rest, now)
	if h != nil {
		s.rests(h, now)
	}
	return h
}

// Spare has a target wait until a time, a day from now at most, since its origin has asked
// another poller not to be asked for it before. A poll that is queued or under way goes on.
func (s *Schedule[C]) Spare(t *Target[C], until, now int64) {
	r := t.rareOf()
	if until <= max(r.notBefore, now) {
		return
	}
	r.notBefore = min(until, now+int64(pace.LongestRest))
	t.setRare(r)
	if t.state == idle {
		s.Plan(t, now)
	}
}

// clearSome plans the targets again that wait at hosts that rest, in the order of the
// hosts' refusals. If the rest is over by then, they go to their next slots.
func (s *Schedule[C]) clearSome(now int64) {
	for range s.batch {
		h, ok := s.clearing.peek()
		if !ok {
			return
		}
		if t := s.popAny(h); t != nil {
			if t.rare != nil && t.rare.hop != nil {
				s.Strand(t, h.rest.Until, now)
				continue
			}
			s.makeIdle(t, false, now)
			continue
		}
		s.clearing.pop()
		h.clearing = false
		s.place(h, now)
	}
}

// Unclaim gives a claimed target back. If it is dropped still, it is forgotten, and
// ok is false; else the caller plans it.
func (s *Schedule[C]) Unclaim(t *Target[C]) (ok bool) {
	t.state = idle
	if !t.dropped {
		return true
	}
	t.due = never // which voids its dormancies
	if t.host != nil {
		s.hosts.refer(t.host, -1)
	}
	return false
}

// Realign follows a wall clock that was set by step: noted times move with it, and the
// slots of all targets are looked up again. Without it a clock set forwards would make
// every channel due at once, one set back none for as long. Times that polls have noted
// since the clock was set are of the new clock already: so no past time becomes later
// than now, and no wait longer than its cap.
func (s *Schedule[C]) Realign(step, now int64, all iter.Seq[*Target[C]]) {
	s.turns.shift(step, now)
	for t := range all {
		t.shift(step, now)
		if t.state == queued || t.dropped {
			t.due += step
		} else if t.state == idle {
			s.Plan(t, now)
		}
	}
	for i := range s.dormant.items {
		s.dormant.items[i].since += step
	}
}

// Dismiss forgets hosts without targets that need no more be remembered, of at most
// so many, and returns them.
func (s *Schedule[C]) Dismiss(most int, now int64) (over []*Host[C]) {
	for range most {
		h, ok := s.hosts.guests.pop()
		switch {
		case !ok:
			return over
		case h.targets > 0:
			h.guest = false
		case h.remembered(now):
			s.hosts.guests.push(h)
		default:
			s.spaced.remove(h)
			delete(s.hosts.resting, h)
			delete(s.hosts.byID, h.ID)
			over = append(over, h)
		}
	}
	return over
}
