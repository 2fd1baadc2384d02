package loadgen

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// changes says when synthetic channels change: by the survey's intervals, by recorded
// histories or never, and when they are told to. Times are the schedule's.
type changes struct {
	schedule Schedule
	history  history // nil: none
	still    bool

	bumped atomic.Bool // whether a channel was ever told to change
	mu     struct {
		sync.RWMutex
		bumps map[int][]time.Duration // by channel, in order
	}
}

// bump lets a channel change at a time that is not before its last such change.
func (c *changes) bump(channel int, at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.bumps == nil {
		c.mu.bumps = make(map[int][]time.Duration)
	}
	c.mu.bumps[channel] = append(c.mu.bumps[channel], at)
	c.bumped.Store(true)
}

func (c *changes) bumps(channel int) []time.Duration {
	if !c.bumped.Load() {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.mu.bumps[channel])
}

// scheduled returns the revision that the schedule has at a time; 1 where it is off.
func (c *changes) scheduled(channel int, at time.Duration) int64 {
	switch {
	case c.still:
		return 1
	case c.history != nil:
		return c.history.revision(c.schedule, channel, at)
	}
	return c.schedule.Revision(channel, at)
}

// scheduledAt returns when the schedule comes to a revision.
func (c *changes) scheduledAt(channel int, revision int64) time.Duration {
	if c.history != nil {
		return c.history.changedAt(c.schedule, channel, revision)
	}
	return c.schedule.ChangedAt(channel, revision)
}

// interval returns the mean time between two scheduled changes of a channel.
func (c *changes) interval(channel int) time.Duration {
	if c.history != nil {
		return c.history.interval(channel)
	}
	return c.schedule.Interval(channel)
}

// revision returns the revision of a channel that stands at a time.
func (c *changes) revision(channel int, at time.Duration) int64 {
	revision := c.scheduled(channel, at)
	for _, bump := range c.bumps(channel) {
		if bump <= at {
			revision++
		}
	}
	return revision
}

// since returns when a revision of a channel came to stand.
func (c *changes) since(channel int, revision int64) time.Duration {
	bumps := c.bumps(channel)
	for i, bump := range bumps {
		switch made := c.scheduled(channel, bump) + int64(i) + 1; {
		case revision == made:
			return bump
		case revision < made:
			return c.scheduledAt(channel, revision-int64(i))
		}
	}
	return c.scheduledAt(channel, revision-int64(len(bumps)))
}
