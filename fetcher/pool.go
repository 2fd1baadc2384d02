package fetcher

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pool holds the budget of connections and those of them that are idle. A library
// client keeps a pool and a goroutine per host, and caps connections per host; with
// 100,000 hosts and one limit of descriptors it is the sum that must be capped.
type pool struct {
	slots   chan struct{} // holds one element per open connection
	perHost int
	maxIdle time.Duration

	mu struct {
		sync.Mutex
		closed  bool
		hosts   map[string]*host // by origin: those with fetches or idle connections
		idle    idleList
		waiting int // fetches that wait for a slot
	}
	reaper *time.Timer // runs expire; armed while there are idle connections
}

func newPool(maxConns, perHost int, maxIdle time.Duration) *pool {
	p := &pool{slots: make(chan struct{}, maxConns), perHost: perHost, maxIdle: maxIdle}
	p.mu.hosts = make(map[string]*host)
	p.reaper = time.AfterFunc(maxIdle, p.expire)
	p.reaper.Stop()
	return p
}

// take returns the connection to a host that became idle last, nil when there is
// none. The caller has a turn of the host.
func (p *pool) take(h *host) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(h.idle) == 0 {
		return nil
	}
	c := h.idle[len(h.idle)-1]
	p.unlink(c)
	return c
}

// reserve takes a slot for a new connection: a free one, else that of the
// connection that has been idle longest, else it waits for one until the deadline.
func (p *pool) reserve(ctx context.Context, deadline time.Time) error {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	select {
	case p.slots <- struct{}{}:
		p.mu.Unlock()
		return nil
	default:
	}
	if c := p.mu.idle.first(); c != nil {
		p.unlink(c)
		p.forget(c.host)
		p.mu.Unlock()
		c.close()
		return nil
	}
	p.mu.waiting++
	p.mu.Unlock()
	err := p.wait(ctx, deadline)
	p.mu.Lock()
	p.mu.waiting--
	p.mu.Unlock()
	return err
}

func (p *pool) wait(ctx context.Context, deadline time.Time) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return fail(Busy, "all %d connections are in use", cap(p.slots))
}

// unreserve gives back a slot whose connection was not made.
func (p *pool) unreserve() { <-p.slots }

// put keeps a busy connection for its host's next fetch. It closes it instead
// when someone waits for a slot, or the pool is closed.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	if p.mu.closed || p.mu.waiting > 0 {
		p.mu.Unlock()
		p.discard(c)
		return
	}
	defer p.mu.Unlock()
	c.idleSince = time.Now()
	if p.mu.idle.first() == nil {
		p.reaper.Reset(p.maxIdle)
	}
	p.mu.idle.append(c)
	c.host.idle = append(c.host.idle, c)
}

// discard closes a connection that is not idle, and frees its slot.
func (p *pool) discard(c *conn) {
	c.close()
	<-p.slots
}

// unlink makes an idle connection busy. The lock must be held.
func (p *pool) unlink(c *conn) {
	p.mu.idle.remove(c)
	h := c.host
	if last := len(h.idle) - 1; h.idle[last] == c {
		h.idle[last] = nil
		h.idle = h.idle[:last]
		return
	}
	i := slices.Index(h.idle, c)
	h.idle = slices.Delete(h.idle, i, i+1)
}

// expire closes what has been idle for maxIdle, and runs again when the next one
// will have been.
func (p *pool) expire() {
	now := time.Now()
	p.drain(func(c *conn) bool { return now.Sub(c.idleSince) >= p.maxIdle })
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.mu.idle.first(); c != nil {
		p.reaper.Reset(c.idleSince.Add(p.maxIdle).Sub(now))
	}
}

// close closes idle connections now and busy ones when they are put back.
func (p *pool) close() {
	p.mu.Lock()
	p.mu.closed = true
	p.mu.Unlock()
	p.reaper.Stop()
	p.drain(func(*conn) bool { return true })
}

// drain closes idle connections, the oldest first, as long as they are due.
func (p *pool) drain(due func(*conn) bool) {
	for {
		p.mu.Lock()
		c := p.mu.idle.first()
		if c == nil || !due(c) {
			p.mu.Unlock()
			return
		}
		p.unlink(c)
		p.forget(c.host)
		p.mu.Unlock()
		p.discard(c)
	}
}

// open returns how many connections are open or being dialled.
func (p *pool) open() int { return len(p.slots) }

// idle returns how many of them are idle.
func (p *pool) idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.idle.length
}

// idleList is a list of connections that allocates nothing, since every poll
// passes through it: those idle longest come first.
type idleList struct {
	head, tail *conn
	length     int
}

func (l *idleList) first() *conn { return l.head }

func (l *idleList) append(c *conn) {
	c.before, c.after = l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.after = c
	}
	l.tail = c
	l.length++
}

func (l *idleList) remove(c *conn) {
	if c.before == nil {
		l.head = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		l.tail = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	l.length--
}
