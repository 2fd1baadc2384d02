package ownership

import (
	"log/slog"
	"sync"
	"time"
)

// steady is the wall clock without leaps ahead that do not last. The times of a range's
// commands never fall: after a clock that was a year ahead for a moment they would stay there
// for a year, with all that goes by their age.
type steady struct {
	wall func() time.Time
	ran  func() time.Duration // how long the process has run
	log  *slog.Logger

	mu    sync.Mutex
	read  time.Time // by wall, at ranAt
	ranAt time.Duration
	ahead time.Duration // by how much wall has leapt ahead, which is not taken yet
	leapt time.Duration // when that was, by ran
}

const (
	// leapFrom is by how much a clock moves between two readings, beside the time that has passed,
	// that is more than a correction.
	leapFrom = 10 * time.Second
	// leapLasts is how long a leap must last to be taken: the clock was wrong before, or the
	// machine slept.
	leapLasts = time.Minute
)

func newSteady(log *slog.Logger) *steady {
	begun := time.Now()
	return &steady{wall: time.Now, ran: func() time.Duration { return time.Since(begun) }, log: log}
}

func (s *steady) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, ran := s.wall(), s.ran()
	if s.read.IsZero() {
		s.read, s.ranAt = wall, ran
	}
	moved := wall.Round(0).Sub(s.read.Round(0)) - (ran - s.ranAt)
	s.read, s.ranAt = wall, ran
	switch {
	case s.ahead == 0 && moved > leapFrom:
		s.ahead, s.leapt = moved, ran
		s.log.Warn("the clock has leapt ahead: its time is taken if it stays there", "by", moved, "for", leapLasts)
	case s.ahead == 0:
	case s.ahead+moved <= leapFrom, ran-s.leapt >= leapLasts:
		s.ahead = 0
	default:
		s.ahead += moved
		if moved > leapFrom {
			s.leapt = ran
		}
	}
	return wall.Add(-s.ahead)
}
