package honeycomb

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is estimated into testdata instead of comparing with it")

// A follower lets a history know what an owner learns of a channel whose changes
// are known, by polls that are regular.
type follower struct {
	changes []float64 // seconds, ascending
	poll    float64   // seconds between two
	dated   bool      // entries say when they were published
	history History
	now     float64
	known   int // changes seen
	changed float64
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func instant(at float64) time.Time { return epoch.Add(time.Duration(at * float64(time.Second))) }

// until polls up to an instant, and returns the estimate then.
func (f *follower) until(end float64) float64 {
	for ; f.now+f.poll <= end; f.now += f.poll {
		f.look(f.now + f.poll)
	}
	return f.history.Interval(end - f.changed)
}

func (f *follower) look(at float64) {
	var moments []time.Time
	for ; f.known < len(f.changes) && f.changes[f.known] <= at; f.known++ {
		moments = append(moments, instant(f.changes[f.known]))
	}
	switch {
	case len(moments) == 0:
		return
	case f.dated:
		f.history.Counted(instant(f.changed), Published(moments, instant(f.now), instant(at)), instant(at))
	default:
		f.history.Changed(f.now-f.changed, at-f.now)
	}
	f.changed = at
}

// every returns instants so far apart.
func every(apart, from, until float64) (changes []float64) {
	for at := from + apart; at <= until; at += apart {
		changes = append(changes, at)
	}
	return changes
}

// byHours leaves the changes from an hour of day until another, on so many days of
// a week.
func byHours(changes []float64, from, until float64, days int) (some []float64) {
	for _, at := range changes {
		if of := math.Mod(at, day); of >= from*hour && of < until*hour && int(at/day)%7 < days {
			some = append(some, at)
		}
	}
	return some
}

// byChance returns the changes of a Poisson process.
func byChance(interval, until float64) (changes []float64) {
	r := rand.New(rand.NewPCG(12, uint64(interval)))
	for at := r.ExpFloat64() * interval; at < until; at += r.ExpFloat64() * interval {
		changes = append(changes, at)
	}
	return changes
}

// dormant is a channel whose first document has 20 entries that are ten months old,
// and that then changes each 900 s.
func dormant(poll float64, dated bool) *follower {
	f := &follower{changes: every(900, 0, 400*900), poll: poll, dated: dated}
	var entries []time.Time
	for i := range 20 {
		entries = append(entries, instant(-300*day-float64(i)*2*hour))
	}
	f.history.Seed(entries, epoch)
	return f
}

// A channel that wakes up is known for what it is after a few changes: within 1.5 of
// the truth after 8, 1.2 after 30. Where polls are so far apart that regular changes
// are taken for more than they are, that is of what they are taken for in the end.
func TestIntervalWakesUp(t *testing.T) {
	for _, tc := range []struct {
		poll  float64
		dated bool
	}{{minute, false}, {5 * minute, false}, {minute, true}, {15 * minute, true}, {5 * minute, true}} {
		truth := 900.0
		if !tc.dated {
			truth = tc.poll / math.Log1p(tc.poll/(900-tc.poll))
		}
		f := dormant(tc.poll, tc.dated)
		if got := f.until(0); got != LongestInterval {
			t.Fatalf("%v s while it sleeps", got)
		}
		for n := 1; n <= 400; n++ {
			got := f.until(float64(n) * 900)
			off := math.Exp(math.Abs(math.Log(got / truth)))
			if n >= 8 && off > 1.5 || n >= 30 && off > 1.2 {
				t.Fatalf("polls each %v s, dated %v: %.0f s after %d changes, want %.0f", tc.poll, tc.dated, got, n, truth)
			}
		}
	}
}

// A scenario is a channel, and when to look at its estimate, in seconds.
type scenario struct {
	name  string
	f     *follower
	times []float64
}

// What a channel is taken for over time. The golden table is there to be read: each
// row is an instant, and the estimates then, one scenario below another.
func TestIntervalTimelines(t *testing.T) {
	const weeks = 28 * day
	asleep := append(every(10*minute, 0, weeks), every(2*day, weeks+6*day, 3*weeks)...)
	weekly := append(append(every(7*day, 0, weeks), every(minute, weeks, weeks+10*minute)...), every(7*day, weeks, 2*weeks)...)
	scenarios := []scenario{
		{"wakes up: entries ten months old, then a change each 15m, polled each 5m", dormant(5*minute, false), times(900, 1, 2, 4, 5, 6, 8, 12, 20, 30, 60, 100, 400)},
		{"the same, entries with dates, polled each 6h", dormant(6*hour, true), times(6*hour, 1, 2, 3, 4, 8, 16)},
		{"the same, without dates: every poll has changed", dormant(6*hour, false), times(6*hour, 1, 2, 3, 4, 5, 6, 8, 16)},
		{"from 2d to 2h, polled each 30m", &follower{changes: append(every(2*day, 0, weeks), every(2*hour, weeks, 2*weeks)...), poll: 30 * minute},
			from(weeks, hour, 0, 4, 6, 8, 10, 12, 16, 20, 24, 48, 168)},
		{"from 2d to 2h, polled each 12h: every poll has changed", &follower{changes: append(every(2*day, 0, weeks), every(2*hour, weeks, 2*weeks)...), poll: 12 * hour},
			from(weeks, day, 0, 1, 2, 3, 4, 5, 6, 7, 14)},
		{"from 6h to 3h, polled each 30m", &follower{changes: append(every(6*hour, 0, weeks), every(3*hour, weeks, 2*weeks)...), poll: 30 * minute},
			from(weeks, day, 0, 1, 2, 4, 7, 14, 28)},
		{"falls asleep: a change each 10m for 28d, none for 6d, then one each 2d, polled each 2m", &follower{changes: asleep, poll: 2 * minute},
			from(weeks, day, 0, 0.5, 1, 1.1, 1.25, 1.5, 2, 3, 5, 7.9, 8.1, 9, 10.1, 14.1, 20.1, 40.1)},
		{"by day: a change each 10m from 7:00 to 19:00, polled each 2m", &follower{changes: byHours(every(10*minute, 0, 2*weeks), 7, 19, 7), poll: 2 * minute},
			from(weeks, hour, 0, 6, 8, 10, 14, 18, 20, 24, 36, 48)},
		{"for four hours: a change each 10m from 8:00 to 12:00, polled each 2m", &follower{changes: byHours(every(10*minute, 0, 2*weeks), 8, 12, 7), poll: 2 * minute},
			from(weeks, hour, 0, 8, 9, 10, 12, 14, 16, 20, 24, 34, 48)},
		{"working days: a change each 20m from 8:00 to 18:00, none at weekends, polled each 5m", &follower{changes: byHours(every(20*minute, 0, 2*weeks), 8, 18, 5), poll: 5 * minute},
			from(weeks, day, 0, 0.34, 0.36, 0.38, 0.4, 0.42, 0.5, 2.5, 4.5, 5, 6, 7, 7.35, 7.4, 7.5, 8, 9.5, 11.5)},
		{"a burst: a change each 7d, then ten within 10m, with dates, polled each 5m", &follower{changes: weekly, poll: 5 * minute, dated: true},
			from(weeks, minute, 0, 5, 10, 15, 20, 30, 60, 360, 1440, 2880, 7*1440+5, 14*1440+5)},
	}
	for _, poisson := range []struct{ interval, poll float64 }{
		{10 * minute, 2 * minute}, {10 * minute, hour}, {2 * hour, 5 * minute}, {2 * hour, 6 * hour}, {day, hour}, {day, 2 * day},
	} {
		scenarios = append(scenarios, scenario{
			fmt.Sprintf("by chance: each %s, polled each %s", short(poisson.interval), short(poisson.poll)),
			&follower{changes: byChance(poisson.interval, 2*weeks), poll: poisson.poll}, times(day, 0.5, 1, 3, 7, 14, 28, 42, 56),
		})
	}
	var b strings.Builder
	for _, s := range scenarios {
		fmt.Fprintf(&b, "%s\n", s.name)
		for _, at := range s.times {
			fmt.Fprintf(&b, "  %9s  %s\n", short(at), short(s.f.until(at)))
		}
	}
	checkTimelines(t, "testdata/intervals.txt", b.String())
}

func times(unit float64, counts ...float64) []float64 { return from(0, unit, counts...) }

func from(begin, unit float64, counts ...float64) (times []float64) {
	for _, n := range counts {
		times = append(times, begin+n*unit)
	}
	return times
}

// short is a duration to two digits or three.
func short(seconds float64) string {
	d := time.Duration(math.Round(seconds)) * time.Second
	switch {
	case seconds >= day:
		return fmt.Sprintf("%.4gd", d.Hours()/24)
	case seconds >= hour:
		return fmt.Sprintf("%.3gh", d.Hours())
	}
	return fmt.Sprintf("%.3gm", d.Minutes())
}

func checkTimelines(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("estimates differ from %s (-update writes them):\n%s", path, got)
	}
}
