package schedule

import (
	"time"

	"github.com/seed-91e7e7c1/corona/engine/admission"
)

// Manners is how a host is asked at present.
type Manners struct {
	Gap      time.Duration // between the beginnings of two requests; 0: none
	Parallel int           // requests at a time
}

// MannersOf returns how this node asks a host at present.
func (s *Schedule[C]) MannersOf(h *Host[C], now int64) Manners {
	return Manners{Gap: time.Duration(s.hosts.gapOf(h, s.hosts.partOf(h, now))), Parallel: s.hosts.parallelOf(h)}
}

// Counts is how much there is of everything.
type Counts struct {
	Targets   int // ordered
	Failing   int // of those, whose last poll failed
	Scheduled int // that wait for their due time
	Queued    int // due, and waiting for their host or a worker
	Hosts     int
	Spaced    int // hosts with due polls that wait for their gap
	Resting   int // hosts that asked not to be asked for a while
	Guests    int // hosts without targets
	InFlight  int // polls under way
	Strange   int // of those, first polls and polls of hosts that were not asked before
	Slow      int // of those, of hosts that were slow the last time
	Workers   int // polls that may be under way
}

// Count returns how much there is of everything.
func (s *Schedule[C]) Count(now int64) Counts {
	return Counts{
		Targets: s.live, Failing: s.failing, Scheduled: s.due.len(), Queued: s.queued,
		Hosts: len(s.hosts.byID), Spaced: s.spaced.len(), Resting: s.hosts.countResting(now), Guests: s.hosts.guests.len(),
		InFlight: s.workers.InFlight, Strange: s.workers.Polls[admission.Strange], Slow: s.workers.Polls[admission.Slow], Workers: s.workers.Limit,
	}
}

// Behind returns for how long, in nanoseconds, the longest waiting poll has waited for
// the loop or a worker, which is the poller's own delay.
func (s *Schedule[C]) Behind(now int64) int64 {
	since := s.waiting(s.batch, now)
	if due, t, ok := s.due.min(); ok && !t.first {
		since = min(since, due)
	}
	return now - since
}
