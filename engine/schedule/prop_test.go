package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// scheduleMachine drives a schedule through whatever can happen to it, and checks
// after each step that everything is where it belongs.
type scheduleMachine struct {
	s       *rig
	now     int64
	polls   []*Poll[site] // under way
	started map[*Host[site]][]int64
	sent    map[*Host[site]]int64 // the last request whose poll has been released
	firsts  bool                  // may begin
}

func TestScheduleInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{
			Interval: 10 * time.Second, Floor: time.Second,
			Workers:      rapid.IntRange(4, 12).Draw(t, "workers"),
			HostParallel: rapid.IntRange(1, 3).Draw(t, "parallel"),
			HostGap:      time.Duration(rapid.SampledFrom([]int{0, 0, 500, 3000}).Draw(t, "gap")) * time.Millisecond,
			Nodes:        rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "nodes"),
		}
		m := &scheduleMachine{s: newRig(config), now: 1e18, started: map[*Host[site]][]int64{}, sent: map[*Host[site]]int64{}, firsts: true}
		m.s.idle = m.idle
		m.s.batch = rapid.SampledFrom([]int{1, 2, batch}).Draw(t, "batch")
		for range 8 { // the rare interleavings need long runs
			t.Repeat(map[string]func(*rapid.T){
				"order": m.order, "repace": m.repace, "drop": m.drop, "disk": m.disk, "pass": m.pass, "begin": m.begin, "release": m.release, "finish": m.finish,
				"grant": m.grant,
				"sweep": m.sweep, "": m.check,
			})
		}
	})
}

// idle moves a channel to another host now and then, as learned redirects do.
func (m *scheduleMachine) idle(t *Target[site], stranded bool) {
	t.Channel.polled = t.Channel.polled || stranded
	t.SetFirst(t.Channel.version == 0 && !t.Channel.polled)
	if !t.Dropped() && t.Failures()%2 == 1 {
		m.s.Attach(t, m.s.hostOf(t.Channel.i+3))
	}
}

func (m *scheduleMachine) order(t *rapid.T) {
	first := rapid.IntRange(0, 40).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		polls := rapid.SampledFrom([]uint32{0, 1, 1, 3}).Draw(t, "polls")
		if known := m.s.targets[first+i]; known != nil && rapid.IntRange(0, 3).Draw(t, "incarnation") == 0 {
			known.Channel.polled = false
			m.s.Forgive(known)
		}
		m.s.orderAt(first+i, rapid.Uint64Range(0, 2).Draw(t, "version"), overlay.Rate{Polls: polls, Intervals: 1}, m.now)
	}
}

func (m *scheduleMachine) repace(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		known := m.s.targets[first+i]
		if known == nil || known.Dropped() {
			continue
		}
		m.s.SetRate(known, overlay.Rate{Polls: rapid.SampledFrom([]uint32{0, 1, 2, 5}).Draw(t, "polls"), Intervals: 1}, 1, 0, m.now)
		if known.Idle() && known.due > m.now {
			m.s.Plan(known, m.now)
		}
	}
}

func (m *scheduleMachine) grant(t *rapid.T) {
	host := channel.HostID(channel.Host(testURL(rapid.IntRange(0, 9).Draw(t, "host"))))
	until := m.now + rapid.Int64Range(-1e9, 20e9).Draw(t, "until")
	m.s.Grant(host, rapid.SampledFrom([]int64{0, 1000, 300_000, 950_000}).Draw(t, "part"), until, m.now)
}

func (m *scheduleMachine) disk(t *rapid.T) {
	m.firsts = rapid.Bool().Draw(t, "room")
	m.s.Promote(m.firsts, m.now)
}

func (m *scheduleMachine) drop(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		if known := m.s.targets[first+i]; known != nil {
			m.s.Drop(known, m.now)
		}
	}
}

