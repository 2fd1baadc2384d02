package schedule

import (
	"fmt"
	"testing"
	"time"
)

// crowd is a schedule of many channels in virtual time, whose polls are 304s that
// take no time, and how many of them began in each second.
type crowd struct {
	s    *rig
	size int
	now  int64
	rows []Record // what the ledger would hold
}

const crowdInterval = 50 * time.Second

func newCrowd(size int) *crowd {
	c := &crowd{size: size, now: 1e18, rows: make([]Record, size)}
	c.start()
	return c
}

// start begins again with what is in the ledger.
func (c *crowd) start() {
	c.s = newRig(Config{Interval: crowdInterval, Floor: 5 * time.Second})
	for i, row := range c.rows {
		if t := c.s.get(i); row.LastPoll != 0 {
			c.s.Restore(t, row, c.now)
			t.Channel.polled = true
		}
	}
	for i := range c.size {
		c.s.order(i, 1, c.now)
	}
}

// run lets so many seconds pass, and returns how many polls began in each.
func (c *crowd) run(seconds int) (perSecond []int) {
	for range seconds {
		n := 0
		for end := c.now + int64(time.Second); c.now < end; c.now = min(max(c.s.NextDue(), c.now+int64(time.Millisecond)), end) {
			for c.s.Promote(true, c.now); c.s.NextDue() <= c.now; c.s.Promote(true, c.now) {
			}
			n += c.pollAll()
		}
		perSecond = append(perSecond, n)
	}
	return perSecond
}

// pollAll makes every poll that may begin.
func (c *crowd) pollAll() (n int) {
	for p, ok := c.s.begin(c.now); ok; p, ok = c.s.begin(c.now) {
		row := p.Target.Record()
		row.LastPoll = c.now
		c.rows[p.Target.Channel.i] = row
		c.s.unchanged(p, c.now)
		n++
	}
	return n
}

// After a start, however long the node was down, as many polls come in each second
// as ever: no channel comes before its slot, and none that it missed comes at once.
// After a stall what came due meanwhile comes at once, as fast as hosts and workers
// allow: it is late, and would be an interval late else. It leaves no echo.
func TestRestartSpreads(t *testing.T) {
	const size = 20_000
	mean := size / crowdInterval.Seconds()
	check := func(t *testing.T, what string, perSecond []int) {
		t.Helper()
		for second, n := range perSecond {
			if float64(n) > 1.5*mean {
				t.Errorf("%s: %d polls in second %d, %.0f on average", what, n, second, mean)
			}
		}
	}
	for _, down := range []time.Duration{0, time.Second, time.Minute, 10 * time.Minute} {
		t.Run(fmt.Sprintf("down for %v", down), func(t *testing.T) {
			c := newCrowd(size)
			check(t, "first start", c.run(120))
			c.now += int64(down)
			c.start()
			after := c.run(120)
			check(t, "start", after)
			if n := sum(after[:50]); n < size*98/100 {
				t.Errorf("%d of %d channels were polled in the first interval", n, size)
			}
		})
	}
	t.Run("stalled", func(t *testing.T) {
		c := newCrowd(size)
		c.run(120)
		c.now += int64(5 * time.Second)
		after := c.run(120)
		if n := float64(after[0]); n < 5*mean || n > 7*mean {
			t.Errorf("%v polls in the second after a stall of 5 s, %.0f on average", n, mean)
		}
		check(t, "later", after[1:])
	})
}

func sum(all []int) (n int) {
	for _, one := range all {
		n += one
	}
	return n
}
