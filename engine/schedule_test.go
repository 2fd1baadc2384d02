package engine

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// testURL spreads channels over ten hosts.
func testURL(i int) string { return fmt.Sprintf("http://host%d.example/%d", i%10, i) }

// scheduleMachine drives a schedule through whatever can happen to it, and checks
// after each step that everything is where it belongs.
type scheduleMachine struct {
	s       schedule
	now     int64
	polls   []*poll // under way
	started map[string][]int64
}

func TestScheduleInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{
			Interval: 10 * time.Second, Floor: time.Second,
			Workers:      rapid.IntRange(4, 12).Draw(t, "workers"),
			HostParallel: rapid.IntRange(1, 3).Draw(t, "parallel"),
			HostGap:      time.Duration(rapid.SampledFrom([]int{0, 0, 500, 3000}).Draw(t, "gap")) * time.Millisecond,
		}.withDefaults()
		m := &scheduleMachine{s: newSchedule(config), now: 1e18, started: map[string][]int64{}}
		for range 8 { // the rare interleavings need long runs
			t.Repeat(map[string]func(*rapid.T){
				"order": m.order, "drop": m.drop, "pass": m.pass, "begin": m.begin, "release": m.release, "finish": m.finish,
				"sweep": m.sweep, "": m.check,
			})
		}
	})
}

func (m *scheduleMachine) order(t *rapid.T) {
	first := rapid.IntRange(0, 40).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		o := testOrder(first+i, rapid.Uint64Range(0, 2).Draw(t, "version"))
		o.Rate.Polls = rapid.SampledFrom([]uint32{0, 1, 1, 3}).Draw(t, "polls")
		o.Incarnation = rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "incarnation")
		m.s.order(o, m.now)
	}
}

func (m *scheduleMachine) drop(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		m.s.drop(channel.IDOf(testURL(first+i)), m.now)
	}
}

func (m *scheduleMachine) pass(t *rapid.T) {
	m.now += rapid.Int64Range(0, 8e9).Draw(t, "time")
	m.s.promote(m.now)
}

func (m *scheduleMachine) begin(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "polls") {
		m.beginOne(t)
	}
}

func (m *scheduleMachine) beginOne(t *rapid.T) {
	p, ok := m.s.begin(m.now)
	if !ok {
		return
	}
	p.begun = time.Unix(0, m.now)
	m.polls = append(m.polls, &p)
	host := channel.Host(p.url)
	if last := m.started[host]; len(last) > 0 && m.now-last[len(last)-1] < m.s.limits.gap {
		t.Fatalf("%s asked after %v, gap %v", host, time.Duration(m.now-last[len(last)-1]), time.Duration(m.s.limits.gap))
	}
	m.started[host] = append(m.started[host], m.now)
	if p.eligible > m.now || p.hostWait < 0 {
		t.Fatalf("begun at %d, allowed from %d, host wait %d", m.now, p.eligible, p.hostWait)
	}
}

func (m *scheduleMachine) release(t *rapid.T) {
	if len(m.polls) > 0 {
		// Nothing, fast or slow: what a host is judged by.
		took := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took")
		i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
		m.s.release(m.polls[i], took, m.now)
	}
}

func (m *scheduleMachine) finish(t *rapid.T) {
	if len(m.polls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
	p := m.polls[i]
	m.polls = append(m.polls[:i], m.polls[i+1:]...)
	r := result{outcome: rapid.SampledFrom([]outcome{notModified, changed, statusError, ended, canceled}).Draw(t, "outcome")}
	m.s.release(p, rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took"), m.now)
	m.s.finish(p, &r, m.now)
}

func (m *scheduleMachine) sweep(t *rapid.T) {
	for {
		target := m.s.expired(m.now - 10e9)
		if target == nil {
			return
		}
		if since := m.now - target.due; !target.dropped || since < 10e9 {
			t.Fatalf("forgotten after %v: %+v", time.Duration(since), target)
		}
		m.s.unclaim(target, m.now)
	}
}

func (m *scheduleMachine) check(t *rapid.T) {
	if len(m.polls) != m.s.inFlight {
		t.Fatalf("%d polls under way, counted %d", len(m.polls), m.s.inFlight)
	}
	m.checkTargets(t)
	busy := map[*host]int32{}
	var polls [manners]int
	for _, p := range m.polls {
		polls[p.class]++
		if !p.released {
			busy[p.target.host]++
		}
	}
	if polls != m.s.polls || polls[strange] > m.s.limits.shares[strange] || polls[slow] > m.s.limits.shares[slow] {
		t.Fatalf("polls %v, counted %v, shares %v", polls, m.s.polls, m.s.limits.shares)
	}
	for _, h := range m.s.hosts {
		m.checkHost(t, h, busy[h])
		if h.state == hostParked && !m.s.full(h.parked) && m.s.ready.len() == 0 {
			t.Fatalf("host %+v is parked, its share of workers has room, and nothing is about to begin", h)
		}
		if h.state == hostParked && h.manner == steady && !h.queues[dueQueue].empty() {
			t.Fatalf("steady host %+v is parked with a poll that is due", h)
		}
	}
}

func (m *scheduleMachine) checkTargets(t *rapid.T) {
	polls := map[*target]int{}
	for _, p := range m.polls {
		polls[p.target]++
	}
	live, waiting := 0, 0
	for id, target := range m.s.targets {
		if !target.dropped {
			live++
		}
		if target.state == queued {
			waiting++
		}
		inHeap := target.place() >= 0
		wantHeap := target.state == idle && !target.dropped && target.due != never
		if target.id != id || inHeap != wantHeap || (target.state == busy) != (polls[target] == 1) || polls[target] > 1 {
			t.Fatalf("target %+v: in heap %v, polls %d", target, inHeap, polls[target])
		}
		if inHeap && target.due <= m.now-8e9 {
			t.Fatalf("due since %v and not queued", time.Duration(m.now-target.due))
		}
	}
	if live != m.s.live || waiting != m.s.queued {
		t.Fatalf("%d live, counted %d; %d queued, counted %d", live, m.s.live, waiting, m.s.queued)
	}
}

// checkHost holds that a host with work is never forgotten: it is ready, rests or
// is parked for a reason, or has as many requests as it may get.
func (m *scheduleMachine) checkHost(t *rapid.T, h *host, busy int32) {
	if h.busy != busy || h.targets <= 0 {
		t.Fatalf("host %+v: %d requests", h, busy)
	}
	if !h.empty() && h.state == hostQuiet && int(h.busy) < m.s.parallel(h) {
		t.Fatalf("host %+v has work and nobody knows", h)
	}
	if (h.state == hostResting) != (h.place() >= 0) {
		t.Fatalf("host %+v: state and place differ", h)
	}
	if h.busy > 1 && int(h.busy) > m.s.limits.parallel {
		t.Fatalf("host %+v: more requests than %d", h, m.s.limits.parallel)
	}
}

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
			s.release(&p, time.Millisecond, now)
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
		s.release(&p, time.Millisecond, now)
		s.finish(&p, &result{}, now)
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
		s.release(p, time.Second, now)
		s.finish(p, &result{}, now)
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
