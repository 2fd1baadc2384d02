package engine

import (
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// schedule is everything that decides which poll begins next: pure state under
// Engine.mu that takes the time as an argument and neither waits nor does I/O.
//
// A target goes idle (due heap) → queued (its host's queue) → busy (a worker) →
// idle. A host with waiting targets is ready, spaced until its gap is over,
// parked, or has as many requests under way as it may get. A host that rests has
// no waiting targets: they are planned anew, a batch at a time.
type schedule struct {
	pace    pace
	limits  limits
	targets *index
	hosts   map[channel.ID]*host // by [channel.HostID]

	due      dueHeap[*target]
	spaced   dueHeap[*host]
	resting  map[*host]struct{} // those that rest, and some that did
	clearing fifo[*host]        // of those, some at which somebody waits still
	ready    fifo[*host]
	parked   [manners]fifo[*host] // entries whose host left it meanwhile are skipped
	dormant  fifo[dormancy]
	rows     store.RowNumbers
	ends     ends
	guests   fifo[*host] // without channels; entries that have some again are skipped

	restored int64 // when an earlier run last asked, whichever host; 0: never
	live     int   // targets that are ordered
	failing  int   // of those, whose last poll failed
	queued   int
	noRoom   bool         // for first contents: who has none waits in the queues of first polls
	inFlight int          // polls, from begin to finish
	polls    [manners]int // the same by class
	opening  int          // strange polls that may be under way: see ease
	ended    int          // of them since that grew
	eased    int64        // when it was halved last; 0: never
}

type limits struct {
	workers         int
	shares          [manners]int // of workers, at most, for polls of each class
	parallel        int          // requests to a host at a time
	opening         int          // strange polls that may be under way in the beginning
	gap, privateGap int64
	batch           int // of one thing that is done under one lock
}

func newSchedule(c Config) schedule {
	opening := max(c.Workers/openingShare, min(leastOpening, c.Workers/2))
	return schedule{
		pace: pace{c.Interval, c.Floor},
		limits: limits{
			workers:    c.Workers,
			shares:     [manners]int{strange: c.Workers / 2, slow: c.Workers / 4, large: max(1, c.Workers/8), steady: c.Workers},
			parallel:   c.HostParallel,
			opening:    opening,
			gap:        int64(c.HostGap),
			privateGap: int64(c.PrivateHostGap),
			batch:      promoteBatch,
		},
		opening: opening,
		targets: newIndex(),
		hosts:   make(map[channel.ID]*host),
		resting: make(map[*host]struct{}),
		rows:    store.RowNumbers{},
		ends:    make(ends),
	}
}

// order takes an order in. A target that is queued or busy is planned when it is
// idle again.
func (s *schedule) order(o *Order, now int64) {
	t := s.targets.get(o.Channel)
	if t == nil {
		t = s.add(o.Channel)
	}
	if t.host == nil {
		s.attach(t, o.URL)
	}
	defer s.recount(t, t.failing())
	if t.incarnation != o.Incarnation {
		t.reborn(o.Incarnation)
	}
	if t.dropped {
		t.dropped = false
		s.live++
	}
	s.pace.repace(t, o.Rate, clamp16(o.Width), clamp16(o.Rank), now)
	t.held, t.told, t.sized = o.Held, mostOf(o.Most), 0
	t.subscribers = uint32(min(o.Subscribers, math.MaxUint32))
	t.know(o.Version, o.Hash)
	s.direct(t, o)
	if t.state == idle {
		s.readdress(t)
		s.plan(t, now)
	}
}

// repace moves a target that is ordered to the slots of another rate.
func (s *schedule) repace(p *Pace, now int64) {
	t := s.targets.get(p.Channel)
	if t == nil || t.dropped || t.incarnation != p.Incarnation {
		return
	}
	s.pace.repace(t, p.Rate, clamp16(p.Width), clamp16(p.Rank), now)
	if t.state == idle && t.due > now { // else the loop is about to have it polled
		s.plan(t, now)
	}
}

// clamp16 keeps a width or rank in two bytes. A negative rank has no slots, nor has
// the greatest.
func clamp16(n int) uint16 {
	if n < 0 {
		return math.MaxUint16
	}
	return uint16(min(n, math.MaxUint16))
}

// add makes a target that is not ordered and not at its host yet.
func (s *schedule) add(id channel.ID) *target {
	t := &target{id: id, pos: -1, dropped: true, loaded: true}
	s.targets.put(t)
	return t
}

func (s *schedule) attach(t *target, url string) {
	t.url, t.host = url, s.hostOf(url)
	s.tie(t.host, 1)
}

// hostOf returns the host of a URL. One that is met first after a start may have
// been asked just before by a channel that is not ordered yet.
func (s *schedule) hostOf(url string) *host {
	id := channel.HostID(channel.Host(url))
	h := s.hosts[id]
	if h == nil {
		h = &host{id: id, pos: -1}
		s.hosts[id] = h
	}
	if h.targets == 0 {
		h.private = guard.IsPrivate(channel.Host(url)) // the ledger does not say
		if s.restored != 0 {
			h.freeAt = max(h.freeAt, s.restored+s.gapOf(h))
		}
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

// nextDue returns when promote next has something to do; 0: at once.
func (s *schedule) nextDue() int64 {
	next := int64(never)
	if s.clearing.len() > 0 {
		return 0
	}
	if due, _, ok := s.due.min(); ok {
		next = due
	}
	if free, _, ok := s.spaced.min(); ok {
		next = min(next, free)
	}
	return next
}

// promoteBatch is how much is done of one thing at a time: workers wait for the lock
// meanwhile, and after a stall, or at a host that refuses, thousands may be waiting.
const promoteBatch = 512

// promote queues targets that are due at their hosts, or plans them anew where the
// host rests, and readies hosts whose gap is over. What it leaves, nextDue still
// names.
func (s *schedule) promote(now int64) {
	s.clearSome(now)
	s.freeSome(now)
	s.dueSome(now)
}

// freeSome readies hosts whose gap is over.
func (s *schedule) freeSome(now int64) {
	for range s.limits.batch {
		free, h, ok := s.spaced.min()
		if !ok || free > now {
			return
		}
		s.spaced.remove(h)
		h.state = hostQuiet
		s.settle(h, now)
	}
}

// dueSome queues targets that are due.
func (s *schedule) dueSome(now int64) {
	for range s.limits.batch {
		due, t, ok := s.due.min()
		if !ok || due > now {
			return
		}
		if t.host.rest.resting(now) {
			s.plan(t, now)
			continue
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
	h, queue := t.at(), queueOf(t)
	h.queues[queue].push(t)
	if h.state == hostParked && !s.full(h.classOf(queue)) {
		h.state = hostQuiet
	}
	s.settle(h, now)
}

// settle finds the place of a quiet host.
func (s *schedule) settle(h *host, now int64) {
	switch {
	case h.state != hostQuiet || !s.mayAsk(h):
	case h.freeAt > now:
		h.state = hostSpaced
		s.spaced.set(h, h.freeAt)
	default:
		h.state = hostReady
		s.ready.push(h)
	}
}

// mayAsk reports a host that gets another request, as soon as its gap is over.
func (s *schedule) mayAsk(h *host) bool {
	return !h.clearing && !h.reserves && int(h.busy) < s.parallel(h) && (s.open(h, dueQueue) || s.open(h, firstQueue))
}

// open reports a queue with somebody in it who may be asked for.
func (s *schedule) open(h *host, queue uint8) bool {
	return !h.queues[queue].empty() && (queue == dueQueue || !s.noRoom)
}

// admit says whether there is room for first contents. While there is none, channels
// without content stay where they wait: what they bring would be thrown away.
func (s *schedule) admit(room bool, now int64) {
	if s.noRoom == !room {
		return
	}
	s.noRoom = !room
	for _, h := range s.hosts {
		s.settle(h, now)
	}
}

// parallel returns how many requests a host may get at a time.
func (s *schedule) parallel(h *host) int {
	if h.manner != steady || h.rest.count > 0 {
		return 1
	}
	return s.limits.parallel
}

func (s *schedule) gapOf(h *host) int64 {
	if h.private {
		return h.rest.gap(s.limits.privateGap)
	}
	return h.rest.gap(s.limits.gap)
}

// realign follows a wall clock that was set by step: what was noted as past or
// awaited moves with it, and slots are looked up anew. Without it a clock set
// forwards would make every channel due at once, one set back none for as long.
// What polls have noted since it was set, and nobody had noticed, is of the new
// clock already: nothing that has been is later than now, nothing is awaited for
// longer than it may be.
func (s *schedule) realign(step, now int64) {
	if s.restored != 0 {
		s.restored = min(s.restored+step, now)
	}
	if s.eased != 0 {
		s.eased = min(s.eased+step, now)
	}
	for _, h := range s.hosts {
		h.freeAt = min(h.freeAt+step, now+s.gapOf(h))
		h.rest.shift(step, now)
		if h.state == hostSpaced {
			s.spaced.set(h, h.freeAt)
		}
	}
	for t := range s.targets.all() {
		t.shift(step, now)
		if t.state == queued || t.dropped {
			t.due += step
		} else if t.state == idle {
			s.plan(t, now)
		}
	}
	for i := range s.dormant.items {
		s.dormant.items[i].since += step
	}
}
