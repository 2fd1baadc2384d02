package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
)

// New channels take their share of the workers, on known hosts too, until they are
// taken apart and committed: polls that are due are not behind them.
func TestFirstPollsLeaveWorkers(t *testing.T) {
	s := newRig(Config{Interval: time.Hour, Floor: time.Second, Workers: 8})
	now := int64(1e18)
	for i := range 10 {
		s.order(i, 1, now)
		s.hostOf(i).speed = admission.Steady
	}
	now += int64(2 * time.Hour)
	for i := range 100 {
		s.order(10+i, 0, now)
	}
	begin := func() (firsts, others int) {
		s.Promote(true, now)
		for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
			s.Release(p, Reply{Took: time.Millisecond}, now)
			if p.Target.Channel.version == 0 {
				firsts++ // they stay under way
				continue
			}
			others++
			s.End(p, admission.Load{}, now)
			s.Finish(p.Target, now)
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
	s := newRig(Config{Interval: time.Hour, Floor: time.Second})
	now := int64(1e18)
	for i := range 20 {
		s.order(i*10, uint64(i%2), now)
	}
	now += int64(2 * time.Hour)
	s.Promote(true, now)
	var kinds string
	for range 12 {
		p, ok := s.begin(now)
		if !ok {
			t.Fatal("nothing to begin")
		}
		kinds += fmt.Sprint(p.Target.Channel.version)
		s.end(p, Reply{Took: time.Millisecond}, Result{}, now)
	}
	if kinds != "101010101010" {
		t.Errorf("old and new channels were polled as %s", kinds)
	}
}

// What a host makes its polls wait for is no lateness of ours, and the other way
// round.
func TestEligible(t *testing.T) {
	const second = int64(time.Second)
	s := newRig(Config{Interval: time.Hour, Floor: time.Second, Workers: 4, HostGap: 3 * time.Second})
	begin := func(now int64) *Poll[site] {
		t.Helper()
		s.Promote(true, now)
		p, ok := s.begin(now)
		if !ok {
			t.Fatalf("nothing begins at %d", now)
		}
		return p
	}
	end := func(p *Poll[site], now int64) { s.end(p, Reply{Took: time.Second}, Result{}, now) }
	check := func(what string, p *Poll[site], lateness, hostWait int64) {
		t.Helper()
		if p.Lateness() != time.Duration(lateness) || p.HostWait != hostWait {
			t.Errorf("%s: lateness %v, host wait %v; want %v, %v", what, p.Lateness(), time.Duration(p.HostWait), time.Duration(lateness), time.Duration(hostWait))
		}
	}
	// Two new channels on one host, and two more hosts: strange polls get two of four workers.
	for _, i := range []int{0, 10, 1, 2} {
		s.order(i, 0, 0)
	}
	first := begin(1 * second)
	check("at once, but the loop was late", first, 1*second, 0)
	other := begin(2 * second)
	check("another host", other, 2*second, 0)
	if _, ok := s.begin(2 * second); ok {
		t.Fatal("a third strange host is asked")
	}
	end(other, 4*second)
	check("parked until then, late since", begin(5*second), 1*second, 4*second)
	end(first, 6*second)
	check("its host's gap and parallelism were over before", begin(8*second), 2*second, 6*second)
}

// The engine is behind while polls wait for a worker, and not while they wait for their
// host, nor for the sake of channels without content.
func TestBehind(t *testing.T) {
	s := newRig(Config{Workers: 4, HostParallel: 1})
	now := int64(1e18)
	for i := range 40 { // ten to a host
		s.order(i, 1, now)
	}
	for t := range s.all() {
		t.due, t.host.speed = now, admission.Steady
		s.due.set(t, now)
	}
	now += int64(3 * time.Second)
	if got := time.Duration(s.Behind(now)); got != 3*time.Second {
		t.Errorf("the loop is late by 3 s: behind by %v", got)
	}
	s.Promote(true, now)
	s.workers.Limit = 2
	s.begin(now)
	_, ok := s.begin(now)
	if got := time.Duration(s.Behind(now)); !ok || got != 3*time.Second {
		t.Errorf("no worker free: behind by %v", got)
	}
	s.workers.Limit = 40
	for _, ok := s.begin(now); ok; _, ok = s.begin(now) {
	}
	if got := s.Behind(now + int64(time.Second)); got != 0 || s.queued == 0 {
		t.Errorf("behind by %v, and all that waits does so for its host", time.Duration(got))
	}
	s.order(90, 0, now)
	if got := s.Behind(now + int64(time.Minute)); got != 0 {
		t.Errorf("behind by %v, because of a first poll", time.Duration(got))
	}
}

// A host that is ready when its last exchange turns out slow gets no second request.
func TestReadyHostThatGetsFewer(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second, HostParallel: 3})
	now := int64(1e18)
	for i := range 6 {
		s.order(10*i, 1, now)
	}
	h := s.hostOf(0)
	h.speed = admission.Steady
	now += int64(2 * time.Minute)
	s.Promote(true, now)
	a, _ := s.begin(now)
	if _, ok := s.begin(now); !ok {
		t.Fatal("not two at a time")
	}
	s.Release(a, Reply{Took: time.Minute, Status: 200}, now)
	if _, ok := s.begin(now); ok && h.busy > 1 {
		t.Errorf("slow host has %d requests, may have %d", h.busy, s.hosts.parallelOf(h))
	}
}

