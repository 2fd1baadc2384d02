package ownership

import (
	"context"
	"sync"

	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

const (
	maxEntry   = 1 << 20 // bytes of commands in one log entry, unless one command alone is larger
	maxCommand = 4 << 20 // bytes of one command
	// maxOwn is what the leader of a range may propose: a little less, so that the records
	// that it makes fit the command of a restore.
	maxOwn    = maxCommand - 1<<10
	maxQueued = 4 << 20 // bytes of commands that wait in one range
)

// proposal is a command on its way through a range's log.
type proposal struct {
	command []byte            // encoded, without its time
	time    uint64            // set when queued
	done    chan state.Result // holds one: the proposer may have gone
}

func newProposal(command []byte) *proposal {
	return &proposal{command: command, done: make(chan state.Result, 1)}
}

// queue holds proposals until the log takes them. It is bounded in bytes: push waits
// while it is full.
type queue struct {
	clock *clock

	mu struct {
		sync.Mutex
		items  []*proposal
		bytes  int
		closed bool
		room   chan struct{} // closed and replaced when items are taken
	}
	ready chan struct{} // holds a token while there may be items
}

func newQueue(clock *clock) *queue {
	q := &queue{clock: clock, ready: make(chan struct{}, 1)}
	q.mu.room = make(chan struct{})
	return q
}

// push queues p and gives it its time, or returns ErrClosed or the context's
// cause.
func (q *queue) push(ctx context.Context, p *proposal) error {
	for {
		room, err := q.tryPush(p)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryPush returns what to wait for when there is no room.
func (q *queue) tryPush(p *proposal) (room chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return nil, ErrClosed
	}
	if q.mu.bytes > 0 && q.mu.bytes+len(p.command) > maxQueued {
		return q.mu.room, nil
	}
	p.time = q.clock.next()
	q.mu.items = append(q.mu.items, p)
	q.mu.bytes += len(p.command)
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return nil, nil
}

// take returns the oldest proposals, as many as fit one entry, and whether the
// queue is closed and empty.
func (q *queue) take() (items []*proposal, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.mu.items) && (n == 0 || size+len(q.mu.items[n].command) <= maxEntry) {
		size += len(q.mu.items[n].command)
		n++
	}
	if n == 0 {
		return nil, q.mu.closed
	}
	items = append(items, q.mu.items[:n]...)
	q.mu.items = append(q.mu.items[:0], q.mu.items[n:]...)
	clear(q.mu.items[len(q.mu.items):cap(q.mu.items)])
	q.mu.bytes -= size
	close(q.mu.room)
	q.mu.room = make(chan struct{})
	return items, false
}

// close refuses new proposals; those queued are still taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return
	}
	q.mu.closed = true
	close(q.mu.room)
	q.mu.room = make(chan struct{})
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// size returns the bytes of the proposals that wait.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.bytes
}
