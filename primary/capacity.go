package primary

import "time"

// Measured is how a poller keeps up.
type Measured struct {
	PollsPerInterval float64       // that rates plan, over the last minute: without first polls
	Behind           time.Duration // how long the poll has been due that has waited longest for a worker
	Starting         bool          // it has other work, as never later
}

// capacity is how many polls per interval the poller was measured to carry.
type capacity struct {
	polls  float64   // 0: no limit was met
	base   float64   // what was planned, or the limit, at the last step up
	late   int       // looks in a row that found polls late
	raised time.Time // or looked whether it could be
}

// How a limit is found: polls wait for longer than a second, and a hundredth of the
// floor, at all looks of a minute, which is what the measure is of. It is a little
// under that, so that those that wait are caught up with; and not less than half of
// what it was, since a network that fails for some minutes looks the same.
const (
	lateAfter   = time.Second
	lateLooks   = 60
	carried     = 0.95
	capacityUp  = 1.25
	steepest    = 0.5
	firstsShare = 20 // a node is busy with first polls when they are one in so many
	nearLimit   = 0.99
)

// lower records a look at a poller that is to make so many polls per interval, and
// reports whether the limit has come down.
func (c *capacity) lower(m Measured, planned float64, floor time.Duration) bool {
	if m.Behind <= max(lateAfter, floor/100) {
		c.late = 0
		return false
	}
	if c.late++; c.late < lateLooks {
		return false
	}
	c.late = 0
	if c.base == 0 {
		c.base = planned
	}
	limit := max(carried*m.PollsPerInterval, steepest*c.base)
	if limit >= planned {
		return false // what is planned can be carried: something else was in the way
	}
	c.polls = limit
	return true
}

// raise lets a limit go up at a maintenance, and reports whether it has. One that
// leaves room for more than was planned goes.
func (c *capacity) raise(planned float64) bool {
	before := c.polls
	if c.polls *= capacityUp; planned < nearLimit*before {
		c.polls = 0
	}
	c.base = c.polls
	return c.polls != before
}

// measure looks whether polls are made when they are due, and has rates follow.
func (pl *planner) measure(now time.Time) {
	if pl.config.Measure == nil {
		return
	}
	m := pl.config.Measure()
	pl.book.Lock()
	defer pl.book.Unlock()
	c, planned := &pl.capacity, pl.sums.rate
	changed := false
	if now.Sub(c.raised) >= pl.config.maintenance() {
		c.raised = now
		changed = c.raise(planned)
	}
	if pl.starting(m) {
		c.late = 0
	} else {
		changed = c.lower(m, planned, pl.config.Floor) || changed
	}
	if changed {
		pl.limit()
	}
}

// starting says whether the poller is, or many channels have come, or got their first
// content, since the last look: first polls are not part of the plan. The book is locked.
func (pl *planner) starting(m Measured) bool {
	firsts := pl.book.plan.firsts - pl.firsts
	pl.firsts = pl.book.plan.firsts
	polls := m.PollsPerInterval * measureEach.Seconds() / pl.config.Interval.Seconds()
	return m.Starting || float64(firsts)*firstsShare > polls
}

// limit has the plan keep to the capacity. The book is locked.
func (pl *planner) limit() {
	pl.book.plan.stale = true
	pl.book.plan.ceiling = pl.ceiling()
}

// ceiling is the least of budget and capacity; 0: there is neither. The book is locked.
func (pl *planner) ceiling() float64 {
	budget, limit := pl.book.plan.budget, pl.capacityLoad()
	if budget == 0 || limit > 0 && limit < budget {
		return limit
	}
	return budget
}

// capacityLoad is the capacity in the unit of costs: as many polls of what they cost
// on average. The book is locked.
func (pl *planner) capacityLoad() float64 {
	if pl.capacity.polls == 0 || pl.sums.rate == 0 {
		return 0
	}
	return pl.capacity.polls * pl.sums.load / pl.sums.rate
}
