package schedule

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
)

// Host is an origin: which targets wait for it, and how it has behaved.
type Host[C any] struct {
	ID  channel.ID // [channel.HostID]; not to be changed
	Row int32      // the caller's: its row in the ledger; 0: none

	freeAt   int64           // its gap allows no request before
	rest     pace.Refusals   // whether it may be asked at all
	grant    int64           // part of its cap, in millionths, beside what is not granted
	granted  int64           // until when
	load     int64           // polls of its targets here, in millionths of one an interval
	queues   [2]hostQueue[C] // polls that are due; first polls
	waiting  int32           // in the queues
	targets  int32           // on it, and polls that redirects led to it
	busy     int32           // requests under way
	heapAt   int32           // its place in the heap of spaced hosts; −1: not in it
	state    hostState
	turn     uint8                   // which queue is next
	speed    admission.Class         // by its last exchange: strange, steady or slow
	parked   admission.Class         // for room in which class it is parked, when it is
	awaits   [admission.Classes]bool // it has a place in that queue of turns.parked
	private  bool                    // its gap is that of private hosts
	guest    bool                    // in hosts.guests
	clearing bool                    // in turns.clearing: those that wait are planned again
	asks     bool                    // in shares.asking
	reserves bool                    // a poll that has begun waits for memory: it has not asked yet
}

type hostState uint8

const (
	hostQuiet  hostState = iota // nothing to do, or as many requests as it may get
	hostReady                   // in turns.ready
	hostSpaced                  // in turns.spaced, until freeAt
	hostParked                  // in turns.parked, since what waits there has its share of workers
)

// The two queues of a host take turns, so that a list of thousands of new
// channels on a host does not starve its old ones, nor these the new.
const (
	dueQueue   = 0
	firstQueue = 1
)

// slowExchange is how long a host may occupy a worker before it is slow.
const slowExchange = 5 * time.Second

// speedOf judges a host by how long an exchange took.
func speedOf(took time.Duration) admission.Class {
	if took > slowExchange {
		return admission.Slow
	}
	return admission.Steady
}

func (h *Host[C]) heapIndex() int32     { return h.heapAt }
func (h *Host[C]) setHeapIndex(i int32) { h.heapAt = i }

// Refusals returns what the host has said of being asked too often.
func (h *Host[C]) Refusals() pace.Refusals { return h.rest }

// Rest returns until when the host rests, for other nodes.
func (h *Host[C]) Rest() channel.Rest {
	return channel.Rest{Host: h.ID, Until: time.Unix(0, h.rest.Until), Refusals: h.rest.Count, Turn: h.rest.Turn}
}

// Record returns what a restart must know of a host.
func (h *Host[C]) Record() HostRecord { return HostRecord{h.ID, h.freeAt, h.rest} }

func (h *Host[C]) empty() bool { return h.queues[dueQueue].empty() && h.queues[firstQueue].empty() }

// queueOf returns which queue a target waits in.
func queueOf[C any](t *Target[C]) uint8 {
	if t.first {
		return firstQueue
	}
	return dueQueue
}

// classOf returns whose share of workers the polls of a queue take. First polls
// count as strange on hosts that we know too: each brings a document that is taken
// apart and committed, where nearly all others end in a 304. Those of large bodies
// have a share of their own, since they wait for memory with a worker.
func (h *Host[C]) classOf(queue uint8) admission.Class {
	switch head := h.queues[queue].head(); {
	case h.speed != admission.Steady:
		return h.speed
	case queue == firstQueue:
		return admission.Strange
	case head != nil && head.rare != nil && head.rare.body > 0:
		return admission.Large
	}
	return admission.Steady
}

// remembered reports a host that another request must still spare.
func (h *Host[C]) remembered(now int64) bool {
	return h.freeAt > now || h.rest.Count > 0 && max(h.rest.Until, h.rest.Last)+int64(pace.LongestRest) > now
}

// hostQueue is first in, first out, through the targets' own next fields.
type hostQueue[C any] struct {
	tail *Target[C] // tail.next is the head
}

func (q *hostQueue[C]) empty() bool { return q.tail == nil }

// head returns the next to be popped, nil when there is none.
func (q *hostQueue[C]) head() *Target[C] {
	if q.tail == nil {
		return nil
	}
	return q.tail.next
}

func (q *hostQueue[C]) push(t *Target[C]) {
	if q.tail == nil {
		t.next = t
	} else {
		t.next, q.tail.next = q.tail.next, t
	}
	q.tail = t
}

func (q *hostQueue[C]) pop() *Target[C] {
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

// HostRecord is what a restart must know of a host.
type HostRecord struct {
	ID     channel.ID
	FreeAt int64 // its gap allows no request before
	pace.Refusals
}
