package primary

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A poller that carries so many polls an interval: what is planned beyond that waits.
type carrier struct {
	most     atomic.Int64 // 0: any number
	starting atomic.Bool
	w        *town
	mu       sync.Mutex
	behind   time.Duration
}

func (c *carrier) measure() Measured {
	c.mu.Lock()
	defer c.mu.Unlock()
	planned, most := c.w.planned(), float64(c.most.Load())
	switch {
	case most != 0 && planned > most:
		c.behind += time.Second
	case most == 0 || c.behind == 0:
		c.behind = 0
		return Measured{PollsPerInterval: planned}
	default:
		c.behind -= time.Second / 10
	}
	return Measured{PollsPerInterval: most, Behind: c.behind, Starting: c.starting.Load()}
}

// The plan comes down to what is carried, and goes up again a quarter at a time.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(carrier)
		c.w = newTown(t, Config{Interval: 10 * time.Minute, Floor: time.Minute, Measure: c.measure})
		for n := range 100 {
			c.w.subscribe(n, 5)
		}
		c.w.run(t)
		after := func(d time.Duration, least, most float64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if plan := c.w.owner.Plan(); plan.Polls < least || plan.Polls > most || plan.Budget != 500 {
				t.Errorf("planned %v of %v, capacity %v; want %v to %v", plan.Polls, plan.Budget, plan.Capacity, least, most)
			}
		}
		after(time.Minute, 500, 500)
		c.most.Store(300)
		after(time.Minute, 500, 500)
		after(10*time.Second, 284, 285)
		after(5*time.Minute, 284, 285)
		c.most.Store(0)
		after(15*time.Minute, 440, 450)
		after(10*time.Minute, 500, 500)
		after(20*time.Minute, 500, 500)
		if plan := c.w.owner.Plan(); plan.Capacity != 0 {
			t.Errorf("capacity %v; want none any more", plan.Capacity)
		}
		// Nothing at all, as when the network fails: half is the least.
		c.most.Store(1)
		after(5*time.Minute, 249, 250)
	})
}

// First polls are not part of the plan: they say nothing about what it may be.
func TestCapacityIsNotOfFirstPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(carrier)
		c.w = newTown(t, Config{Interval: 10 * time.Minute, Floor: time.Minute, Measure: c.measure})
		c.w.run(t)
		c.most.Store(300)
		for n := range 500 {
			ch := c.w.store.channels[numbered(n)]
			ch.ID, ch.URL, ch.Incarnation, ch.Subscribers = numbered(n), feedURL, 1, 1
			c.w.store.put(ch)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if plan := c.w.owner.Plan(); plan.Capacity != 0 || plan.Polls != 500 {
			t.Errorf("planned %v, capacity %v; want 500 polls, and no limit", plan.Polls, plan.Capacity)
		}
		time.Sleep(2*time.Minute + time.Second) // its last second is for the solve
		synctest.Wait()
		if plan := c.w.owner.Plan(); math.Abs(plan.Polls-285) > 1 {
			t.Errorf("planned %v, capacity %v; want 285 polls", plan.Polls, plan.Capacity)
		}
	})
}

// Nor does a poller that is starting say anything.
func TestCapacityIsNotOfStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(carrier)
		c.w = newTown(t, Config{Interval: 10 * time.Minute, Floor: time.Minute, Measure: c.measure})
		for n := range 100 {
			c.w.subscribe(n, 5)
		}
		c.most.Store(300)
		c.starting.Store(true)
		c.w.run(t)
		planned := func(after time.Duration, want float64) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if plan := c.w.owner.Plan(); math.Abs(plan.Polls-want) > 1 {
				t.Errorf("after %v more: planned %v, capacity %v; want %v polls", after, plan.Polls, plan.Capacity, want)
			}
		}
		planned(2*time.Minute, 500)
		c.starting.Store(false)
		planned(lateLooks*time.Second-5*time.Second, 500)
		planned(10*time.Second, 285)
	})
}

func TestCapacityRises(t *testing.T) {
	for _, test := range []struct {
		name           string
		polls, planned float64
		want           float64
	}{
		{"none", 0, 100, 0},
		{"binds", 100, 100, 125},
		{"leaves room", 100, 90, 0},
	} {
		c := capacity{polls: test.polls}
		if changed := c.raise(test.planned); c.polls != test.want || changed != (test.want != test.polls) {
			t.Errorf("%s: %v, %v; want %v", test.name, c.polls, changed, test.want)
		}
	}
}
