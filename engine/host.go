package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// host is what the engine knows of one origin: whom it keeps waiting for it, and
// how it has behaved. Every field is guarded by Engine.mu.
type host struct {
	id       channel.ID   // in schedule.hosts
	freeAt   int64        // its gap allows no request before
	rest     refusals     // whether it may be asked at all
	queues   [2]hostQueue // polls that are due; first polls
	targets  int32        // channels on it, and polls that redirects led to it
	busy     int32        // requests under way
	row      int32        // in the ledger; 0: none
	pos      int32        // in the heap of spaced hosts; −1: not in it
	state    hostState
	turn     uint8 // which queue is next
	manner   manner
	parked   manner // which of schedule.parked it is in, when it is
	private  bool
	guest    bool // in schedule.guests
	clearing bool // in schedule.clearing: those who wait are planned anew
	reserves bool // a poll that has begun waits for memory: it has not asked yet
}

type hostState uint8

const (
	hostQuiet  hostState = iota // nothing to do, or as many requests as it may get
	hostReady                   // in schedule.ready
	hostSpaced                  // in schedule.spaced, until freeAt
	hostParked                  // in schedule.parked, since what waits there has its share of workers
)

// manner is how long a host holds those who ask it, by its last exchange. Polls of
// each manner have a share of the workers, so that thousands of dead hosts, or a
// list of channels that nobody knows, leave some to those that answer.
type manner uint8

const (
	strange manner = iota // not asked yet
	steady
	slow
	large   // of polls alone: their bodies need memory that is set aside first
	manners // their number
)

// slowExchange is how long a host may hold a worker before it is slow.
const slowExchange = 5 * time.Second

// mannerOf judges a host by how long an exchange took.
func mannerOf(took time.Duration) manner {
	if took > slowExchange {
		return slow
	}
	return steady
}

// The two queues of a host take turns, so that a list of thousands of new
// channels on a host does not starve its old ones, nor these the new.
const (
	dueQueue   = 0
	firstQueue = 1
)

func (h *host) place() int32         { return h.pos }
func (h *host) setPlace(place int32) { h.pos = place }

func (h *host) empty() bool { return h.queues[dueQueue].empty() && h.queues[firstQueue].empty() }

// queueOf returns which queue a target waits in.
func queueOf(t *target) uint8 {
	if t.isFirst() {
		return firstQueue
	}
	return dueQueue
}

// classOf returns whose share of workers the polls of a queue take. First polls
// count as strange on hosts that we know too: each brings a document that is taken
// apart and committed, where nearly all others end in a 304. Those of large bodies
// have a share of their own, since they wait for memory with a worker.
func (h *host) classOf(queue uint8) manner {
	switch head := h.queues[queue].head(); {
	case h.manner != steady:
		return h.manner
	case queue == firstQueue:
		return strange
	case head != nil && head.oddities().body > 0:
		return large
	}
	return steady
}

// hostQueue is first in, first out, through the targets' own next fields.
type hostQueue struct {
	tail *target // tail.next is the head
}

func (q *hostQueue) empty() bool { return q.tail == nil }

// head returns the next to be popped, nil when there is none.
func (q *hostQueue) head() *target {
	if q.tail == nil {
		return nil
	}
	return q.tail.next
}

func (q *hostQueue) push(t *target) {
	if q.tail == nil {
		t.next = t
	} else {
		t.next, q.tail.next = q.tail.next, t
	}
	q.tail = t
}

func (q *hostQueue) pop() *target {
	if q.tail == nil {
		return nil
	}
	head := q.tail.next
	if head == q.tail {
		q.tail = nil
	} else {
		q.tail.next = head.next
	}
	head.next = nil
	return head
}

// fifo is a queue that gives its memory back as it drains.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(item T) { f.items = append(f.items, item) }

// next returns the oldest items, at most so many. They are the queue's own.
func (f *fifo[T]) next(most int) []T { return f.items[f.head:][:min(f.len(), most)] }

// peek returns the oldest item; ok is false when there is none.
func (f *fifo[T]) peek() (item T, ok bool) {
	if f.len() == 0 {
		return item, false
	}
	return f.items[f.head], true
}

func (f *fifo[T]) pop() (item T, ok bool) {
	item, ok = f.peek()
	if !ok {
		return item, false
	}
	var zero T
	f.items[f.head] = zero
	f.head++
	if f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	} else if f.head > 1024 && f.head > len(f.items)/2 {
		f.items = append([]T(nil), f.items[f.head:]...)
		f.head = 0
	}
	return item, true
}
