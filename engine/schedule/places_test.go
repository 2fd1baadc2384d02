package schedule

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// A redirect is followed at once, unless it or the host that it leads to asks to wait:
// then the poll ends, and the channel is not asked for before that.
func TestFollow(t *testing.T) {
	const now = int64(1e18)
	after := func(d time.Duration) pace.RetryAfter { return pace.RetryAfter{After: d, Given: true} }
	for _, tc := range []struct {
		name  string
		retry pace.RetryAfter
		rest  int64 // of the host that it leads to, until
		until int64 // not before; 0: followed
	}{
		{"at once", pace.RetryAfter{}, 0, 0},
		{"at once, it says", pace.RetryAfter{Given: true}, 0, 0},
		{"in an hour", after(time.Hour), 0, now + hour},
		{"in a week", after(7 * 24 * time.Hour), 0, now + 24*hour},
		{"the host rests", pace.RetryAfter{}, now + 2*hour, now + 2*hour},
		{"the host's rest is over", pace.RetryAfter{}, now, 0},
	} {
		s := newRig(Config{})
		target := s.order(0, 0, now)
		s.Promote(true, now)
		p, ok := s.begin(now)
		if !ok {
			t.Fatal("no poll")
		}
		to := s.hostOf(1)
		to.rest.Until, to.rest.Count = tc.rest, 1
		s.conclude(p, Reply{Status: 302, Took: time.Second}, Result{}, now)
		s.endHop(p, now)
		if got := s.Follow(target, to, tc.retry, now); got != (tc.until == 0) || target.NotBefore() != tc.until {
			t.Errorf("%s: followed %v, not before %v", tc.name, got, target.NotBefore()-now)
		}
		if tc.until > 0 {
			if due, _ := target.Due(); !target.Idle() || target.at() != target.Host() || to.targets != 0 || due < tc.until {
				t.Errorf("%s: %+v", tc.name, target)
			}
			continue
		}
		p, ok = s.begin(now)
		if !ok || p.Target != target || p.Host != to || p.HostWait != 0 || p.Eligible != now || to.targets != 1 {
			t.Fatalf("%s: %+v, %v", tc.name, p, ok)
		}
		// Where it has led refuses: its own host is not spared for that, the channel is.
		s.end(p, Reply{Status: 429, RetryAfter: after(time.Hour), Took: time.Second}, Result{}, now)
		if target.NotBefore() != max(now+hour, tc.rest) || to.targets != 0 || target.Host().rest.Until != 0 || target.at() != target.Host() {
			t.Errorf("%s, and refused: not before %v, %+v", tc.name, target.NotBefore()-now, target)
		}
	}
}

// A refusal of its own host does not hold back the channel beside the host's rest.
func TestRefusedByItsOwnHost(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{})
	target := s.order(0, 0, now)
	p := pollOnce(t, s, Reply{Status: 429, RetryAfter: pace.RetryAfter{After: time.Hour, Given: true}, Took: time.Second}, Result{}, now)
	if target.NotBefore() != 0 || p.Host.rest.Until != now+hour || p.Verdict != pace.HostRefuses {
		t.Errorf("not before %v, %+v", target.NotBefore(), p.Host.rest)
	}
}

// A dormant target expires after its time, once; one that was ordered meanwhile, or is
// claimed, does not.
func TestExpired(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{})
	var targets []*Target[site]
	for i := range 4 {
		targets = append(targets, s.order(i, 1, now))
		s.Drop(targets[i], now+int64(i))
	}
	s.Revive(targets[1])
	s.Plan(targets[1], now+5)
	s.Claim(targets[2])
	if got := s.Expired(now - 1); got != nil {
		t.Errorf("%d expired too soon", got.Channel.i)
	}
	if got := s.Expired(now + 3); got != targets[0] || got.Idle() {
		t.Errorf("%+v expired first", got)
	}
	if got := s.Expired(now + 2); got != nil {
		t.Errorf("%d expired, which was ordered or claimed", got.Channel.i)
	}
	if got := s.Expired(now + 3); got != targets[3] {
		t.Errorf("%+v expired last", got)
	}
	if s.Unclaim(targets[0]) || !s.Unclaim(targets[1]) {
		t.Error("a dropped target is forgotten, an ordered one is not")
	}
	if _, ever := targets[0].Due(); ever || targets[0].Host().targets != 0 || !targets[0].Idle() {
		t.Errorf("forgotten: %+v", targets[0])
	}
	s.Revive(targets[3])
	s.Unclaim(targets[3])
	s.Drop(targets[3], now+9)
	if got := s.Expired(now + 8); got != nil {
		t.Error("expired by a dormancy that was void")
	}
	if got := s.Expired(now + 9); got != targets[3] {
		t.Errorf("%+v expired, dropped again", got)
	}
}

