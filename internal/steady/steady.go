// Package steady is the wall clock without leaps ahead that do not last. The times of a range's
// commands never fall: after a clock that was a year ahead for a moment they would stay there for
// a year, with all that goes by their age.
package steady

import (
	"log/slog"
	"sync"
	"time"
)

type clock struct {
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

// Clock returns the time. It says in the log when the wall clock leaps ahead.
func Clock(log *slog.Logger) func() time.Time {
	begun := time.Now()
	c := &clock{wall: time.Now, ran: func() time.Duration { return time.Since(begun) }, log: log}
	return c.now
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, ran := c.wall(), c.ran()
	if c.read.IsZero() {
		c.read, c.ranAt = wall, ran
	}
	moved := wall.Round(0).Sub(c.read.Round(0)) - (ran - c.ranAt)
	c.read, c.ranAt = wall, ran
	switch {
	case c.ahead == 0 && moved > leapFrom:
		c.ahead, c.leapt = moved, ran
		c.log.Warn("the clock has leapt ahead: its time is taken if it stays there", "by", moved, "for", leapLasts)
	case c.ahead == 0:
	case c.ahead+moved <= leapFrom, ran-c.leapt >= leapLasts:
		c.ahead = 0
	default:
		c.ahead += moved
		if moved > leapFrom {
			c.leapt = ran
		}
	}
	if c.ahead == 0 {
		return wall
	}
	return wall.Round(0).Add(-c.ahead) // times of the process have not leapt
}
