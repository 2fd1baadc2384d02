package schedule

// dormancy is a target without an order, and since when it has none. It is void
// when the target was ordered again meanwhile, or forgotten.
type dormancy[C any] struct {
	target *Target[C]
	since  int64
}

// Drop makes a target dormant: an order within an interval finds it as it was. Its
// poll, if it is under way, goes on.
func (s *Schedule[C]) Drop(t *Target[C], now int64) {
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

// Revive ends a target's dormancy: it is ordered.
func (s *Schedule[C]) Revive(t *Target[C]) {
	if !t.dropped {
		return
	}
	was := t.failing()
	t.dropped = false
	s.recount(t, was)
	s.live++
}

// sleep takes a dropped target that is idle out of the schedule.
func (s *Schedule[C]) sleep(t *Target[C], now int64) {
	s.due.remove(t)
	t.due = now
	s.dormant.push(dormancy[C]{t, now})
}

// Expired takes the next target that has been dormant since before a time, and
// claims it; nil when there is none.
func (s *Schedule[C]) Expired(before int64) *Target[C] {
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

// Claim takes a target, which is idle, until [Schedule.Unclaim]: an order that comes
// meanwhile does not have it polled.
func (s *Schedule[C]) Claim(t *Target[C]) { t.state = busy }

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