// What an origin asked for binds the next incarnation of its channel too.
func TestRetryAfterOutlivesIncarnation(t *testing.T) {
	s := newRig(Config{Interval: time.Minute, Floor: time.Second})
	now := int64(1e18)
	target := s.order(0, 0, now)
	s.Promote(true, now)
	p, ok := s.begin(now)
	if !ok {
		t.Fatal("not asked at once")
	}
	s.end(p, Reply{Status: 404, Took: time.Second, RetryAfter: pace.RetryAfter{After: 20 * time.Hour, Given: true}}, Result{Blame: Failed}, now)
	s.Forgive(target)
	target.Channel.polled = false
	now += 5e9
	if s.order(0, 0, now); target.due < now+int64(19*time.Hour) {
		t.Errorf("asked again in %v, Retry-After was 20 h", time.Duration(target.due-now))
	}
}

// While a poll waits for memory its host is not asked for anything else, so that the
// gap counts from its request; when that is made, the next one comes a gap later.
func TestHostWaitsWithItsPoll(t *testing.T) {
	s := newRig(Config{Interval: time.Hour, Floor: time.Second, HostGap: time.Second})
	now := int64(1e18)
	first := s.order(0, 1, now)
	s.Promote(true, first.due)
	p, ok := s.begin(first.due)
	if !ok {
		t.Fatal("not asked when it is due")
	}
	now = first.due
	s.end(p, Reply{Status: 200, Took: time.Second}, Result{Memory: 2 * largeBody}, now)
	now = first.due
	s.order(10, 0, now-int64(time.Minute)) // the same host
	s.Promote(true, now)
	large, ok := s.begin(now)
	if !ok || large.Body == 0 && large.Target == first {
		t.Fatalf("%+v begins first: %v", large, ok)
	}
	if large.Target != first {
		s.unchanged(large, now)
		s.Promote(true, now+2e9)
		if large, ok = s.begin(now + 2e9); !ok || large.Target != first || large.Body == 0 {
			t.Fatalf("then %+v: %v", large, ok)
		}
		now += 2e9
	}
	s.order(20, 0, now)
	now += int64(time.Minute)
	s.Promote(true, now)
	if p, ok := s.begin(now); ok {
		t.Fatalf("channel %d is asked while another one's poll waits for memory", p.Target.Channel.i)
	}
	if !s.MayAsk(large, true, now) {
		t.Fatal("the poll that waited may not ask")
	}
	s.Promote(true, now+5e8)
	if _, ok := s.begin(now + 5e8); ok {
		t.Error("asked half a gap after the request")
	}
	s.Promote(true, now+1e9)
	if _, ok := s.begin(now + 1e9); !ok {
		t.Error("not asked a gap after the request")
	}
}

// What waits at a host that begins to rest is planned again a batch at a time, so that
// no call takes long: each leaves the rest to the next, which is due at once.
func TestRestIsPlannedInBatches(t *testing.T) {
	s := newRig(Config{Interval: time.Hour, Floor: time.Second})
	now := int64(1e18)
	const size = 2*batch + 100
	for i := range size {
		s.order(10*i, 0, now)
	}
	for s.Count(now).Queued < size {
		s.Promote(true, now)
	}
	p, ok := s.begin(now)
	if !ok {
		t.Fatal("none begins")
	}
	s.end(p, Reply{Status: 429, Took: time.Second}, Result{}, now)
	for left := size - 1 - batch; left > 0; left -= batch {
		if got := s.Count(now).Queued; got != left || s.NextDue() != 0 {
			t.Fatalf("%d wait, next due %d; want %d, at once", got, s.NextDue(), left)
		}
		s.Promote(true, now)
	}
	if s.Promote(true, now); s.Count(now).Queued != 0 || s.NextDue() <= now {
		t.Errorf("%d wait in the end, next due %d", s.Count(now).Queued, s.NextDue())
	}
}
