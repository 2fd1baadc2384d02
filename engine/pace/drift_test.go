package pace

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// However often a channel's rate changes, from one poll to the next the parts that
// pass of its periods sum to one, but for rounding: none comes sooner, and none
// waits longer.
func TestRateChangesKeepThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pace{Interval: time.Duration(rapid.Int64Range(1e9, 3600e9).Draw(t, "interval"))}
		p.Floor = time.Duration(rapid.Int64Range(int64(p.Interval)/40+1, int64(p.Interval)).Draw(t, "floor"))
		c := &Channel{Width: 1, Rate: drawRate(t, p)}
		w := Wait{Host: &Refusals{}, Phase: rapid.Uint64().Draw(t, "phase")}
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		c.LastPoll = p.Next(c, w, now)
		now = c.LastPoll
		passed, changes := 0.0, 0
		for range 60 {
			due, period := p.Next(c, w, now), p.slots(c, w.Phase).Period()
			if due > now && rapid.Bool().Draw(t, "changes") {
				then := now + rapid.Int64Range(0, due-now-1).Draw(t, "after")
				passed += float64(then-now) / float64(period)
				p.SetRate(c, w.Phase, drawRate(t, p), 1, 0, then)
				now = then
				changes++
				continue
			}
			passed += float64(due-now) / float64(period)
			if rounding := 1e-6 + float64(4*changes+4)/driftWhole; math.Abs(passed-1) > rounding {
				t.Fatalf("after %d changes polled after %v periods", changes, passed)
			}
			if time.Duration(due-c.LastPoll) < p.Floor {
				t.Fatalf("polled after %v, floor %v", time.Duration(due-c.LastPoll), p.Floor)
			}
			c.LastPoll, now, passed, changes = due, due, 0, 0
			p.KeepFloor(c, w.Phase)
		}
	})
}

// drawRate draws a rate that one poller realises.
func drawRate(t *rapid.T, p Pace) overlay.Rate {
	if rapid.Bool().Draw(t, "slow") {
		return overlay.Rate{Polls: 1, Intervals: rapid.Uint32Range(2, overlay.MostIntervals).Draw(t, "intervals")}
	}
	return overlay.Rate{Polls: rapid.Uint32Range(1, uint32(p.Interval/p.Floor)).Draw(t, "polls"), Intervals: 1}
}

// A channel whose rate changes half-way through its period waits for half of the new
// one; several pollers, and a channel that had no rate, go to slots.
func TestSetRate(t *testing.T) {
	nine := at(0, 9, 0)
	rate := func(polls, intervals uint32) overlay.Rate { return overlay.Rate{Polls: polls, Intervals: intervals} }
	for _, tc := range []struct {
		name          string
		before, after overlay.Rate
		width         uint16
		changed, due  int64
		drifts        bool
	}{
		{"twice as often", once, rate(2, 1), 1, nine + 15*minute, nine + 22*minute + 30e9, true},
		{"half as often", once, rate(1, 2), 1, nine + 15*minute, nine + 45*minute, true},
		{"a tenth of the period has passed", once, rate(3, 1), 1, nine + 3*minute, nine + 12*minute, true},
		{"nearly all of it has", once, rate(2, 1), 1, nine + 29*minute, nine + 29*minute + 30e9, true},
		{"not under the floor", once, rate(6, 1), 1, nine + minute, nine + 5*minute + 50e9, true},
		{"the floor has the last word", rate(6, 1), rate(12, 1), 1, nine + minute, nine + 5*minute, true},
		{"the same rate", once, once, 1, nine + 15*minute, nine + 30*minute, false},
		{"one of two pollers", once, rate(2, 1), 2, nine + 15*minute, nine + 30*minute, false},
		{"no rate before", overlay.Rate{}, rate(2, 1), 1, nine + 14*minute, nine + 15*minute, false},
		{"no rate after", once, overlay.Rate{}, 1, nine + 15*minute, Never, false},
	} {
		c, w := Channel{Rate: tc.before, Width: 1, LastPoll: nine}, Wait{Host: &Refusals{}}
		paced.SetRate(&c, w.Phase, tc.after, tc.width, 0, tc.changed)
		due := paced.Next(&c, w, tc.changed)
		off := time.Duration(due - tc.due).Abs()
		if exact := !tc.drifts; exact && off != 0 || off > 120*time.Millisecond || (c.Drift != 0) != tc.drifts || c.Rate != tc.after || c.Width != tc.width {
			t.Errorf("%s: due %s, want %s; %+v", tc.name, clock(due), clock(tc.due), c)
		}
	}
}

// A change of rate back and forth before the next poll leaves it where it was.
func TestSetRateBack(t *testing.T) {
	nine := at(0, 9, 0)
	c, w := Channel{Rate: once, Width: 1, LastPoll: nine}, Wait{Host: &Refusals{}}
	for range 50 {
		paced.SetRate(&c, w.Phase, overlay.Rate{Polls: 5, Intervals: 1}, 1, 0, nine+20*minute)
		paced.SetRate(&c, w.Phase, once, 1, 0, nine+20*minute)
	}
	due := paced.Next(&c, w, nine+20*minute)
	if off := time.Duration(due - nine - 30*minute).Abs(); off > 100*60*time.Millisecond {
		t.Errorf("due %s after a hundred changes", clock(due))
	}
	paced.SetRate(&c, w.Phase, once, 2, 1, nine+20*minute)
	if c.Drift != 0 || c.Width != 2 || c.Rank != 1 {
		t.Errorf("one of two pollers has drifted: %+v", c)
	}
}

// A poll that began late moves the drifted slot that would fall under its floor to the
// floor's end, and no other.
func TestKeepFloor(t *testing.T) {
	nine := at(0, 9, 0)
	const sixTimes = 5 * minute
	for _, tc := range []struct {
		name      string
		late, due int64 // after a slot
	}{
		{"in time", 0, sixTimes}, {"late", minute, minute + sixTimes}, {"later than a period", 6 * minute, 6*minute + sixTimes},
	} {
		c, w := Channel{Rate: once, Width: 1, LastPoll: nine}, Wait{Host: &Refusals{}}
		paced.SetRate(&c, w.Phase, overlay.Rate{Polls: 6, Intervals: 1}, 1, 0, nine+11*minute)
		slot := paced.Next(&c, w, nine+11*minute)
		if c.Drift == 0 {
			t.Fatal("it has not drifted")
		}
		before := c.Drift
		c.LastPoll = slot + tc.late
		paced.KeepFloor(&c, w.Phase)
		due := paced.Next(&c, w, c.LastPoll)
		if off := time.Duration(due - slot - tc.due); off < 0 || off > 100*time.Millisecond {
			t.Errorf("%s: due %v after the slot, want %v", tc.name, time.Duration(due-slot), time.Duration(tc.due))
		}
		if tc.late == 0 && c.Drift > before+1 {
			t.Errorf("%s: drift went from %d to %d", tc.name, before, c.Drift)
		}
	}
	on := Channel{Rate: overlay.Rate{Polls: 6, Intervals: 1}, Width: 1, LastPoll: nine + minute}
	if paced.KeepFloor(&on, 0); on.Drift != 0 {
		t.Errorf("a channel on its slots drifts by %d since a poll was late", on.Drift)
	}
}
