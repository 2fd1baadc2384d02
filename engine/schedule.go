package engine

import (
	"hash/maphash"
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
)

// schedule is everything that decides which poll begins next: pure state under
// Engine.mu that takes the time as an argument and neither waits nor does I/O.
//
// A target goes idle (due heap) → queued (its host's queue) → busy (a worker) →
// idle. A host with waiting targets is ready, resting until its gap is over,
// parked, or has as many requests under way as it may get.
type schedule struct {
	pace    pace
	limits  limits
	targets map[channel.ID]*target
	hosts   map[uint64]*host // by maphash of [channel.Host]
	seed    maphash.Seed

	due     dueHeap[*target]
	resting dueHeap[*host]
	ready   fifo[*host]
	parked  [manners]fifo[*host] // entries whose host left it meanwhile are skipped
	dormant fifo[dormancy]

	live     int // targets that are ordered
	queued   int
	inFlight int          // polls, from begin to finish
	polls    [manners]int // the same by class
}

type limits struct {
	workers         int
	shares          [manners]int // of workers, for polls of each class
	parallel        int          // requests to a host at a time
	gap, privateGap int64
}

func newSchedule(c Config) schedule {
	return schedule{
		pace: pace{c.Interval, c.Floor},
		limits: limits{
			workers:    c.Workers,
			shares:     [manners]int{strange: c.Workers / 2, slow: c.Workers / 4, steady: c.Workers},
			parallel:   c.HostParallel,
			gap:        int64(c.HostGap),
			privateGap: int64(c.PrivateHostGap),
		},
		targets: make(map[channel.ID]*target),
		hosts:   make(map[uint64]*host),
		seed:    maphash.MakeSeed(),
	}
}

// order takes an order in. A target that is queued or busy is planned when it is
// idle again.
func (s *schedule) order(o *Order, now int64) {
	t := s.targets[o.Channel]
	if t == nil {
		t = s.add(o.Channel)
	}
	if t.host == nil {
		s.attach(t, o.URL)
	}
	if t.incarnation != o.Incarnation {
		t.reborn(o.Incarnation)
	}
	if t.dropped {
		t.dropped = false
		s.live++
	}
	t.rate, t.held = o.Rate, o.Held
	t.width, t.rank = clamp32(o.Width), clamp32(o.Rank)
	t.know(o.Version, o.Hash)
	if t.state == idle {
		s.plan(t, now)
	}
}

func clamp32(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// add makes a target that is not ordered and not at its host yet.
func (s *schedule) add(id channel.ID) *target {
	t := &target{id: id, pos: -1, dropped: true, loaded: true}
	s.targets[id] = t
	return t
}

func (s *schedule) attach(t *target, url string) {
	t.url, t.host = url, s.hostOf(url)
	t.host.targets++
}

func (s *schedule) hostOf(url string) *host {
	key := maphash.String(s.seed, channel.Host(url))
	h := s.hosts[key]
	if h == nil {
		h = &host{key: key, pos: -1, private: isPrivate(url)}
		s.hosts[key] = h
	}
	return h
}

// plan puts an idle target where its next due time says.
func (s *schedule) plan(t *target, now int64) {
	t.due = s.pace.next(t, now)
	if t.due == never {
		s.due.remove(t)
		return
	}
	s.due.set(t, t.due)
}

// nextDue returns when promote next has something to do.
func (s *schedule) nextDue() int64 {
	next := int64(never)
	if due, _, ok := s.due.min(); ok {
		next = due
	}
	if free, _, ok := s.resting.min(); ok {
		next = min(next, free)
	}
	return next
}

// promoteBatch is how much promote does at a time: workers wait for the lock
// meanwhile, and after a stall thousands may be due.
const promoteBatch = 512

// promote queues targets that are due at their hosts, and readies hosts whose gap
// is over. What it leaves, nextDue still names.
func (s *schedule) promote(now int64) {
	for range promoteBatch {
		free, h, ok := s.resting.min()
		if !ok || free > now {
			break
		}
		s.resting.remove(h)
		h.state = hostQuiet
		s.settle(h, now)
	}
	for range promoteBatch {
		due, t, ok := s.due.min()
		if !ok || due > now {
			return
		}
		s.due.remove(t)
		t.state = queued
		s.queued++
		s.enqueue(t, now)
	}
}

// enqueue has a target wait at its host. A host that is parked for the sake of
// first polls is not parked for others.
func (s *schedule) enqueue(t *target, now int64) {
	h, queue := t.host, queueOf(t)
	h.queues[queue].push(t)
	if h.state == hostParked && !s.full(h.classOf(queue)) {
		h.state = hostQuiet
	}
	s.settle(h, now)
}

// settle finds the place of a quiet host.
func (s *schedule) settle(h *host, now int64) {
	switch {
	case h.state != hostQuiet || h.empty() || int(h.busy) >= s.parallel(h):
	case h.freeAt > now:
		h.state = hostResting
		s.resting.set(h, h.freeAt)
	default:
		h.state = hostReady
		s.ready.push(h)
	}
}

// parallel returns how many requests a host may get at a time.
func (s *schedule) parallel(h *host) int {
	if h.manner != steady {
		return 1
	}
	return s.limits.parallel
}

func (s *schedule) gapOf(h *host) int64 {
	if h.private {
		return s.limits.privateGap
	}
	return s.limits.gap
}

// realign follows a wall clock that was set by step: what was noted as past or
// awaited moves with it, and slots are looked up anew. Without it a clock set
// forwards would make every channel due at once, one set back none for as long.
func (s *schedule) realign(step, now int64) {
	for _, h := range s.hosts {
		h.freeAt += step
		if h.state == hostResting {
			s.resting.set(h, h.freeAt)
		}
	}
	for _, t := range s.targets {
		if t.lastPoll != 0 {
			t.lastPoll += step
		}
		if t.notBefore != 0 {
			t.notBefore += step
		}
		if t.state == queued {
			t.due += step
		} else if t.state == idle && !t.dropped {
			s.plan(t, now)
		}
	}
}
