package engine

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

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
		m.s.limits.batch = rapid.SampledFrom([]int{1, 2, promoteBatch}).Draw(t, "batch")
		for range 8 { // the rare interleavings need long runs
			t.Repeat(map[string]func(*rapid.T){
				"order": m.order, "repace": m.repace, "drop": m.drop, "disk": m.disk, "pass": m.pass, "begin": m.begin, "release": m.release, "finish": m.finish,
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
		o.Ask = rapid.SampledFrom([]string{"", "", "", "http://host3.example/learned", "http://host12.example/learned"}).Draw(t, "ask")
		m.s.order(o, m.now)
	}
}

func (m *scheduleMachine) repace(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		o := testOrder(first+i, 0)
		m.s.repace(&Pace{
			Channel: o.Channel, Incarnation: rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "incarnation"),
			Rate: overlay.Rate{Polls: rapid.SampledFrom([]uint32{0, 1, 2, 5}).Draw(t, "polls"), Intervals: 1}, Width: 1,
		}, m.now)
	}
}

func (m *scheduleMachine) disk(t *rapid.T) { m.s.admit(rapid.Bool().Draw(t, "room"), m.now) }

func (m *scheduleMachine) drop(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		m.s.drop(channel.IDOf(testURL(first+i)), m.now)
	}
}

func (m *scheduleMachine) pass(t *rapid.T) {
	m.now += rapid.Int64Range(0, 8e9).Draw(t, "time")
	for m.s.promote(m.now); m.s.nextDue() <= m.now; m.s.promote(m.now) {
	}
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
	host := channel.Host(p.url) // the one that is really contacted
	if last := m.started[host]; len(last) > 0 && m.now-last[len(last)-1] < m.s.limits.gap {
		t.Fatalf("%s asked after %v, gap %v", host, time.Duration(m.now-last[len(last)-1]), time.Duration(m.s.limits.gap))
	}
	if m.s.noRoom && p.target.isFirst() && p.hop == nil {
		t.Fatalf("%s asked, for whose content there is no room", host)
	}
	if p.host != m.s.hostOf(p.url) || p.host.rest.resting(m.now) {
		t.Fatalf("%s asked, which rests: %+v", host, p.host)
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
		m.s.release(m.polls[i], &result{took: took}, m.now)
	}
}

