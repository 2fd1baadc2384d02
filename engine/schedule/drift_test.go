package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// repaceAll gives every channel another rate.
func (c *crowd) repaceAll(rate overlay.Rate) {
	for i := range c.size {
		t := c.s.get(i)
		c.s.SetRate(t, rate, 1, 0, c.now)
		if t.Idle() && t.due > c.now {
			c.s.Plan(t, c.now)
		}
	}
}

// many is what a rate may come to in one second: as many as planned, a fifth more for
// the floor, and what chance makes of so many.
func many(perSecond float64) int { return int(1.2*perSecond + 4*math.Sqrt(perSecond)) }

// All channels change their rates at once, up and down and between rates that are
// nearly the same, and no second has more polls than the larger rate plans for it, nor
// ten seconds fewer than the smaller one.
func TestRateChangesMakeNoBurst(t *testing.T) {
	const size = 10_000
	rates := []overlay.Rate{{Polls: 1, Intervals: 1}, {Polls: 10, Intervals: 1}, {Polls: 9, Intervals: 1}, {Polls: 2, Intervals: 1},
		{Polls: 3, Intervals: 1}, {Polls: 1, Intervals: 1}, {Polls: 1, Intervals: 4}, {Polls: 1, Intervals: 3}, {Polls: 5, Intervals: 1}}
	perSecond := func(r overlay.Rate) float64 { return size / crowdInterval.Seconds() * r.Float() }
	c := newCrowd(size)
	c.run(60)
	for i := 1; i < len(rates); i++ {
		before, after := perSecond(rates[i-1]), perSecond(rates[i])
		t.Run(fmt.Sprintf("%v to %v", rates[i-1], rates[i]), func(t *testing.T) {
			c.repaceAll(rates[i])
			counts := c.run(60)
			for second, n := range counts {
				if most := many(max(before, after)); n > most {
					t.Errorf("%d polls in second %d, want at most %d", n, second, most)
				}
			}
			for ; len(counts) >= 10; counts = counts[10:] {
				mean := 10 * min(before, after)
				if n := sum(counts[:10]); float64(n) < 0.9*mean-4*math.Sqrt(mean) {
					t.Errorf("%d polls in ten seconds, planned %.0f", n, mean)
				}
			}
		})
	}
}

// When the rates of all channels change each second, each channel gets as many polls as
// the mean of its rates: slots do not move away before they come.
func TestRatesThatFlap(t *testing.T) {
	const size, seconds = 2_000, 200
	c := newCrowd(size)
	c.run(60)
	random := rand.New(rand.NewPCG(1, 2))
	planned, made := 0.0, 0
	for range seconds {
		rate := overlay.Rate{Polls: 1 + random.Uint32N(4), Intervals: 1 + random.Uint32N(3)*random.Uint32N(2)}
		if rate.Intervals > 1 {
			rate.Polls = 1
		}
		c.repaceAll(rate)
		n := sum(c.run(1))
		if most := many(size / crowdInterval.Seconds() * 4); n > most {
			t.Errorf("%d polls in a second, want at most %d", n, most)
		}
		planned += size / crowdInterval.Seconds() * rate.Float()
		made += n
	}
	if float64(made) < 0.9*planned || float64(made) > 1.05*planned {
		t.Errorf("%d polls, planned %.0f", made, planned)
	}
	for target := range c.s.all() {
		if waited := time.Duration(c.now - target.pace.LastPoll); waited > 3*crowdInterval {
			t.Errorf("not polled for %v", waited)
		}
	}
}

// What the ledger keeps of a channel's slots is enough to be polled, after a start,
// where it would have been without.
func TestRestartKeepsDrift(t *testing.T) {
	c := newCrowd(1000)
	c.run(60)
	c.repaceAll(overlay.Rate{Polls: 3, Intervals: 1})
	c.run(60)
	due := map[channel.ID]int64{}
	for target := range c.s.all() {
		due[target.ID] = target.due
	}
	c.start() // with orders of another rate
	c.repaceAll(overlay.Rate{Polls: 3, Intervals: 1})
	for target := range c.s.all() {
		if off := time.Duration(target.due - due[target.ID]).Abs(); off > time.Millisecond {
			t.Errorf("due %v off, after a start", off)
		}
	}
}
