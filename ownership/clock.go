package ownership

import (
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// clock gives a range's commands their times and knows which of them are still under
// way. Times are microseconds, strictly increasing in the order of the log, and never
// behind the state machine's: when the wall clock jumps back, times rise by a
// microsecond each until it has caught up.
//
// So there is a time up to which everything has been applied and no more will come,
// which streams of updates need to merge ranges in order.
type clock struct {
	now     func() time.Time
	changed bell // rings when commands have settled: more may be applied, or closed

	mu struct {
		sync.Mutex
		last    uint64   // the newest time given or closed
		pending []uint64 // given and not yet applied, ascending
		leading bool
		closed  uint64 // what close returned last
	}
}

// next returns the time of a new command and counts it as under way.
func (c *clock) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.last = max(c.mu.last+1, c.wall())
	c.mu.pending = append(c.mu.pending, c.mu.last)
	return c.mu.last
}

func (c *clock) wall() uint64 { return uint64(max(c.now().UnixMicro(), 0)) }

// reach lets the next command have a time of at least t.
func (c *clock) reach(t uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.last = max(c.mu.last, t-1)
}

// settle says that all commands with times up to t are applied, or will never be.
func (c *clock) settle(t uint64) {
	defer c.changed.ring()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.mu.pending) && c.mu.pending[n] <= t {
		n++
	}
	c.mu.pending = c.mu.pending[n:]
	if len(c.mu.pending) == 0 {
		c.mu.pending = nil // lets the array go
	}
}

// lead begins a term of leadership: seen is the newest time in the state.
func (c *clock) lead(seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !planted.Bug(11) {
		c.mu.last = max(c.mu.last, seen)
	}
	c.mu.leading = true
}

// follow ends it: what will be applied is no longer known here.
func (c *clock) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.leading = false
}

// newest returns the newest time given or closed.
func (c *clock) newest() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.last
}

// closedTime returns a time up to which everything is applied and after which all later
// commands will be. It never falls. A clock without commands under way advances to
// atLeast.
func (c *clock) closedTime(atLeast uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.mu.leading:
	case len(c.mu.pending) > 0:
		c.mu.closed = max(c.mu.closed, c.mu.pending[0]-1)
	default:
		c.mu.last = max(c.mu.last, c.wall(), atLeast)
		c.mu.closed = c.mu.last
	}
	return c.mu.closed
}