func (m *scheduleMachine) finish(t *rapid.T) {
	if len(m.polls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
	p := m.polls[i]
	m.polls = append(m.polls[:i], m.polls[i+1:]...)
	r := result{outcome: rapid.SampledFrom([]outcome{notModified, changed, statusError, ended, canceled, redirected, redirected}).Draw(t, "outcome")}
	if r.outcome == redirected {
		r.location = fmt.Sprintf("http://host%d.example/elsewhere", rapid.IntRange(5, 14).Draw(t, "host"))
	}
	r.status = rapid.SampledFrom([]int{0, 200, 304, 429, 503}).Draw(t, "status")
	if r.heard = rapid.Bool().Draw(t, "heard"); r.heard {
		r.words.fresh = time.Duration(rapid.Int64Range(0, 60e9).Draw(t, "fresh"))
		r.words.source, r.remaining = fetcher.SourceMaxAge, r.words.fresh
	}
	r.took = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took")
	m.s.conclude(p, &r, m.now)
	m.s.finish(p, &r, m.now)
}

func (m *scheduleMachine) sweep(t *rapid.T) {
	for target := m.s.expired(m.now - 10e9); target != nil; target = m.s.expired(m.now - 10e9) {
		if since := m.now - target.due; !target.dropped || since < 10e9 {
			t.Fatalf("forgotten after %v: %+v", time.Duration(since), target)
		}
		m.s.unclaim(target, m.now)
	}
	m.s.dismiss(m.s.guests.len(), m.now)
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
			busy[p.host]++
		}
	}
	if polls != m.s.polls || polls[strange] > m.s.limits.shares[strange] || polls[slow] > m.s.limits.shares[slow] {
		t.Fatalf("polls %v, counted %v, shares %v", polls, m.s.polls, m.s.limits.shares)
	}
	m.checkEnds(t)
	ties := map[*host]int32{}
	for target := range m.s.targets.all() {
		ties[target.host]++
		if target.oddities().hop != nil {
			ties[target.oddities().hop.host]++
		}
	}
	for _, h := range m.s.hosts {
		m.checkHost(t, h, busy[h])
		if ties[h] != h.targets || h.targets == 0 && !h.guest {
			t.Fatalf("host %+v: %d ties", h, ties[h])
		}
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
	live, waiting, failing := 0, 0, 0
	for target := range m.s.targets.all() {
		if !target.dropped {
			live++
			failing += min(int(target.failures), 1)
		}
		if target.state == queued {
			waiting++
		}
		if target.oddities().hop != nil && target.state == idle {
			t.Fatalf("target %+v: no poll is under way, but a redirect is followed", target)
		}
		inHeap := target.place() >= 0
		wantHeap := target.state == idle && !target.dropped && target.due != never
		if m.s.targets.get(target.id) != target || inHeap != wantHeap || (target.state == busy) != (polls[target] == 1) || polls[target] > 1 {
			t.Fatalf("target %+v: in heap %v, polls %d", target, inHeap, polls[target])
		}
		if inHeap && target.due <= m.now-8e9 {
			t.Fatalf("due since %v and not queued", time.Duration(m.now-target.due))
		}
	}
	if live != m.s.live || waiting != m.s.queued || failing != m.s.failing {
		t.Fatalf("%d live, counted %d; %d queued, counted %d; %d failing, counted %d", live, m.s.live, waiting, m.s.queued, failing, m.s.failing)
	}
}

// checkEnds holds that a target is at the host of the URL that it is asked at, and
// that the index of where targets end knows just those that end elsewhere.
func (m *scheduleMachine) checkEnds(t *rapid.T) {
	elsewhere, indexed := 0, 0
	for target := range m.s.targets.all() {
		if target.host.id != channel.HostID(channel.Host(target.url)) || channel.IDOf(target.own()) != target.id {
			t.Fatalf("target %+v with course %+v is at host %s", target, target.courseOf(), target.host.id)
		}
		if c := target.courseOf(); target.state == idle && !target.dropped && target.failures%2 == 0 && target.url != cmp.Or(c.ask, target.own()) {
			t.Fatalf("target %+v is asked at %s, ordered %+v", target, target.url, c)
		}
		if final := target.courseOf().final; final != "" {
			elsewhere++
			if _, ok := m.s.ends[channel.IDOf(final)][target]; !ok {
				t.Fatalf("target %+v ends at %s, and is not found there", target, final)
			}
		}
	}
	for _, there := range m.s.ends {
		indexed += len(there)
	}
	if indexed != elsewhere {
		t.Fatalf("%d targets end elsewhere, %d are found", elsewhere, indexed)
	}
}

// checkHost holds that a host with work is never forgotten: it is ready, rests or
// is parked for a reason, or has as many requests as it may get.
func (m *scheduleMachine) checkHost(t *rapid.T, h *host, busy int32) {
	if h.busy != busy {
		t.Fatalf("host %+v: %d requests", h, busy)
	}
	if h.rest.resting(m.now) && !h.empty() && !h.clearing {
		t.Fatalf("host %+v rests, and somebody waits at it", h)
	}
	if h.clearing && m.s.nextDue() != 0 {
		t.Fatalf("host %+v is to be cleared, and nobody knows", h)
	}
	if h.state == hostQuiet && m.s.mayAsk(h) {
		t.Fatalf("host %+v has work and nobody knows", h)
	}
	if (h.state == hostSpaced) != (h.place() >= 0) {
		t.Fatalf("host %+v: state and place differ", h)
	}
	if h.busy > 1 && int(h.busy) > m.s.limits.parallel {
		t.Fatalf("host %+v: more requests than %d", h, m.s.limits.parallel)
	}
}