func (m *scheduleMachine) pass(t *rapid.T) {
	m.now += rapid.Int64Range(0, 8e9).Draw(t, "time")
	for m.s.Promote(m.firsts, m.now); m.s.NextDue() <= m.now; m.s.Promote(m.firsts, m.now) {
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
	m.polls = append(m.polls, p)
	if last := m.started[p.Host]; len(last) > 0 && m.now-last[len(last)-1] < m.s.hosts.gap {
		t.Fatalf("host asked after %v, gap %v", time.Duration(m.now-last[len(last)-1]), time.Duration(m.s.hosts.gap))
	}
	if m.s.noFirsts && p.Target.first && !p.hopped {
		t.Fatalf("%d asked, for whose content there is no room", p.Target.Channel.i)
	}
	if p.Host != p.Target.at() || p.Host.rest.Resting(m.now) {
		t.Fatalf("%d asked, at a host that rests: %+v", p.Target.Channel.i, p.Host)
	}
	if apart := m.now - m.sent[p.Host]; apart < m.s.hosts.gap-int64(sentSoon) {
		t.Fatalf("host asked %v after a request to it was sent, gap %v", time.Duration(apart), time.Duration(m.s.hosts.gap))
	}
	m.started[p.Host] = append(m.started[p.Host], m.now)
	if p.Eligible > m.now || p.HostWait < 0 {
		t.Fatalf("begun at %d, allowed from %d, host wait %d", m.now, p.Eligible, p.HostWait)
	}
}

func (m *scheduleMachine) release(t *rapid.T) {
	if len(m.polls) > 0 {
		// Nothing, fast or slow: what a host is judged by.
		took := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took")
		i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
		m.send(t, m.polls[i])
		m.s.Release(m.polls[i], Reply{Took: took}, m.now)
	}
}

// send has a poll's request have been sent at some time since it began.
func (m *scheduleMachine) send(t *rapid.T, p *Poll[site]) {
	if !p.Sent.IsZero() {
		return
	}
	begun := p.Begun.UnixNano()
	sent := begun + rapid.Int64Range(0, max(m.now-begun, 0)).Draw(t, "sent")
	p.Sent = time.Unix(0, sent)
	m.sent[p.Host] = max(m.sent[p.Host], sent)
}

func (m *scheduleMachine) finish(t *rapid.T) {
	if len(m.polls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
	p := m.polls[i]
	m.polls = append(m.polls[:i], m.polls[i+1:]...)
	target := p.Target
	reply := Reply{
		Status: rapid.SampledFrom([]int{0, 200, 304, 429, 503}).Draw(t, "status"),
		Took:   rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took"),
	}
	result := Result{Blame: rapid.SampledFrom([]Blame{Succeeded, Succeeded, Failed, Canceled}).Draw(t, "blame")}
	result.Memory = rapid.SampledFrom([]int64{0, 0, 2 * largeBody}).Draw(t, "memory")
	m.send(t, p)
	m.s.conclude(p, reply, result, m.now)
	if rapid.Bool().Draw(t, "fresh") {
		target.SetWishes(m.now+rapid.Int64Range(0, 60e9).Draw(t, "for"), pace.Skip{})
	}
	m.s.End(p, admission.Load{Canceled: result.Blame == Canceled}, m.now)
	switch rapid.SampledFrom([]string{"idle", "idle", "follow", "over"}).Draw(t, "end") {
	case "over":
		m.s.Drop(target, m.now)
	case "follow":
		if !target.Dropped() {
			wait := pace.RetryAfter{After: time.Duration(rapid.SampledFrom([]int64{0, 0, 5e9}).Draw(t, "wait"))}
			m.s.Follow(target, m.s.hostOf(rapid.IntRange(5, 14).Draw(t, "host")), wait, m.now)
			return
		}
	}
	m.s.Finish(target, m.now)
}

func (m *scheduleMachine) sweep(t *rapid.T) {
	for target := m.s.Expired(m.now - 10e9); target != nil; target = m.s.Expired(m.now - 10e9) {
		if since := m.now - target.due; !target.dropped || since < 10e9 {
			t.Fatalf("forgotten after %v: %+v", time.Duration(since), target)
		}
		m.s.forget(target, m.now)
	}
	m.s.Dismiss(m.s.hosts.guests.len(), m.now)
}

func (m *scheduleMachine) check(t *rapid.T) {
	if len(m.polls) != m.s.workers.InFlight {
		t.Fatalf("%d polls under way, counted %d", len(m.polls), m.s.workers.InFlight)
	}
	m.checkTargets(t)
	busy := map[*Host[site]]int32{}
	var polls [admission.Classes]int
	for _, p := range m.polls {
		polls[p.class]++
		if !p.released {
			busy[p.Host]++
		}
	}
	if w := &m.s.workers; polls != w.Polls || polls[admission.Strange] > w.Shares[admission.Strange] || polls[admission.Slow] > w.Shares[admission.Slow] || polls[admission.Large] > w.Shares[admission.Large] {
		t.Fatalf("polls %v, counted %v, shares %v", polls, w.Polls, w.Shares)
	}
	refers, loads, waits := map[*Host[site]]int32{}, map[*Host[site]]int64{}, map[*Host[site]]int32{}
	for target := range m.s.all() {
		if target.host != nil {
			refers[target.host]++
			loads[target.host] += target.load()
		}
		if r := target.rareOf(); r.hop != nil {
			refers[r.hop]++
		}
		if target.state == queued {
			waits[target.at()]++
		}
	}
	var places [admission.Classes]map[*Host[site]]bool
	for of := range places {
		places[of] = map[*Host[site]]bool{}
		for _, h := range m.s.parked[of].next(m.s.parked[of].len()) {
			if places[of][h] {
				t.Fatalf("host %+v has two places among those parked for class %d", h, of)
			}
			places[of][h] = true
		}
	}
	for _, h := range m.s.hosts.byID {
		m.checkHost(t, h, busy[h])
		for of := range places {
			if places[of][h] != h.awaits[of] {
				t.Fatalf("host %+v has a place among those parked for class %d: %v", h, of, places[of][h])
			}
		}
		if h.state == hostParked && !h.awaits[h.parked] {
			t.Fatalf("host %+v is parked, and nothing readies it", h)
		}
		if refers[h] != h.targets || h.targets == 0 && !h.guest {
			t.Fatalf("host %+v: %d targets", h, refers[h])
		}
		if loads[h] != h.load || waits[h] != h.waiting {
			t.Fatalf("host %+v: %d polls an interval, %d targets wait", h, loads[h], waits[h])
		}
		if !h.asks && m.s.hosts.shares.unasked < channel.WholeCap && m.s.hosts.need(h) > m.s.hosts.shares.unasked {
			t.Fatalf("host %+v needs more of its cap than is free, and is not asked for", h)
		}
		if h.state == hostParked && !m.s.workers.Full(h.parked) && m.s.ready.len() == 0 {
			t.Fatalf("host %+v is parked, its share of workers has room, and nothing is about to begin", h)
		}
		if h.state == hostParked && h.classOf(dueQueue) == admission.Steady && !h.queues[dueQueue].empty() {
			t.Fatalf("steady host %+v is parked with a poll that is due", h)
		}
	}
}

func (m *scheduleMachine) checkTargets(t *rapid.T) {
	polls := map[*Target[site]]int{}
	for _, p := range m.polls {
		polls[p.Target]++
	}
	live, waiting, failing := 0, 0, 0
	for target := range m.s.all() {
		if !target.dropped {
			live++
			failing += min(int(target.pace.Failures), 1)
		}
		if target.state == queued {
			waiting++
		}
		if target.rareOf().hop != nil && target.state == idle {
			t.Fatalf("target %+v: no poll is under way, but a redirect is followed", target)
		}
		inHeap := target.heapIndex() >= 0
		wantHeap := target.state == idle && !target.dropped && target.due != never
		if inHeap != wantHeap || (target.state == busy) != (polls[target] == 1) || polls[target] > 1 {
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

// checkHost holds that a host with work is never forgotten: it is ready, rests or
// is parked for a reason, or has as many requests as it may get.
func (m *scheduleMachine) checkHost(t *rapid.T, h *Host[site], busy int32) {
	if h.busy != busy {
		t.Fatalf("host %+v: %d requests", h, busy)
	}
	if h.rest.Resting(m.now) && !h.empty() && !h.clearing {
		t.Fatalf("host %+v rests, and a target waits at it", h)
	}
	if h.clearing && m.s.NextDue() != 0 {
		t.Fatalf("host %+v is to be cleared, and the loop does not know", h)
	}
	if h.state == hostQuiet && m.s.mayAsk(h) {
		t.Fatalf("host %+v has work and the loop does not know", h)
	}
	if (h.state == hostSpaced) != (h.heapIndex() >= 0) {
		t.Fatalf("host %+v: state and place differ", h)
	}
	if h.busy > 1 && int(h.busy) > m.s.hosts.parallel {
		t.Fatalf("host %+v: more requests than %d", h, m.s.hosts.parallel)
	}
}
