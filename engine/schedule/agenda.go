package schedule

import (
	"math"

	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// agenda holds when each target is due, and since when those without an order are
// dormant.
type agenda[C any] struct {
	pace    pace.Pace
	due     dueHeap[*Target[C]]
	dormant fifo[dormancy[C]]
	live    int // targets that are ordered
	failing int // of those, whose last poll failed
}

// Plan puts an idle target where its next due time says.
func (s *agenda[C]) Plan(t *Target[C], now int64) {
	t.due = s.pace.Next(&t.pace, t.wait(), now)
	if t.due == never {
		s.due.remove(t)
		return
	}
	s.due.set(t, t.due)
}

func (s *agenda[C]) setRate(t *Target[C], rate overlay.Rate, width, rank int, now int64) {
	s.pace.SetRate(&t.pace, overlay.PhaseOf(t.ID), rate, clamp16(width), clamp16(rank), now)
}

// clamp16 keeps a width or rank in two bytes. A negative rank has no slots, nor has
// the greatest.
func clamp16(n int) uint16 {
	if n < 0 {
		return math.MaxUint16
	}
	return uint16(min(n, math.MaxUint16))
}

// Explain returns until when a target's slots are left out, which may be over, and
// why.
func (s *agenda[C]) Explain(t *Target[C], now int64) (until int64, why pace.Cause) {
	_, until, why = s.pace.Explain(&t.pace, t.wait(), now)
	return until, why
}

// Forgive resets a target for another incarnation of its channel: it forgets what the
// origin did and said, but not when it was asked, nor when it may be asked again.
func (s *agenda[C]) Forgive(t *Target[C]) {
	was := t.failing()
	t.pace.Failures, t.refused = 0, false
	t.SetWishes(0, pace.Skip{})
	s.recount(t, was)
}

// recount keeps the number of failing targets after a change of one, of which was says
// whether it failed before.
func (s *agenda[C]) recount(t *Target[C], was bool) {
	switch is := t.failing(); {
	case is && !was:
		s.failing++
	case was && !is:
		s.failing--
	}
}

// dormancy is a target without an order, and since when it has none. It is void
// when the target was ordered again meanwhile, or forgotten.
type dormancy[C any] struct {
	target *Target[C]
	since  int64
}

func (s *agenda[C]) drop(t *Target[C], now int64) {
	if t.dropped {
		return
	}
	was := t.failing()
	t.dropped = true
	s.recount(t, was)
	s.live--
	if t.state == idle {
		s.sleep(t, now)
	}
}

func (s *agenda[C]) revive(t *Target[C]) {
	if !t.dropped {
		return
	}
	was := t.failing()
	t.dropped = false
	s.recount(t, was)
	s.live++
}

// sleep takes a dropped target that is idle out of the schedule.
func (s *agenda[C]) sleep(t *Target[C], now int64) {
	s.due.remove(t)
	t.due = now
	s.dormant.push(dormancy[C]{t, now})
}

// Expired takes the next target that has been dormant since before a time, and
// claims it; nil when there is none.
func (s *agenda[C]) Expired(before int64) *Target[C] {
	for {
		d, ok := s.dormant.peek()
		if !ok || d.since > before {
			return nil
		}
		s.dormant.pop()
		if t := d.target; t.dropped && t.state == idle && t.due == d.since {
			t.state = busy
			return t
		}
	}
}

// Claim takes a target, which is idle, until [Schedule.Unclaim] or [Schedule.Finish]: an
// order that comes meanwhile does not have it polled.
func (s *agenda[C]) Claim(t *Target[C]) {
	s.due.remove(t)
	t.state = busy
}