// What a restart knows of a target: nothing that is ahead of now, nor later than may be.
// It is dormant once.
func TestRestore(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{})
	target := s.get(0)
	rate := overlay.Rate{Polls: 12, Intervals: 1} // which takes two pollers, with a floor of 5 min
	s.Restore(target, Record{LastPoll: now + 9, NotBefore: now + 99*hour, Rate: rate, Failures: 3, Rank: 1, Drift: 77, Refused: true}, now)
	want := Record{LastPoll: now, NotBefore: now + 24*hour, Rate: rate, Failures: 3, Rank: 1, Drift: 77, Refused: true}
	if got := target.Record(); got != want || target.pace.Width != 2 || s.hosts.restored != now {
		t.Errorf("%+v, width %d; want %+v", got, target.pace.Width, want)
	}
	s.Restore(target, Record{LastPoll: now - hour, NotBefore: now + hour, Rate: rate}, now)
	if got := target.Record(); got.LastPoll != now-hour || got.NotBefore != now+hour || got.Failures != 0 || s.hosts.restored != now {
		t.Errorf("%+v, restored again", got)
	}
	if s.Expired(now) != target || s.Expired(now) != nil {
		t.Error("dormant other than once")
	}
	h := s.hostOf(0)
	if h.freeAt != now { // it has no gap
		t.Errorf("its host is free at %d", h.freeAt)
	}
}

// A host's gap is that of private hosts when it is one, which a restart asks again; a
// host that is met first after a start keeps its gap since the last request before.
func TestHostGapAfterRestart(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{HostGap: 3 * time.Second, PrivateHostGap: 7 * time.Second})
	s.Restore(s.get(0), Record{LastPoll: now - 2e9, Rate: overlay.Rate{Polls: 1, Intervals: 1}}, now)
	id := channel.ID{1}
	s.RestoreHost(HostRecord{ID: id, FreeAt: now + 1}, now)
	for _, tc := range []struct {
		id      channel.ID
		private bool
		gap     time.Duration
		free    int64
	}{
		{id, true, 7 * time.Second, now + 5e9}, {id, false, 3 * time.Second, now + 5e9}, {channel.ID{2}, false, 3 * time.Second, now + 1e9},
	} {
		h := s.Host(tc.id, func() bool { return tc.private })
		if got := s.MannersOf(h, 0).Gap; got != tc.gap || h.freeAt != tc.free {
			t.Errorf("gap %v, free in %v", got, time.Duration(h.freeAt-now))
		}
	}
	used := s.Host(id, func() bool { return true })
	s.Attach(s.get(1), used)
	s.Host(id, func() bool { t.Error("asked again of a host in use"); return false })
}

// A host that loses its channels twice is one guest.
func TestGuestOnce(t *testing.T) {
	s := newRig(Config{})
	a, b := s.hostOf(0), s.hostOf(1)
	for range 3 {
		s.Attach(s.get(0), a)
		s.Attach(s.get(0), b)
	}
	if counts := s.Count(1e18); counts.Guests != 2 { // b was one until now
		t.Errorf("%d guests", counts.Guests)
	}
}

