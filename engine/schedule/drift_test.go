package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// drawRate draws a rate that one poller realises.
func drawRate(t *rapid.T, p pace[site]) overlay.Rate {
	if rapid.Bool().Draw(t, "slow") {
		return overlay.Rate{Polls: 1, Intervals: rapid.Uint32Range(2, overlay.MostIntervals).Draw(t, "intervals")}
	}
	return overlay.Rate{Polls: rapid.Uint32Range(1, uint32(p.interval/p.floor)).Draw(t, "polls"), Intervals: 1}
}

// However often a channel's rate changes, from one poll to the next the parts that
// pass of its periods sum to one, but for rounding: none comes sooner, and none
// waits longer.
func TestRateChangesKeepThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace[site]{interval: time.Duration(rapid.Int64Range(1e9, 3600e9).Draw(t, "interval"))}
		p.floor = time.Duration(rapid.Int64Range(int64(p.interval)/40+1, int64(p.interval)).Draw(t, "floor"))
		c := &Target[site]{host: &Host[site]{}, width: 1, rate: drawRate(t, p)}
		copy(c.ID[:], rapid.SliceOfN(rapid.Byte(), channel.IDLen, channel.IDLen).Draw(t, "id"))
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		c.lastPoll = p.next(c, now)
		now = c.lastPoll
		passed, changes := 0.0, 0
		for range 60 {
			due, period := p.next(c, now), p.slots(c).Period()
			if due > now && rapid.Bool().Draw(t, "changes") {
				then := now + rapid.Int64Range(0, due-now-1).Draw(t, "after")
				passed += float64(then-now) / float64(period)
				p.setRate(c, drawRate(t, p), 1, 0, then)
				now = then
				changes++
				continue
			}
			passed += float64(due-now) / float64(period)
			if rounding := 1e-6 + float64(4*changes+4)/driftWhole; math.Abs(passed-1) > rounding {
				t.Fatalf("after %d changes polled after %v periods", changes, passed)
			}
			if time.Duration(due-c.lastPoll) < p.floor {
				t.Fatalf("polled after %v, floor %v", time.Duration(due-c.lastPoll), p.floor)
			}
			c.lastPoll, now, passed, changes = due, due, 0, 0
			p.keepFloor(c)
		}
	})
}

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

// Rates that change each second, of everybody, leave everybody as many polls as their
// mean: no slot runs away.
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
		if waited := time.Duration(c.now - target.lastPoll); waited > 3*crowdInterval {
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
