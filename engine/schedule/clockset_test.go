package schedule

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/engine/pace"
)

// The clock is set forwards, as when a machine is resumed, and polls begin and end
// before the loop has noticed: what they noted is of the new clock already.
func TestClockSetForwards(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second})
	now := int64(1e18)
	s.order(0, 1, now)
	s.order(10, 1, now) // the same host
	now += int64(2 * time.Minute)
	s.Promote(true, now)
	p, ok := s.begin(now)
	if !ok {
		t.Fatal("none")
	}
	step := int64(8 * time.Hour)
	now += int64(time.Second) + step
	s.unchanged(p, now)
	if q, ok := s.begin(now); ok {
		s.unchanged(q, now+1e9)
	}
	now += int64(3 * time.Second)
	s.Realign(step, now, s.all())
	for target := range s.all() {
		if target.due > now+int64(2*time.Minute) {
			t.Errorf("due in %v", time.Duration(target.due-now))
		}
	}
	for _, h := range s.hosts.byID {
		if h.freeAt > now+int64(time.Minute) {
			t.Errorf("host free in %v", time.Duration(h.freeAt-now))
		}
	}
}

// The clock is set back while a poll is under way: its begin lies ahead of now.
func TestClockSetBackDuringPoll(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second})
	now := int64(1e18)
	s.order(0, 1, now)
	now += int64(2 * time.Minute)
	s.Promote(true, now)
	p, _ := s.begin(now)
	step := -int64(8 * time.Hour)
	now += int64(time.Second) + step
	s.Realign(step, now, s.all())
	s.unchanged(p, now+1e9)
	for target := range s.all() {
		if target.due > now+int64(2*time.Minute) {
			t.Errorf("due in %v", time.Duration(target.due-now))
		}
	}
}

// Channels that were dropped before and after the clock was set back are forgotten.
func TestClockSetBackForgetsDormant(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second})
	now := int64(1e18)
	s.order(0, 1, now)
	s.Drop(s.get(0), now)
	step := -int64(8 * time.Hour)
	now += step
	s.Realign(step, now, s.all())
	s.order(1, 1, now)
	s.Drop(s.get(1), now)
	now += int64(10 * time.Minute)
	n := 0
	for target := s.Expired(now - int64(time.Minute)); target != nil; target = s.Expired(now - int64(time.Minute)) {
		n++
		s.forget(target, now)
	}
	if n != 2 {
		t.Errorf("%d forgotten ten minutes later, want 2", n)
	}
}

// What an earlier run last asked moves with the clock, or every host would wait.
func TestClockSetBackAfterStart(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second, HostGap: time.Second})
	now := int64(1e18)
	s.hosts.restored = now
	step := -int64(8 * time.Hour)
	now += step
	s.Realign(step, now, s.all())
	s.order(0, 0, now)
	s.Promote(true, now)
	if _, ok := s.begin(now + 2e9); !ok {
		s.Promote(true, now+2e9)
		if _, ok := s.begin(now + 2e9); !ok {
			t.Errorf("new channel waits: host free in %v", time.Duration(s.hostOf(0).freeAt-now))
		}
	}
}

// A host that was forgiven, and whose rest lies ahead since the clock is behind at a
// start, does not rest: nothing would end the loop's turns.
func TestClockBehindAForgivenRest(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second})
	now := int64(1e18)
	id := s.hostOf(0).ID
	delete(s.hosts.byID, id)
	// What was forgiven an hour after: count 0, and the rest in the past by the right clock, which this one is ten days behind.
	then := now + int64(240*time.Hour)
	row := HostRecord{ID: id, FreeAt: then + 1e9, Refusals: pace.Refusals{Until: then - int64(3*time.Hour), Last: then - int64(4*time.Hour), Good: then - int64(time.Hour)}}
	if s.RestoreHost(row, now) == nil {
		t.Fatal("not remembered: the row shows nothing")
	}
	s.order(0, 0, now)
	s.Promote(true, now)
	if s.NextDue() <= now {
		t.Errorf("spins: due %v from now, host rests for %v", time.Duration(s.NextDue()-now), time.Duration(s.hosts.byID[id].rest.Until-now))
	}
}

// A clock that was set makes neither everything due at once nor nothing for long.
func TestRealign(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		s := newRig(Config{Interval: 10 * time.Second, Floor: 2 * time.Second})
		now := int64(1e18)
		for i := range 100 {
			s.order(i, 1, now)
		}
		for range 100 {
			due, item, _ := s.due.min()
			item.pace.LastPoll = due - int64(10*time.Second)
			s.due.remove(item)
			s.Plan(item, now)
		}
		now += int64(step)
		s.Realign(int64(step), now, s.all())
		if s.due.len() != 100 {
			t.Fatalf("%d channels are due", s.due.len())
		}
		s.Promote(true, now+int64(time.Second))
		if s.queued == 0 || s.queued > 30 {
			t.Errorf("step %v: %d of 100 channels are due within a tenth of an interval", step, s.queued)
		}
		s.Promote(true, now+int64(12*time.Second))
		if s.queued != 100 {
			t.Errorf("step %v: %d of 100 channels are due within an interval and a floor", step, s.queued)
		}
	}
}