// A wall clock that was set moves hosts' gaps, never beyond one from now, their rests,
// and what waits there.
func TestRealignHosts(t *testing.T) {
	const now = int64(1e18)
	for _, step := range []int64{hour, -hour} {
		s := newRig(Config{HostGap: 10 * time.Second, HostParallel: 1})
		s.order(0, 0, now)
		waits := s.order(10, 0, now) // on the same host
		s.order(1, 0, now)
		s.Promote(true, now)
		var polls []*Poll[site]
		for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
			polls = append(polls, p)
		}
		if len(polls) != 2 {
			t.Fatalf("%d polls", len(polls))
		}
		s.unchanged(polls[0], now+1e9)
		s.end(polls[1], Reply{Status: 429, RetryAfter: pace.RetryAfter{After: time.Minute, Given: true}, Took: time.Second}, Result{}, now+1e9)
		later := now + 2e9 + step
		s.Realign(step, later, s.all())
		first, second := s.hostOf(0), s.hostOf(1)
		if first.freeAt != now+10e9+step || s.NextDue() != now+10e9+step {
			t.Errorf("set by %v: free in %v, next in %v", time.Duration(step), time.Duration(first.freeAt-later), time.Duration(s.NextDue()-later))
		}
		if waits.due != now+step {
			t.Errorf("set by %v: what waits was due %v ago", time.Duration(step), time.Duration(later-waits.due))
		}
		if rest := second.Refusals(); rest.Until != now+1e9+int64(time.Minute)+step || rest.Last != now+1e9+step {
			t.Errorf("set by %v: %+v", time.Duration(step), rest)
		}
		s.Realign(hour, later, s.all()) // noted since the clock was set
		if first.freeAt != later+10e9 || s.NextDue() > later+10e9 {
			t.Errorf("set again: free in %v", time.Duration(first.freeAt-later))
		}
	}
	s := newRig(Config{})
	s.Realign(hour, now, s.all())
	if s.hosts.restored != 0 {
		t.Error("a first start has restored something")
	}
	s.hosts.restored = now - 3*hour
	if s.Realign(hour, now, s.all()); s.hosts.restored != now-2*hour {
		t.Errorf("restored %v ago", time.Duration(now-s.hosts.restored))
	}
	if s.Realign(9*hour, now, s.all()); s.hosts.restored != now {
		t.Errorf("restored %v ago", time.Duration(now-s.hosts.restored))
	}
}

// A channel that an order has moved between the queues of its host while it waited is
// polled once; one that was dropped is not.
func TestQueuesOfAHost(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{HostParallel: 1})
	s.hostOf(0).speed = 1 // steady: it was asked before
	for _, i := range []int{0, 10, 20, 30} {
		s.order(i, 0, now)
	}
	s.Promote(true, now)
	if counts := s.Count(now); counts.Queued != 4 || counts.Scheduled != 0 {
		t.Fatalf("%+v", counts)
	}
	s.get(0).SetFirst(false) // an order says that it has content
	s.Drop(s.get(10), now)
	polled := map[int]int{}
	for at := now; at < now+10; at++ {
		for p, ok := s.begin(at); ok; p, ok = s.begin(at) {
			polled[p.Target.Channel.i]++
			p.Target.Channel.version = 1
			s.unchanged(p, at)
		}
	}
	if len(polled) != 3 || polled[0] != 1 || polled[20] != 1 || polled[30] != 1 {
		t.Errorf("polled %v", polled)
	}
	if counts := s.Count(now); counts.Queued != 0 || counts.InFlight != 0 || counts.Targets != 3 || !s.get(10).Idle() {
		t.Errorf("%+v", counts)
	}
}

// Due and Waits of a target without an order, and of one that is planned.
func TestDue(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{})
	target := s.order(0, 1, now)
	if due, ever := target.Due(); !ever || due <= now || target.Dropped() || !target.Idle() {
		t.Errorf("due %v, %v", due-now, ever)
	}
	s.SetRate(target, overlay.Rate{Intervals: 1}, 0, 0, now)
	s.Plan(target, now)
	if _, ever := target.Due(); ever || s.Count(now).Scheduled != 0 || s.NextDue() != never {
		t.Error("due without a rate")
	}
}
