package engine

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/engine/store"
)

// endPoll ends a poll with a 304 after a second.
func endPoll(s *schedule, p *poll, now int64) {
	r := result{outcome: notModified, status: 304, took: time.Second}
	s.conclude(p, &r, now)
	s.finish(p, &r, now)
}

// The clock is set forwards, as when a machine is resumed, and polls begin and end
// before the loop has noticed: what they noted is of the new clock already.
func TestClockSetForwards(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second}.withDefaults())
	now := int64(1e18)
	s.order(testOrder(0, 1), now)
	s.order(testOrder(10, 1), now) // the same host
	now += int64(2 * time.Minute)
	s.promote(now)
	p, ok := s.begin(now)
	if !ok {
		t.Fatal("none")
	}
	p.begun = time.Unix(0, now)
	step := int64(8 * time.Hour)
	now += int64(time.Second) + step
	endPoll(&s, &p, now)
	if q, ok := s.begin(now); ok {
		q.begun = time.Unix(0, now)
		endPoll(&s, &q, now+1e9)
	}
	now += int64(3 * time.Second)
	s.realign(step, now)
	for target := range s.targets.all() {
		if target.due > now+int64(2*time.Minute) {
			t.Errorf("due in %v", time.Duration(target.due-now))
		}
	}
	for _, h := range s.hosts {
		if h.freeAt > now+int64(time.Minute) {
			t.Errorf("host free in %v", time.Duration(h.freeAt-now))
		}
	}
}

// The clock is set back while a poll is under way: its begin lies ahead of now.
func TestClockSetBackDuringPoll(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second}.withDefaults())
	now := int64(1e18)
	s.order(testOrder(0, 1), now)
	now += int64(2 * time.Minute)
	s.promote(now)
	p, _ := s.begin(now)
	p.begun = time.Unix(0, now)
	step := -int64(8 * time.Hour)
	now += int64(time.Second) + step
	s.realign(step, now)
	endPoll(&s, &p, now+1e9)
	for target := range s.targets.all() {
		if target.due > now+int64(2*time.Minute) {
			t.Errorf("due in %v", time.Duration(target.due-now))
		}
	}
}

// Channels that were dropped before and after the clock was set back are forgotten.
func TestClockSetBackForgetsDormant(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second}.withDefaults())
	now := int64(1e18)
	s.order(testOrder(0, 1), now)
	s.drop(testOrder(0, 1).Channel, now)
	step := -int64(8 * time.Hour)
	now += step
	s.realign(step, now)
	s.order(testOrder(1, 1), now)
	s.drop(testOrder(1, 1).Channel, now)
	now += int64(10 * time.Minute)
	n := 0
	for target := s.expired(now - int64(time.Minute)); target != nil; target = s.expired(now - int64(time.Minute)) {
		n++
		s.unclaim(target, now)
	}
	if n != 2 {
		t.Errorf("%d forgotten ten minutes later, want 2", n)
	}
}

// What an earlier run last asked moves with the clock, or every host would wait.
func TestClockSetBackAfterStart(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second}.withDefaults())
	now := int64(1e18)
	s.restored = now
	step := -int64(8 * time.Hour)
	now += step
	s.realign(step, now)
	s.order(testOrder(0, 0), now)
	s.promote(now)
	if _, ok := s.begin(now + 2e9); !ok {
		s.promote(now + 2e9)
		if _, ok := s.begin(now + 2e9); !ok {
			t.Errorf("new channel waits: host free in %v", time.Duration(s.hostOf(testURL(0)).freeAt-now))
		}
	}
}

// A host that was forgiven, and whose rest lies ahead since the clock is behind at a
// start, does not rest: nothing would end the loop's turns.
func TestClockBehindAForgivenRest(t *testing.T) {
	s := newSchedule(Config{Interval: time.Minute, Floor: time.Second}.withDefaults())
	now := int64(1e18)
	o := testOrder(0, 0)
	id := s.hostOf(o.URL).id
	delete(s.hosts, id)
	// what was forgiven an hour after: count 0, until in the past by the right clock; the clock is now 10 days behind
	then := now + int64(240*time.Hour)
	row := store.HostRow{ID: id, FreeAt: then + 1e9, Until: then - int64(3*time.Hour), Last: then - int64(4*time.Hour), Good: then - int64(time.Hour)}
	if !s.restoreHost(1, &row, now) {
		t.Fatal("not remembered: the row shows nothing")
	}
	s.order(o, now)
	s.promote(now)
	if s.nextDue() <= now {
		t.Errorf("spins: due %v from now, host rests for %v", time.Duration(s.nextDue()-now), time.Duration(s.hosts[id].rest.until-now))
	}
}
