package engine

import (
	"fmt"
	"testing"
	"time"
)

// testURL spreads channels over ten hosts.
func testURL(i int) string { return fmt.Sprintf("http://host%d.example/%d", i%10, i) }

// New channels take their share of the workers, on known hosts too, until they are
// taken apart and committed: polls that are due are not behind them.
func TestFirstPollsLeaveWorkers(t *testing.T) {
	s := newSchedule(Config{Interval: time.Hour, Floor: time.Second, Workers: 8}.withDefaults())
	now := int64(1e18)
	for i := range 10 {
		s.order(testOrder(i, 1), now)
		s.hostOf(testURL(i)).manner = steady
	}
	now += int64(2 * time.Hour)
	for i := range 100 {
		s.order(testOrder(10+i, 0), now)
	}
	begin := func() (firsts, others int) {
		s.promote(now)
		for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
			p.begun = time.Unix(0, now)
			s.release(&p, &result{took: time.Millisecond}, now)
			if p.version == 0 {
				firsts++ // they stay under way
				continue
			}
			others++
			s.finish(&p, &result{}, now)
		}
		return firsts, others
	}
	if firsts, others := begin(); firsts != 4 || others != 10 {
		t.Errorf("%d first polls and %d due ones began, want 4 and 10", firsts, others)
	}
	now += int64(time.Hour)
	if firsts, others := begin(); firsts != 0 || others != 10 {
		t.Errorf("an hour later %d first polls and %d due ones began, want 0 and 10", firsts, others)
	}
}

// A host that is new to us and has thousands of channels polls old and new ones in
// turn.
func TestFirstPollsTakeTurns(t *testing.T) {
	s := newSchedule(Config{Interval: time.Hour, Floor: time.Second}.withDefaults())
	now := int64(1e18)
	for i := range 20 {
		s.order(testOrder(i*10, uint64(i%2)), now)
	}
	now += int64(2 * time.Hour)
	s.promote(now)
	var kinds string
	for range 12 {
		p, ok := s.begin(now)
		if !ok {
			t.Fatal("nothing to begin")
		}
		p.begun = time.Unix(0, now)
		kinds += fmt.Sprint(p.version)
		r := result{took: time.Millisecond}
		s.conclude(&p, &r, now)
		s.finish(&p, &r, now)
	}
	if kinds != "101010101010" {
		t.Errorf("old and new channels were polled as %s", kinds)
	}
}

// What a host makes its polls wait for is no lateness of ours, and the other way
// round.
func TestEligible(t *testing.T) {
	const second = int64(time.Second)
	s := newSchedule(Config{Interval: time.Hour, Floor: time.Second, Workers: 4, HostGap: 3 * time.Second}.withDefaults())
	begin := func(now int64) *poll {
		t.Helper()
		s.promote(now)
		p, ok := s.begin(now)
		if !ok {
			t.Fatalf("nothing begins at %d", now)
		}
		p.begun = time.Unix(0, now)
		return &p
	}
	end := func(p *poll, now int64) {
		r := result{took: time.Second}
		s.conclude(p, &r, now)
		s.finish(p, &r, now)
	}
	check := func(what string, p *poll, lateness, hostWait int64) {
		t.Helper()
		if p.lateness() != time.Duration(lateness) || p.hostWait != hostWait {
			t.Errorf("%s: lateness %v, host wait %v; want %v, %v", what, p.lateness(), time.Duration(p.hostWait), time.Duration(lateness), time.Duration(hostWait))
		}
	}
	// Two new channels on one host, and two more hosts: strangers get two of four workers.
	for _, i := range []int{0, 10, 1, 2} {
		s.order(testOrder(i, 0), 0)
	}
	first := begin(1 * second)
	check("at once, but the loop was late", first, 1*second, 0)
	other := begin(2 * second)
	check("another host", other, 2*second, 0)
	if _, ok := s.begin(2 * second); ok {
		t.Fatal("a third stranger is asked")
	}
	end(other, 4*second)
	check("parked until then, late since", begin(5*second), 1*second, 4*second)
	end(first, 6*second)
	check("its host's gap and parallelism were over before", begin(8*second), 2*second, 6*second)
}
